package web

import (
	"fmt"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/jjm"
	"jjm/internal/publish/report"
)

// mostSpans bounds the spans of one local job on a page; the latest are shown. mostPoints bounds the points of a plot.
const (
	mostSpans  = 24
	mostPoints = 200
)

// width is the width of a timeline in the units of its drawing.
const width = 600

// bar is a span as the page draws it: X is its left edge and W its width. Text describes the span.
type bar struct {
	Kind string
	X, W int
	Text string
}

// siteMark is a mark on the timeline at the place X.
type siteMark struct {
	plain.SiteMark
	X int
}

// place returns the place of a time in a drawing from start to end.
func place(t, start, end jjm.Time) int { return int(int64(t-start) * width / int64(max(end-start, 1))) }

// bars returns one bar for each span, and the texts of the bars joined by commas. The left edge of the drawing is the
// time start, its right edge is the time end.
func bars(spans []report.Span, start, end jjm.Time) (out []bar, text string) {
	var words []string
	attempt := 0
	for _, s := range spans {
		x, to := min(place(s.From, start, end), width-2), place(s.To, start, end)
		said := fmt.Sprintf("%s %s", s.Kind, jjm.HowLong(s.To.Sub(s.From)))
		if s.Attempt != attempt {
			said = fmt.Sprintf("attempt %d: %s", s.Attempt, said)
		}
		attempt = s.Attempt
		out, words = append(out, bar{s.Kind, x, max(to-x, 2), said}), append(words, said)
	}
	return out, strings.Join(words, ", ")
}

// point is the number of local jobs that were completed at a time.
type point struct {
	At jjm.Time
	N  int
}

// curve returns how the number of completed local jobs changed over time. entries are the entries of the journal,
// oldest first; completed is the current number; ended is the time at which the grid job ended, 0 if it has not ended.
// If the journal no longer has its oldest entries, curve returns only the last part of the curve.
func curve(entries []jjm.JournalEntry, completed int, now, ended jjm.Time) []point {
	counted := func(word string) bool {
		return word == jjm.Completed.String() || word == jjm.CompletedFrozen.String()
	}
	var steps []point // N is the change
	for _, e := range entries {
		if e.First < 0 || counted(e.From) == counted(e.To) {
			continue
		}
		jobs := int(e.Last - e.First + 1)
		if counted(e.From) {
			jobs = -jobs
		}
		steps = append(steps, point{e.Time, jobs})
	}
	if len(steps) == 0 {
		return nil
	}
	before := completed
	for _, s := range steps {
		before -= s.N
	}
	out := []point{{entries[0].Time, max(before, 0)}}
	n := before
	for _, s := range steps {
		n += s.N
		out = append(out, point{s.At, max(n, 0)})
	}
	if ended == 0 {
		out = append(out, point{now, completed})
	}
	return thin(out)
}

// thin returns at most mostPoints of the points, including the first and the last point.
func thin(all []point) []point {
	if len(all) <= mostPoints {
		return all
	}
	out := make([]point, mostPoints)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(mostPoints-1)]
	}
	return out
}
