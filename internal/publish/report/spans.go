package report

import (
	"strings"

	"jjm/internal/jjm"
)

// The kinds of spans of the timeline of a local job.
const (
	Queued     = "queued"
	Running    = "running"
	Collecting = "collecting"
)

// Span is a time during which a local job was queued, was running, or had its result collected. Attempt counts from 0.
type Span struct {
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
		return Queued
	case jjm.Running.String():
		return Running
	case jjm.Completing.String():
		return Collecting
	}
	return ""
}

// Spans returns the spans of time that the entries of the journal show for local job n, at most the last most ones. The
// entries must be in order of time; an entry may be about a range of local jobs. A span that has not ended yet ends at
// the time now.
func Spans(entries []jjm.JournalEntry, n int32, now jjm.Time, most int) (spans []Span) {
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
			spans = append(spans, Span{kind, attempt, e.Time, e.Time})
		}
	}
	if open {
		last := len(spans) - 1
		spans[last].To = max(now, spans[last].From)
	}
	return spans[max(0, len(spans)-most):]
}

// begins reports whether an entry of the journal is the beginning of an attempt: the local job changes to submitting
// from another state.
func begins(e jjm.JournalEntry) bool {
	submitting := jjm.Submitting.String()
	return strings.HasPrefix(e.To, submitting) && !strings.HasPrefix(e.From, submitting)
}

// Started splits the last span of an attempt that ended before jjm saw it run. The journal shows such an attempt only
// as queued. at is the start that the batch system or the wrapper reported afterwards; if at lies within the last span,
// the attempt was queued before at and running after at.
func Started(spans []Span, at jjm.Time) []Span {
	last := len(spans) - 1
	if last < 0 || spans[last].Kind != Queued || at <= spans[last].From || at >= spans[last].To {
		return spans
	}
	running := Span{Running, spans[last].Attempt, at, spans[last].To}
	spans[last].To = at
	return append(spans, running)
}

// setSpans sets, from the journal of the grid job, since when each attempt was queued and until when its result was
// collected. It does nothing if the timeline does not draw attempts one by one.
func (d *Data) setSpans(history []jjm.JournalEntry) {
	if len(d.attempts) > mostBars {
		return
	}
	spans := map[int32][]Span{}
	for i := range d.attempts {
		a := &d.attempts[i]
		of, known := spans[a.local]
		if !known {
			of = Spans(history, a.local, d.Now, len(history))
			spans[a.local] = of
		}
		a.setSpans(of)
	}
}

// setSpans sets since when an attempt was queued and until when its result was collected, from the spans of its local
// job. The queue is the last one that began before the attempt; the result is collected after that queue and before the
// next one.
func (a *attempt) setSpans(spans []Span) {
	which := -1
	for _, s := range spans {
		if s.Kind == Queued && s.From <= a.from {
			which, a.queued = s.Attempt, s.From
		}
	}
	for _, s := range spans {
		if s.Kind == Collecting && s.Attempt == which && s.To > a.to {
			a.collected = s.To
		}
	}
}
