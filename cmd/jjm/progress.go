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

// paceWindow is the time over which pace measures the rate, up to now.
const paceWindow = 5 * time.Minute

// pace measures how fast a grid job progresses. Each mark is the progress at one time, oldest first.
type pace struct{ marks []mark }

type mark struct {
	at   time.Time
	done float64 // the fraction of all local jobs, 0 to 1
}

// add records the progress at a time. From the third record on, it ignores progress that is equal to the last mark, and
// it drops marks older than paceWindow, except the newest of these. If the progress fell, because of a retry or another
// phase, the measurement starts again.
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

// rate returns the fraction of the grid job that is finished per second, on average from the first mark to now. It
// returns 0 if there are fewer than two marks.
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

// left estimates the time until the grid job ends, at the present rate. ok is false if the rate is not known or 0, or
// if the estimate exceeds 100 days.
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

// fraction returns the finished fraction of a grid job, from 0 to 1. Finished local jobs, including failed and killed
// local jobs, count fully. Running local jobs count by their progress if all of them report the same single phase,
// otherwise not at all.
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

// segments returns the texts that follow the bar in a progress line, the most important first: percentage, counts,
// failures, running local jobs or status, next attempts, estimated time left, phases, and rate.
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

// barLine returns the progress of one grid job as one line with a bar, for a terminal of this width. The line has at
// most width-1 columns, so that no terminal wraps it. The bar gets the columns that the texts leave, at most 40. If
// fewer than 10 columns are left, the less important texts are left out; if even one text is too much, the bar is left
// out and the line is cut.
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

// bar returns n columns of which the fraction f, from 0 to 1, is filled.
func bar(f float64, n int) string {
	full := min(int(f*float64(n)+1e-9), n)
	s := strings.Repeat("=", full)
	if full < n {
		s += ">"
	}
	return s + strings.Repeat(" ", n-utf8.RuneCountInString(s))
}

// plainLine returns the progress of a grid job as one line of text, for output such as a file, in which a line cannot
// be replaced later.
func plainLine(st wire.Status) string {
	s := fmt.Sprintf("job %v %s: %s", st.Lookup.ID, st.Lookup.Status, soFar(st))
	if ph := phasesText(st.Phases); ph != "" {
		s += "; " + ph
	}
	if why := obstacle(st); why != "" {
		s += "; " + why
	}
	if again := retries(st); again != "" {
		s += "; " + again
	}
	return plain.Printable(s)
}

// retries returns why local jobs wait for another attempt, "" if none waits: the most frequent cause.
func retries(st wire.Status) string {
	again := againCause(st.Causes)
	if st.NextAttempts == nil || again == nil {
		return ""
	}
	return plain.CauseTitle(*again) + ": " + plain.Cause(*again)
}

// soFar returns how many local jobs are in each state. If a grid job is pending or paused and has a message, soFar
// returns the message instead, because the message contains these numbers and the reason for the wait.
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

// obstacle returns the reason why the last internal step of a grid job failed or, if no step failed, the reason why no
// local jobs are made or submitted. It returns "" if the grid job is over, if there is no such reason, or if the text
// of soFar already contains it.
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

// lastLines returns the text that is printed when the grid job has ended: lastLine, and a line for each warning of the
// grid job.
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

// endText returns the status of a grid job. If the grid job is over, its message follows or, if it has no message, the
// counts of its local jobs, if it has any.
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

// clip cuts s after n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:max(n, 0)])
	}
	return s
}

// screen redraws lines in place. drawn is the number of lines that are on the terminal.
type screen struct{ drawn int }

// draw returns the bytes that replace the lines of the last call by other lines.
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

// clear returns the bytes that remove the lines of the last draw: they move the cursor to the first of these lines, and
// erase everything below (ECMA-48, CUU and ED). It returns "" if no lines are drawn.
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
