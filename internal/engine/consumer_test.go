package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
)

// told requires that the journal of a grid job has one entry that its inputs are made again, with the cause, and that
// its status warns with the line.
func (w *world) told(id jjm.GridID, cause, line string) {
	w.t.Helper()
	entries, err := w.engine.History(context.Background(), alice, all(id), 0)
	w.must(err)
	var causes, lines []string
	for _, e := range entries {
		if e.To == "inputs-again" {
			causes = append(causes, e.Cause+" by "+strings.Fields(e.Actor)[0])
		}
	}
	for _, warning := range w.status(id).Warnings {
		if warning.Kind == string(jjm.InputsAgain) {
			lines = append(lines, warning.Line)
		}
	}
	if !slices.Equal(causes, []string{cause + " by alice"}) || !slices.Equal(lines, []string{line}) {
		w.t.Errorf("grid job %s was told %q, and warns %q", id, causes, lines)
	}
}

// An ended grid job is told if a grid job for whose end it waited is reopened: nothing else shows that it used outputs,
// or an end, that no longer count.
func TestConsumer_IsToldThatItsPredecessorRunsAgain(t *testing.T) {
	t.Parallel()
	o := minute()
	o.play = failingOf(1)
	inWorld(t, o, func(t *testing.T, w *world) {
		one := w.submit(alice, mc(2))
		w.cluster("pause")
		broken := w.submit(alice, mc(1, "after = [1]"))
		begun := w.submit(alice, mc(1, "after = [1]", `after_end = "any"`))
		other := w.submit(alice, mc(1))
		w.cluster("resume")
		w.final(time.Hour, one, broken, begun, other)
		if got := w.resubmit(false, one.String()); got.Error != nil || got.Generation != 2 {
			t.Fatalf("%+v", got)
		}
		w.over(time.Hour, one)
		w.reopen()
		for _, id := range []jjm.GridID{broken, begun} {
			what := "grid job 1, for whose end this one waited, runs again"
			w.told(id, what+": its generation 2 begins",
				fmt.Sprintf("%s: jjm copy %s makes a new grid job of this one's job file", what, id))
		}
		if st := w.status(other); len(st.Warnings) > 0 {
			t.Errorf("one that used nothing: %+v", st.Warnings)
		}
		w.verify(begun, done(1)) // its end stays as it was
	})
}

// An ended grid job is told if a grid job whose outputs it read is reopened to make lost outputs again, or if the
// outputs are only declared lost.
func TestConsumer_IsToldThatOutputsAreLost(t *testing.T) {
	t.Parallel()
	for name, newOutput := range map[string]bool{"made again": false, "declared lost": true} {
		inWorld(t, options{}, func(t *testing.T, w *world) {
			one := w.submit(alice, fileJob("output_dataset = \"reco\"\n", "name = \"raw\"\n"+inline(2)))
			reader := w.submit(alice, fileJob("", "name = \"reco\"\n"))
			w.final(time.Hour, one, reader)
			cause := "grid job 1, whose outputs this one read, "
			line := cause
			if newOutput {
				_, err := w.retract(alice, one, false, "", "filetest.1.0.out.dat")
				w.must(err)
				cause, line = cause+"lost outputs", line+"lost outputs"
			} else {
				_, err := w.retractOver(one, "filetest.1.0.out.dat")
				w.must(err)
				w.over(time.Hour, one)
				cause, line = cause+"runs again: its generation 2 begins", line+"runs again"
			}
			t.Log(name)
			w.told(reader, cause, line+": jjm copy 2 makes a new grid job of this one's job file")
		})
	}
}
