package engine_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/xmldb/head"
)

// steps returns the steps of a grid job (processing, merging) with their counts. It requires that the status, the list
// and an up-to-date record show the same steps.
func (w *world) steps(id jjm.GridID) []wire.Step {
	w.t.Helper()
	st := w.status(id)
	all, err := w.engine.List(context.Background(), alice, wire.List{All: true})
	w.must(err)
	if len(all) == 0 || !slices.Equal(all[0].Steps, st.Steps) {
		w.t.Errorf("list tells %+v, status %+v", all, st.Steps)
	}
	total, c := 0, st.Lookup.Counts
	for _, s := range st.Steps {
		total += s.Counts.Total
		c.Completed -= s.Counts.Completed
		c.Failed -= s.Counts.Failed
		c.GivenBack -= s.Counts.GivenBack
	}
	if len(st.Steps) > 0 && (total != c.Total || c.Completed != 0 || c.Failed != 0 || c.GivenBack != 0) {
		w.t.Errorf("the steps are %+v, the whole is %+v", st.Steps, st.Lookup.Counts)
	}
	if _, err := w.engine.Record(context.Background(), alice, id, ""); err != nil {
		w.t.Error(err)
	}
	h, err := head.Read(filepath.Join(w.dir, "records"), id)
	w.must(err)
	for i, s := range st.Steps {
		if len(h.Steps) != len(st.Steps) || h.Steps[i].Done() != s.Done || h.Steps[i].Expected != s.Counts.Expected ||
			h.Steps[i].Closed != s.Closed {
			w.t.Errorf("the record tells %+v, status %+v", h.Steps, st.Steps)
		}
	}
	return st.Steps
}

// The progress of each step is visible while a grid job runs, when it has ended, and when it is
// archived.
func TestSteps_AreShownSeparately(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid == 1 && id.N == 0 {
			return adaptertest.Play{Keyword: "-", Exit: 3} // a successor does the work again
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("",
			"name = \"raw\"\nopen = true\n"+inline(8)+"[merge]\nconcat = true\noutput = \"out.dat\"\nfiles = 3\n"))
		w.until(time.Hour, "three are merged", func() bool { return w.lookup(id).Counts.Completed == 4 })
		w.pass(time.Minute)
		want := []wire.Step{
			{Step: 0, Name: "process", Done: 4, Merging: 1,
				Counts: wire.Counts{Expected: 4, Total: 5, Completing: 1, Completed: 3, GivenBack: 1}},
			{Step: 1, Name: "merge", Done: 1, Counts: wire.Counts{Expected: 1, Total: 1, Completed: 1}},
		}
		if got := w.steps(id); !slices.Equal(got, want) {
			t.Errorf("while more may come: %+v, want %+v", got, want)
		}
		w.closeDataset(alice, "raw")
		w.final(time.Hour, id)
		want[0].Merging, want[0].Closed, want[0].Counts.Completing, want[0].Counts.Completed = 0, true, 0, 4
		want[1] = wire.Step{Step: 1, Name: "merge", Done: 2, Closed: true,
			Counts: wire.Counts{Expected: 2, Total: 2, Completed: 2}}
		if got := w.steps(id); !slices.Equal(got, want) {
			t.Errorf("over: %+v, want %+v", got, want)
		}
		w.until(time.Hour, "it is archived", func() bool { return w.archived(id) })
		w.reopen()
		if got := w.steps(id); !slices.Equal(got, want) {
			t.Errorf("archived: %+v, want %+v", got, want)
		}
		ids, err := w.engine.Record(context.Background(), alice, id, "//localjob[@step='1']/@id")
		if err != nil || len(ids) != 2 {
			t.Errorf("the record has the merges %v; %v", ids, err)
		}
		plain := w.submit(alice, mc(2))
		w.final(time.Hour, plain)
		if got := w.status(plain).Steps; got != nil {
			t.Errorf("a grid job of one step tells %+v", got)
		}
	})
}
