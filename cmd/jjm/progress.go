package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"jjm/wire"
)

// Progress as text: pure functions of what the daemon said and of the clock.

// paceWindow is how far back the rate looks.
const paceWindow = 5 * time.Minute

// pace measures how fast a grid job goes.
type pace struct{ marks []mark }

type mark struct {
	at   time.Time
	done float64 // of all the local jobs, 0 to 1
}

// add notes how far it is. Going back (a retry, another phase) starts anew.
func (p *pace) add(at time.Time, done float64) {
	if n := len(p.marks); n > 0 && done < p.marks[n-1].done {
		p.marks = nil
	} else if n > 1 && done == p.marks[n-1].done {
		return
	}
	for len(p.marks) > 2 && at.Sub(p.marks[1].at) > paceWindow {
		p.marks = p.marks[1:]
	}
	p.marks = append(p.marks, mark{at, done})
}

// rate is the part of the whole done per second, as seen at now; 0 while
// nothing is known.
func (p *pace) rate(now time.Time) float64 {
	if len(p.marks) < 2 {
		return 0
	}
	first, last := p.marks[0], p.marks[len(p.marks)-1]
	seconds := now.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return (last.done - first.done) / seconds
}

// left estimates the time to the end; ok is false while nothing is known.
func (p *pace) left(now time.Time) (d time.Duration, ok bool) {
	rate := p.rate(now)
	if rate <= 0 {
		return 0, false
	}
	seconds := (1 - p.marks[len(p.marks)-1].done) / rate
	const absurd = 100 * 24 * 3600
	if seconds > absurd {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// fraction is how much of a grid job is over: its ended local jobs, and what
// the running ones say of a single phase.
func fraction(st wire.Status) float64 {
	n := st.Lookup.Counts
	all := max(n.Expected, n.Total)
	if all == 0 {
		return 0
	}
	over := float64(n.Completed + n.Failed + n.Killed)
	if len(st.Phases) == 1 && st.Phases[0].Total > 0 && st.Phases[0].Done > 0 {
		over += float64(n.Running) * min(float64(st.Phases[0].Done)/float64(st.Phases[0].Total), 1)
	}
	return min(over/float64(all), 1)
}

// segments are the pieces of a progress line after the bar, the most
// important first.
func segments(st wire.Status, p *pace, now time.Time) []string {
	n := st.Lookup.Counts
	all := max(n.Expected, n.Total)
	out := []string{fmt.Sprintf("%3.0f%%", 100*floor2(fraction(st))), fmt.Sprintf("%d/%d", n.Completed, all)}
	if bad := n.Failed + n.Killed; bad > 0 {
		out = append(out, fmt.Sprintf("%d failed", bad))
	}
	switch ended := n.Completed + n.Failed + n.Killed; {
	case n.Running > 0:
		out = append(out, fmt.Sprintf("%d running", n.Running))
	case all > 0 && ended >= all && !isFinal(st.Lookup.Status):
		out = append(out, "collecting output")
	case !isFinal(st.Lookup.Status):
		out = append(out, st.Lookup.Status)
	}
	if left, ok := p.left(now); ok && !isFinal(st.Lookup.Status) {
		out = append(out, "ETA "+rough(left))
	}
	if s := phasesText(st.Phases); s != "" {
		out = append(out, s)
	}
	if perMinute := p.rate(now) * float64(all) * 60; perMinute >= 0.05 && !isFinal(st.Lookup.Status) {
		out = append(out, fmt.Sprintf("%.1f/min", perMinute))
	}
	return out
}

// floor2 keeps 99.9 % from showing as 100 %.
func floor2(f float64) float64 { return float64(int(f*100+1e-9)) / 100 }

// barLine draws the progress of one grid job in at most width columns, one
// less than the terminal's, so that no terminal wraps it. The bar takes what
// is left, and less important pieces go first when there is no room.
func barLine(st wire.Status, p *pace, now time.Time, width int) string {
	const shortest, longest = 10, 40
	label := "job " + st.Lookup.ID.String()
	segs := segments(st, p, now)
	for {
		tail := ""
		for _, s := range segs {
			tail += "  " + printable(s)
		}
		room := width - 1 - utf8.RuneCountInString(label+tail) - len(" []")
		if room >= shortest {
			return label + " [" + bar(fraction(st), min(room, longest)) + "]" + tail
		}
		if len(segs) <= 1 {
			return clip(label+tail, width-1)
		}
		segs = segs[:len(segs)-1]
	}
}

// bar fills n columns as far as f says, from 0 to 1.
func bar(f float64, n int) string {
	full := min(int(f*float64(n)+1e-9), n)
	s := strings.Repeat("=", full)
	if full < n {
		s += ">"
	}
	return s + strings.Repeat(" ", n-utf8.RuneCountInString(s))
}

// plainLine says the same where lines are kept.
func plainLine(st wire.Status) string {
	s := fmt.Sprintf("job %v %s: %s", st.Lookup.ID, st.Lookup.Status, countsText(&st.Lookup))
	if ph := phasesText(st.Phases); ph != "" {
		s += "; " + ph
	}
	return printable(s)
}

// lastLine says how it ended.
func lastLine(st wire.Status) string {
	s := fmt.Sprintf("job %v %s: %s local jobs", st.Lookup.ID, st.Lookup.Status, countsText(&st.Lookup))
	if st.Lookup.Counts.Expected == 0 && st.Lookup.Counts.Total == 0 {
		s = fmt.Sprintf("job %v %s", st.Lookup.ID, st.Lookup.Status)
	}
	if st.Lookup.Message != "" {
		s += "; " + st.Lookup.Message
	}
	return printable(s)
}

// rough writes a duration for people: two units at most.
func rough(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// clip cuts s to n columns.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:max(n, 0)])
	}
	return s
}

// screen redraws a few lines in place.
type screen struct{ drawn int }

// draw returns the bytes that replace the lines drawn before.
func (s *screen) draw(lines []string) string {
	text := s.clear()
	for i, l := range lines {
		if i > 0 {
			text += "\n"
		}
		text += l
	}
	s.drawn = len(lines)
	return text
}

// clear returns the bytes that remove the lines drawn before: the cursor to the
// first of them, and the screen erased below (ECMA-48, CUU and ED).
func (s *screen) clear() string {
	text := ""
	if s.drawn > 0 {
		text = "\r"
	}
	if s.drawn > 1 {
		text += fmt.Sprintf("\x1b[%dA", s.drawn-1)
	}
	if s.drawn > 0 {
		text += "\x1b[J"
	}
	s.drawn = 0
	return text
}
