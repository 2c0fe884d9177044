package proof

import (
	"context"
	"fmt"
	"math"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
	"jjm/internal/work/cover"
	"jjm/internal/work/split"
)

// CheckDone verifies a grid job before its status becomes final, and adds the work that was left out to facts.LeftOut,
// even if the grid job is not done. If the proof fails, facts.Unproven has the reason, and the grid job must not be
// called done. Work whose local jobs report no count is assumed to be done; facts.Undecided then holds the verdict and
// the reason, as the command verify shows them. If the proof does not fail, facts.Proof is the kind of evidence on
// which it rests.
func (pr *Prover) CheckDone(ctx context.Context, job *jjm.GridJob, facts *plan.GridFacts) error {
	done := job.Status == jjm.Done
	if !done && job.Step.Made == 0 && !job.Step.Closed {
		return nil // the grid job was never cut
	}
	merged := jjm.ProofCount
	if done && job.Merging != nil {
		report, err := pr.provedMerge(ctx, job, true)
		if err != nil {
			return fmt.Errorf("verify grid job %s: %w", job.ID, err)
		}
		if !report.Whole() {
			facts.Unproven = said("merging: ", &report)
		} else {
			facts.Undecided, merged = undecided("merging: ", &report), report.Proof
		}
	}
	t, err := pr.taskOf(ctx, job)
	if k := jjm.KindOf(err); k == jjm.Invalid || k == jjm.Gone {
		if done && facts.Unproven == "" {
			facts.Unproven = fmt.Sprintf("what there was to do is no longer known: %v", err)
		}
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
	facts.LeftOut = append(facts.LeftOut, report.Left...)
	if !done || facts.Unproven != "" {
		return nil
	}
	if !report.Whole() {
		facts.Unproven = said("", &report)
		return nil
	}
	if why := undecided("", &report); why != "" {
		facts.Undecided = why
	}
	facts.Proof = report.Proof.Weaker(merged)
	return nil
}

// said returns the verdict and the reason of a report, as the command verify shows them. of is put before the reason.
func said(of string, r *cover.Report) string { return fmt.Sprintf("%s: %s%s", r.Verdict, of, r.Why) }

// undecided returns the verdict and the reason of a report that does not prove all work, and "" if the report proves
// all work.
func undecided(of string, r *cover.Report) string {
	if r.Verdict == cover.Proven {
		return ""
	}
	return said(of, r)
}

// taskOf returns the same as the method task, but only for a live grid job: it uses the cutting that package jobtype
// remembers, and does not ask the job type again.
func (pr *Prover) taskOf(ctx context.Context, job *jjm.GridJob) (*task, error) {
	cut, err := pr.types.CuttingOf(job)
	if err != nil {
		return nil, err
	}
	return pr.taskBy(ctx, job, &cut.Cutting)
}

// readFiles sets the fields of a task whose work is the files of a dataset.
func (t *task) readFiles(ctx context.Context, s *store.Store, job *jjm.GridJob, cut *handlers.Cutting) error {
	leaver, err := split.LeaverOf(cut.Splitter, cut.Params)
	if err != nil {
		return err
	}
	t.facts.Spans, t.facts.Once, t.facts.LeavesOut = nil, cut.Params.LumiCorrection, leaver.Units
	unit, err := s.InputUnit(ctx, job.ID)
	if err != nil {
		return err
	}
	if unit != "" {
		t.facts.Unit = unit // JEDI's splitter chooses between files and ranges
	}
	owned, err := s.OwnedEvents(ctx, job.ID)
	if err != nil {
		return err
	}
	t.events = func(l *jjm.LocalJob) int64 { return owned[l.ID.N] }
	t.files = stream(func(fn func(cover.File) error) error {
		return s.InputFiles(ctx, job.ID, 0, func(n int64, state jjm.FileState, why string, f jjm.File) error {
			file := cover.File{N: n, LFN: f.LFN, State: state, Events: f.Events, Lumis: f.Lumis, GivenUp: why}
			if state == jjm.FileDropped { // the file does not belong to the work
				file.GivenUp = ""
				file.Reason, file.Asked = leaver.File(&f, why)
				file.PassedOver = leaver.Why(file.Reason)
				if t.facts.Once && leaver.CountsSections() && len(f.Lumis) > 0 {
					// Parts may own its sections in other files. A section that no part owns is left out by a setting,
					// or missing.
					file.State, file.Reason, file.Asked, file.PassedOver = jjm.FileReady, "", false, ""
				}
			}
			return fn(file)
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

// fileToRecover returns the description of a file for the job file of a recovery. The recovery lists the file in a
// separate dataset, which has no history, so the ancestors that are also read become the file's parents.
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
