package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"jjm/internal/api/plain"
	"jjm/internal/jjm"

	"jjm/internal/api/wire"
)

// This file formats progress as text. Its functions depend only on the daemon's answer and
// the time.

// paceWindow is the time over which the rate is measured.
const paceWindow = 5 * time.Minute

// pace measures how fast a grid job progresses.
type pace struct{ marks []mark }

type mark struct {
	at   time.Time
	done float64 // the fraction of all local jobs, 0 to 1
}

// add records the progress. If the progress fell, because of a retry or another phase, the measurement starts again.
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

// rate returns the fraction of the whole done per second, measured at now, 0 if it is not
// known yet.
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

// left estimates the time to the end. ok is false if the rate is not known or 0, or the estimate exceeds 100 days.
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

// fraction returns the finished fraction of a grid job: its finished local jobs, including failed and killed local
// jobs, and the progress of the running local jobs if they have a single phase.
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

// segments returns the parts of a progress line after the bar, the most important first.
func segments(st wire.Status, p *pace, now time.Time) []string {
	n := st.Lookup.Counts
	all := max(n.Expected, n.Total)
	out := []string{fmt.Sprintf("%3s%%", plain.Percent(fraction(st))), fmt.Sprintf("%d/%d", n.Completed, all)}
	if bad := n.Failed + n.Killed; bad > 0 {
		out = append(out, fmt.Sprintf("%d failed", bad))
	}
	switch ended := n.Completed + n.Failed + n.Killed; {
	case n.Running > 0:
		out = append(out, fmt.Sprintf("%d running", n.Running))
	case all > 0 && ended >= all && !plain.Final(st.Lookup.Status):
		out = append(out, "collecting output")
	case !plain.Final(st.Lookup.Status):
		out = append(out, st.Lookup.Status)
	}
	if n := st.NextAttempts; n != nil {
		out = append(out, fmt.Sprintf("%d to try again, next at %s", n.Jobs, plain.StampAt(n.First, now)))
	}
	if left, ok := p.left(now); ok && !plain.Final(st.Lookup.Status) {
		out = append(out, "ETA "+jjm.HowLong(left))
	}
	if s := phasesText(st.Phases); s != "" {
		out = append(out, s)
	}
	if perMinute := p.rate(now) * float64(all) * 60; perMinute >= 0.05 && !plain.Final(st.Lookup.Status) {
		out = append(out, fmt.Sprintf("%.1f/min", perMinute))
	}
	return out
}

// barLine draws the progress of one grid job in at most width columns. The caller passes one column less than the width
// of the terminal, so that no terminal wraps the line. The bar gets the remaining columns. If the columns are not
// enough, the less important parts are left out.
func barLine(st wire.Status, p *pace, now time.Time, width int) string {
	const shortest, longest = 10, 40
	label := "job " + st.Lookup.ID.String()
	segs := segments(st, p, now)
	for {
		tail := ""
		for _, s := range segs {
			tail += "  " + plain.Printable(s)
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

// bar fills a fraction f (0 to 1) of n columns.
func bar(f float64, n int) string {
	full := min(int(f*float64(n)+1e-9), n)
	s := strings.Repeat("=", full)
	if full < n {
		s += ">"
	}
	return s + strings.Repeat(" ", n-utf8.RuneCountInString(s))
}

// plainLine describes the progress for output in which a written line cannot be replaced, such as a file.
func plainLine(st wire.Status) string {
	s := fmt.Sprintf("job %v %s: %s", st.Lookup.ID, st.Lookup.Status, soFar(st))
	if ph := phasesText(st.Phases); ph != "" {
		s += "; " + ph
	}
	if why := obstacle(st); why != "" {
		s += "; " + why
	}
	return plain.Printable(s)
}

// soFar returns how many local jobs are in each state. For a grid job that is pending or paused and has a message, it
// returns the message, which has the reason and these numbers.
func soFar(st wire.Status) string {
	waits := st.Lookup.Status == jjm.Pending.String() || st.Lookup.Status == jjm.Paused.String()
	switch n := st.Lookup.Counts; {
	case waits && st.Lookup.Message != "":
		return st.Lookup.Message
	case max(n.Expected, n.Total) == 0 && !plain.Final(st.Lookup.Status):
		return "no local jobs yet"
	}
	return jobsText(st, time.Now())
}

// obstacle returns why the last step of a grid job failed, or what keeps local jobs from being made or submitted; ""
// if there is no obstacle or the message has it already.
func obstacle(st wire.Status) string {
	switch {
	case plain.Final(st.Lookup.Status):
		return ""
	case len(st.Trouble) > 0 && !strings.Contains(soFar(st), st.Trouble[0]):
		return st.Trouble[0]
	case st.Waits != "" && !strings.Contains(soFar(st), st.Waits):
		return st.Waits
	}
	return ""
}

// lastLine returns a line with the grid job's id and the text of endText.
func lastLine(st wire.Status) string {
	return plain.Printable(fmt.Sprintf("job %v %s", st.Lookup.ID, endText(&st.Lookup)))
}

// lastLines returns lastLine and a line for each warning of the grid job.
func lastLines(st wire.Status) string {
	text := lastLine(st) + "\n"
	for _, w := range st.Warnings {
		text += warningLine(st, w) + "\n"
	}
	return text
}

// warningLine returns a warning with the id of its grid job.
func warningLine(st wire.Status, w wire.Warning) string {
	return plain.Printable(fmt.Sprintf("job %v warning: %s", st.Lookup.ID, w.Line))
}

// endText returns the status of a grid job. If the grid job is over, its message follows or, if it has none, the counts
// of its local jobs.
func endText(l *wire.Lookup) string {
	switch {
	case !plain.Final(l.Status):
		return l.Status
	case l.Message != "":
		return l.Status + ": " + l.Message
	case l.Counts.Expected == 0 && l.Counts.Total == 0:
		return l.Status
	}
	return l.Status + ": " + plain.Counts(l)
}

// clip shortens s to n columns.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:max(n, 0)])
	}
	return s
}

// screen redraws lines in place.
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

// clear returns the bytes that remove the lines drawn before: they move the cursor to the first of these lines, and
// erase everything below (ECMA-48, CUU and ED).
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
