package proof

import (
	"context"
	"fmt"
	"math"

	"jjm"
	"jjm/cover"
	"jjm/handlers"
	"jjm/plan"
	"jjm/split"
	"jjm/store"
)

// CheckDone holds the work of a grid job against the ledger and what its local
// jobs report, before it is called done: what does not prove is not done. Work
// whose local jobs report no count is assumed to be done, and the status says so in
// the words of verify.
func (pr *Prover) CheckDone(ctx context.Context, job *jjm.GridJob, facts *plan.GridFacts) error {
	if job.Status != jjm.Done {
		return nil
	}
	if job.Merging != nil {
		report, err := pr.provedMerge(ctx, job, true)
		if err != nil {
			return fmt.Errorf("verify grid job %s: %w", job.ID, err)
		}
		if !report.Whole() {
			facts.Unproven = said("merging: ", &report)
			return nil
		}
		facts.Undecided = undecided("merging: ", &report)
	}
	t, err := pr.taskOf(ctx, job)
	if k := jjm.KindOf(err); k == jjm.Invalid || k == jjm.Gone {
		facts.Unproven = fmt.Sprintf("what there was to do cannot be told any more: %v", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("verify grid job %s: %w", job.ID, err)
	}
	t.facts.Over = true
	report, err := pr.prove(ctx, t, nil)
	if err != nil {
		return fmt.Errorf("verify grid job %s: %w", job.ID, err)
	}
	if !report.Whole() {
		facts.Unproven = said("", &report)
		return nil
	}
	if why := undecided("", &report); why != "" {
		facts.Undecided = why
	}
	return nil
}

// said words a report as verify does, with its verdict first.
func said(of string, r *cover.Report) string { return fmt.Sprintf("%s: %s%s", r.Verdict, of, r.Why) }

// undecided is what a report cannot tell, "" if all is proven.
func undecided(of string, r *cover.Report) string {
	if r.Verdict == cover.Proven {
		return ""
	}
	return said(of, r)
}

// taskOf is task for a live grid job, whose cutting is remembered.
func (pr *Prover) taskOf(ctx context.Context, job *jjm.GridJob) (*task, error) {
	cut, err := pr.types.CuttingOf(job)
	if err != nil {
		return nil, err
	}
	return pr.taskBy(ctx, job, &cut.Cutting)
}

// readFiles makes the task one of the files of a dataset.
func (t *task) readFiles(ctx context.Context, s *store.Store, job *jjm.GridJob, cut *handlers.Cutting) error {
	t.facts.Spans, t.facts.Once, t.facts.LeavesOut = nil, cut.Params.LumiCorrection,
		split.LeavesOut(cut.Splitter, cut.Params)
	unit, err := s.InputUnit(ctx, job.ID)
	if err != nil {
		return err
	}
	if unit != "" {
		t.facts.Unit = unit // what it was cut into: JEDI's way makes files or ranges
	}
	owned, err := s.OwnedEvents(ctx, job.ID)
	if err != nil {
		return err
	}
	t.events = func(l *jjm.LocalJob) int64 { return owned[l.ID.N] }
	t.files = stream(func(fn func(cover.File) error) error {
		return s.InputFiles(ctx, job.ID, 0, func(n int64, state jjm.FileState, why string, f jjm.File) error {
			if state == jjm.FileDropped {
				why = "" // the splitter passed it over, and it is no part of the work
			}
			return fn(cover.File{N: n, LFN: f.LFN, State: state, Events: f.Events, Lumis: f.Lumis, GivenUp: why})
		})
	})
	t.rows = func(ctx context.Context, fn func(cover.Row) error) error {
		return s.Cover(ctx, job.ID, 0, func(o store.Owned) error {
			if o.Unit == jjm.UnitFile && o.Last == math.MaxInt64 {
				o.Last = 0 // a whole file is one unit
			}
			return fn(cover.Row{File: o.File, Run: o.Run, First: o.First, Last: o.Last, Local: o.Local,
				Released: o.Released != 0})
		})
	}
	t.file = func(lfn string) (jjm.File, error) { return s.InputFile(ctx, job.ID, lfn) }
	return nil
}

// fileToRecover is what a recovery says of a file. Its dataset is a new one, that
// lists the file, so that the files to read along must be its parents.
func (pr *Prover) fileToRecover(ctx context.Context, id jjm.GridID, lfn string) (jjm.File, error) {
	f, err := pr.b.Store.InputFile(ctx, id, lfn)
	if err != nil {
		return f, err
	}
	inputs, err := pr.b.Store.Inputs(ctx, id)
	for _, in := range inputs {
		if !in.Master || in.Step != jjm.StepWork {
			continue
		}
		from, err := pr.lineage.Ancestors(ctx, in.Dataset, []jjm.File{f})
		if parents, known := from[lfn]; known {
			f.Parents = parents
		}
		return f, err
	}
	return f, err
}
