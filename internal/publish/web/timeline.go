package web

import (
	"fmt"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/jjm"
)

// mostSpans bounds the spans of one local job on a page; the latest are shown. mostPoints bounds the points of a plot.
const (
	mostSpans  = 24
	mostPoints = 200
)

// span is a time during which a local job was queued, was running, or had its result collected. Attempt counts from 0.
type span struct {
	Kind     string
	Attempt  int
	From, To jjm.Time
}

// kindOf returns the kind of span that a state of the journal ("running" or "running/PHASE") belongs to. It returns ""
// if a local job in this state is not shown.
func kindOf(word string) string {
	state, _, _ := strings.Cut(word, "/")
	switch state {
	case jjm.Submitting.String(), jjm.Submitted.String():
		return "queued"
	case jjm.Running.String():
		return "running"
	case jjm.Completing.String():
		return "collecting"
	}
	return ""
}

// timeline returns the spans of time that the entries of the journal show for local job n. The entries must be in order
// of time; an entry may be about a range of local jobs. A span that has not ended yet ends at the time now.
func timeline(entries []jjm.JournalEntry, n int32, now jjm.Time) (spans []span) {
	open := false
	for _, e := range entries {
		if e.First < 0 || n < e.First || n > e.Last || e.From == e.To {
			continue
		}
		kind, last := kindOf(e.To), len(spans)-1
		if open && spans[last].Kind == kind && !begins(e) {
			continue // only the phase changed
		}
		if open {
			spans[last].To = e.Time
		}
		if open = kind != ""; open {
			attempt := 0
			if last >= 0 {
				attempt = spans[last].Attempt
				if begins(e) {
					attempt++
				}
			}
			spans = append(spans, span{kind, attempt, e.Time, e.Time})
		}
	}
	if open {
		last := len(spans) - 1
		spans[last].To = max(now, spans[last].From)
	}
	return spans[max(0, len(spans)-mostSpans):]
}

// begins reports whether an entry of the journal is the beginning of an attempt: the local job changes to submitting
// from another state.
func begins(e jjm.JournalEntry) bool {
	submitting := jjm.Submitting.String()
	return strings.HasPrefix(e.To, submitting) && !strings.HasPrefix(e.From, submitting)
}

// started splits the last span of an attempt that ended before jjm saw it run. The journal shows such an attempt only
// as queued. at is the start that the batch system or the wrapper reported afterwards; if at lies within the last span,
// the attempt was queued before at and running after at.
func started(spans []span, at jjm.Time) []span {
	last := len(spans) - 1
	if last < 0 || spans[last].Kind != "queued" || at <= spans[last].From || at >= spans[last].To {
		return spans
	}
	running := span{"running", spans[last].Attempt, at, spans[last].To}
	spans[last].To = at
	return append(spans, running)
}

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
func bars(spans []span, start, end jjm.Time) (out []bar, text string) {
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
