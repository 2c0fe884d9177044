package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// copyRef makes a copy of the grid job or local job that a reference names.
func (w *world) copyRef(c wire.Caller, ref string, how wire.CopyHow) (wire.Copied, error) {
	a, err := call(w.t.Context(), w.engine, wire.VerbCopy(), c, wire.CopyRequest{One: wire.OneRef(ref), CopyHow: how})
	return of(a.Copied), err
}

// partsOf returns the parts of the local jobs of a grid job.
func (w *world) partsOf(id jjm.GridID) (parts []jjm.Part) {
	w.t.Helper()
	locals, err := w.store.Locals(w.t.Context(), id, 0, -1)
	w.must(err)
	for i := range locals {
		parts = append(parts, locals[i].Part)
	}
	return parts
}

// worksOn returns the part without its position in the grid job, so that the parts of a local job and of its copy can
// be compared.
func worksOn(p jjm.Part) jjm.Part {
	if p.Unit != jjm.UnitEvent && p.Unit != jjm.UnitRow {
		p.First = 0
	}
	return p
}

// The copy of a local job is a grid job with one local job, which processes the same work under the same serial number.
func TestCopy_OfALocalJob(t *testing.T) {
	t.Parallel()
	sections := `name = "raw"
files = [{lfn = "a", events = 100, lumis = [{run = 1, first = 1, last = 4}]}, {lfn = "b", events = 100, lumis = [{run = 1, first = 5, last = 8}]}]
[split]
by = "LumiBased"
params = { lumis_per_job = 3 }
`
	for name, text := range map[string]string{
		"events":         mc(4),
		"events, serial": mc(4, "first_serial = 100"),
		"some events":    mc(4, "only = [{first = 3, count = 14}, {first = 31, count = 9}]"),
		"rows":           plain(5),
		"rows, texts":    "type = \"script\"\n[params]\ncommand = [\"run\"]\nargs = [[\"x\"], [\"y\", \"z\"], [\"w\"]]\n",
		"files":          fileJob("", "name = \"raw\"\n"+inline(5)),
		"files, dataset": fileJob("output_dataset = \"made\"\n", "name = \"raw\"\n"+inline(5)),
		"ranges": fileJob("", "name = \"raw\"\n"+inline(2)+
			"[split]\nby = \"EventBased\"\nparams = { events_per_job = 30 }\n"),
		"sections": fileJob("", sections),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, options{}, func(t *testing.T, w *world) {
				id := w.submit(alice, text)
				w.final(10*time.Hour, id)
				for n, part := range w.partsOf(id) {
					ref := jjm.LocalID{Grid: id, N: int32(n)}.String()
					made, err := w.copyRef(alice, ref, wire.CopyHow{})
					w.must(err)
					if made.Of != id || made.Local != ref {
						t.Errorf("copy of %s: %+v", ref, made)
					}
					w.final(10*time.Hour, made.ID)
					if got, want := w.partsOf(made.ID), []jjm.Part{worksOn(part)}; len(got) != 1 ||
						cmp.Diff(want, []jjm.Part{worksOn(got[0])}) != "" {
						t.Errorf("copy of %s: %s", ref, cmp.Diff(want, got))
					}
					if l := w.lookup(made.ID); l.Status != "done" {
						t.Errorf("copy of %s ended as %s", ref, l.Status)
					}
				}
				if v := w.proof(id, ""); v.Missing+v.Overlap+v.Doubled != 0 || len(v.Recoveries) > 0 {
					t.Errorf("the copies are in the account: %+v", v)
				}
				w.must(w.store.Check(t.Context()))
			})
		})
	}
}

// A copy of a local job accepts edits, can be a dry run, and can have a request key, like the copy of a grid job.
func TestCopy_OfALocalJobTakesEdits(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(5))
		w.final(time.Hour, id)
		how := wire.CopyHow{Set: []string{"name=again"}, Key: "k", DryRun: true}
		dry, err := w.copyRef(alice, "1.3", how)
		if err != nil || dry.Plan == nil || dry.Plan.Jobs != 1 || !strings.Contains(dry.JobFile, `"name": "again"`) {
			t.Errorf("%+v, %v", dry, err)
		}
		how.DryRun = false
		made, err := w.copyRef(alice, "1.3", how)
		w.must(err)
		if again, err := w.copyRef(alice, "1.3", how); err != nil || again.ID != made.ID || !again.Existed {
			t.Errorf("%+v, %v", again, err)
		}
		w.final(time.Hour, made.ID)
		h, err := w.engine.History(t.Context(), alice, all(made.ID), 0)
		if err != nil || h[0].Cause != "accepted: script, a copy of local job 1.3" {
			t.Errorf("history %+v, %v", h, err)
		}
	})
}

func TestCopy_OfALocalJobIsRefused(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.final(10*time.Hour, w.submit(alice, fileJob("result = \"exit\"\noutputs = [\"out.dat\"]\n",
			"name = \"raw\"\n"+inline(4)+"[merge]\nfiles = 2\ncommand = [\"cat\"]\n")))
		for ref, want := range map[string]string{"1.9": "there is no local job 1.9", "1.0-1": "want one, such as 1.0",
			"1.*": "want one, such as 1.0", "1.2": "merges outputs of other local jobs", "7.0": "no grid job 7"} {
			if _, err := w.copyRef(alice, ref, wire.CopyHow{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", ref, err, want)
			}
		}
		if _, err := w.copyRef(bob, "1.0", wire.CopyHow{}); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("another account: %v", err)
		}
	})
}
