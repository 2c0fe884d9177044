package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/jjm"
)

// mostExtremes is the greatest number of slowest, and of fastest, local jobs in a report.
const mostExtremes = 5

// extremes returns the slowest and the fastest attempts that are done. No attempt is in both.
func (d *Data) extremes() (slowest, fastest []attempt) {
	var done []attempt
	for _, a := range d.attempts {
		if a.outcome == attemptDone {
			done = append(done, a)
		}
	}
	slices.SortStableFunc(done, func(a, b attempt) int { return cmp.Compare(b.wall(), a.wall()) })
	n := min(len(done), mostExtremes)
	slowest, fastest = done[:n], slices.Clone(done[max(len(done)-mostExtremes, n):])
	slices.Reverse(fastest)
	return slowest, fastest
}

// totals returns the rows about all attempts.
func (d *Data) totals() [][2]string {
	var wall, wasted int64 // milliseconds: a time.Duration holds only 292 years
	counts := map[outcome]int{}
	for i := range d.attempts {
		a := &d.attempts[i]
		counts[a.outcome]++
		wall += a.wall().Milliseconds()
		if a.wasted {
			wasted += a.wall().Milliseconds()
		}
	}
	text := fmt.Sprintf("%d done, %d failed, %d killed, %d running", counts[attemptDone], counts[attemptFailed],
		counts[attemptKilled], counts[attemptRuns])
	rows := [][2]string{{"attempts", text}, {"wall", sumText(wall)}, {"CPU", cpuText(d.Status.Lookup.Usage)}}
	if wall > 0 {
		rows = append(rows, [2]string{"wasted", fmt.Sprintf("%s of wall, %s: attempts whose work is not needed",
			sumText(wasted), plain.Share(float64(wasted)/float64(wall)))})
	}
	if d.leftOut > 0 {
		rows = append(rows, [2]string{"left out", fmt.Sprintf("the earlier attempts of %s: more than %d local jobs had "+
			"several attempts", jjm.Count(d.leftOut, "local job"), mostRetried)})
	}
	return rows
}

// sumText returns a sum of times in milliseconds for people.
func sumText(n int64) string {
	const day = 24 * 60 * 60 * 1000
	if n >= 100*day {
		return fmt.Sprintf("%d d", n/day)
	}
	return plain.Milliseconds(n)
}

// cpuText returns the processor time of a grid job that is over, and the largest memory of an attempt.
func cpuText(u *jjm.Usage) string {
	if u == nil || u.Ended == 0 {
		return "known once the grid job is over"
	}
	return fmt.Sprintf("%s user and %s system; %d MiB at most", plain.Milliseconds(u.UserMS), plain.Milliseconds(u.SysMS),
		plain.Mebibytes(u.MaxRSSKB))
}

// About returns the rows that describe the grid job.
func (d *Data) About() [][2]string {
	st := &d.Status
	rows := [][2]string{{"name", st.Name}, {"type", st.Type}, {"model", st.Model}, {"owner", st.Owner}, {"key", st.Key},
		{"cluster", plain.Clusters(*st)}, {"after", plain.After(st)}, {"accepted", plain.Clock(st.Accepted)},
		{"ended", plain.Clock(st.Ended)}, {"local jobs", plain.Counts(&st.Lookup)}, {"proven", st.Proof.Text()},
		{"output", st.Lookup.Tar}, {"recovered by", plain.IDs(st.RecoveredBy)}}
	if st.Accepted != 0 {
		rows = append(rows, [2]string{"took", jjm.HowLong(d.end().Sub(st.Accepted))})
	}
	for _, w := range st.Warnings {
		rows = append(rows, [2]string{"warning", w.Line})
	}
	return rows
}

// Ends returns a row for the end of each generation.
func (d *Data) Ends() (rows [][2]string) {
	for _, e := range d.Status.Endings {
		text := e.Status + " " + plain.Clock(e.Ended)
		if e.Message != "" {
			text += ": " + e.Message
		}
		text += fmt.Sprintf("; reopened %s by %s: %s", plain.Clock(e.Reopened), e.By, e.Why)
		rows = append(rows, [2]string{fmt.Sprintf("generation %d", e.Generation), text})
	}
	text := "not over: " + d.Status.Lookup.Status
	if plain.Final(d.Status.Lookup.Status) {
		text = d.Status.Lookup.Status + " " + plain.Clock(d.Status.Ended)
	}
	name := fmt.Sprintf("generation %d", max(d.Status.Generation, 1))
	if m := strings.TrimPrefix(d.Status.Lookup.Message, name+": "); m != "" {
		text += ": " + m
	}
	return append(rows, [2]string{name, text})
}

// failures returns the causes of failures. Each has, as an example, the last lines that one local job with this cause
// wrote to standard error.
func (d *Data) failures() []failure {
	all := []failure{}
	for _, c := range d.Status.Causes {
		all = append(all, failure{Title: plain.CauseTitle(c), Text: plain.Cause(c), Example: c.First,
			Lines: d.Words[c.First]})
	}
	return all
}

// failure is a cause of failures, and the end of the standard error of its example.
type failure struct {
	Title, Text, Example string
	Lines                []string
}

// events returns a row for each of the latest events during the grid job: changes of the grid job itself, and orders of
// administrators. A row has the time, the text and the person or part of jjm that caused the event.
func (d *Data) events() (rows [][3]string) {
	all := slices.Concat(d.Changes, d.Orders)
	slices.SortStableFunc(all, func(a, b jjm.JournalEntry) int { return cmp.Compare(a.Time, b.Time) })
	now := d.now()
	for _, e := range all[max(len(all)-mostEvents, 0):] {
		rows = append(rows, [3]string{plain.TableClockAt(e.Time, now), plain.Event(e), cmp.Or(e.Actor, e.Source)})
	}
	return rows
}

// restarts returns a text about the local jobs with several attempts: how many there are, and which of them has the
// most attempts.
func (d *Data) restarts() string {
	n, most, which := 0, int32(0), ""
	for i := range d.Locals {
		l := &d.Locals[i]
		if l.Attempt > 0 {
			n++
		}
		if l.Attempt > most {
			most, which = l.Attempt, l.ID.String()
		}
	}
	if n == 0 {
		return "no local job was restarted"
	}
	return fmt.Sprintf("%s restarted; most often %s, with %d attempts", jjm.Count(n, "local job was", "local jobs were"),
		which, most+1)
}

// Title returns the heading of the report.
func (d *Data) Title() string {
	return fmt.Sprintf("grid job %s: %s", d.Status.Lookup.ID, d.Status.Lookup.Status)
}
