package state

import (
	"testing"

	"jjm/internal/jjm"
)

// While a ready local job is in a queue, it may be held and released, or moved to another place and back. Take
// nevertheless returns the local job only once.
func TestReady_WhatChangesWhileItIsReadyIsTakenOnce(t *testing.T) {
	held := func(l *jjm.LocalJob) { l.State, l.Phase = jjm.Held, jjm.HeldByPerson }
	released := func(l *jjm.LocalJob) { l.State, l.Phase = jjm.New, "" }
	waits := func(l *jjm.LocalJob) { l.State, l.Phase = jjm.Submitting, jjm.RetryWait }
	place := func(n int32) func(*jjm.LocalJob) { return func(l *jjm.LocalJob) { l.Place = n } }
	for name, steps := range map[string][]func(*jjm.LocalJob){
		"held and released":           {held, released},
		"held and released twice":     {held, released, held, released},
		"waiting, held and released":  {waits, held, waits, held, waits},
		"moved":                       {place(1)},
		"moved and back":              {place(1), place(0)},
		"moved while it is held":      {held, place(2), released},
		"moved, and back when it ran": {place(1), waits, place(0)},
	} {
		g := NewGrid(jjm.GridJob{ID: 1})
		l := jjm.LocalJob{ID: jjm.LocalID{Grid: 1}}
		g.put(l)
		for _, step := range steps {
			step(&l)
			g.put(l)
		}
		a, taken := &Memo{}, 0
		g.due(1)
		for at := range int32(3) {
			for {
				got, ok := a.Take(g, at, 1)
				if !ok {
					break
				}
				if taken++; got.Place != at {
					t.Errorf("%s: taken at place %d, want %d", name, at, got.Place)
				}
			}
		}
		if taken != 1 {
			t.Errorf("%s: taken %d times, want once", name, taken)
		}
	}
}
