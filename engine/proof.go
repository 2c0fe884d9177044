package engine

import (
	"context"
	"fmt"
	"iter"
	"math"

	"jjm"
	"jjm/cover"
	"jjm/plan"
	"jjm/store"
)

// checkDone holds the work of a grid job against the ledger and what its local jobs
// report, before it is called done: what does not prove is not done. Grid jobs
// that read no datasets are proven by the store itself, whose ledger has all
// their units: done needs every local job completed.
func (e *Engine) checkDone(ctx context.Context, job *jjm.GridJob, facts *plan.GridFacts) error {
	if len(job.Spec.Datasets) == 0 || job.Status != jjm.Done {
		return nil
	}
	report, err := e.proofOf(ctx, job)
	if err != nil {
		return fmt.Errorf("verify grid job %s: %w", job.ID, err)
	}
	if !report.Whole() {
		facts.Unproven = report.Why
	}
	return nil
}

// proofOf says whether the files that a grid job reads were processed exactly once.
func (e *Engine) proofOf(ctx context.Context, job *jjm.GridJob) (cover.Report, error) {
	f := cover.Facts{Made: job.Step.Made, Closed: job.Step.Closed, Over: job.Status.Final(), Keep: 20}
	var jobs []cover.Job
	owned, err := e.store.OwnedEvents(ctx, job.ID)
	if err != nil {
		return cover.Report{}, err
	}
	err = e.store.ResultsOf(ctx, job.ID, func(l jjm.LocalJob, ev *jjm.Evidence) error {
		f.Unit = l.Part.Unit
		j := cover.Job{N: l.ID.N, State: l.State, Count: l.Part.Count, Events: owned[l.ID.N]}
		if ev != nil && ev.Result != nil && l.State == jjm.Completed {
			j.Processed = ev.Result.Processed
		}
		jobs = append(jobs, j)
		return nil
	})
	if err != nil {
		return cover.Report{}, err
	}
	h, err := e.deps.Types.Get(job.Spec.Type)
	if err != nil {
		return cover.Report{}, err
	}
	site, err := e.packedSite(job, h)
	if err != nil {
		return cover.Report{}, err
	}
	if cut, err := h.Split(&job.Spec, site); err == nil {
		f.Once = cut.Params.LumiCorrection
		f.LeavesOut = leavesOut(&job.Spec)
	}
	each := func(yield func(cover.Job, error) bool) {
		for _, j := range jobs {
			if !yield(j, nil) {
				return
			}
		}
	}
	return cover.Verify(f, each, e.coverFiles(ctx, job.ID), e.coverRows(ctx, job.ID), nil)
}

// leavesOut names the settings of a splitter by which it leaves work out.
func leavesOut(spec *jjm.Spec) string {
	if spec.Split == nil {
		return ""
	}
	for _, key := range []string{"total_files", "total_lumis", "total_events", "lumis", "runWhitelist", "maxFiles"} {
		if v, ok := spec.Split.Params[key]; ok {
			return fmt.Sprintf("%s = %v", key, v)
		}
	}
	return ""
}

// coverFiles streams the files of a step as package cover wants them.
func (e *Engine) coverFiles(ctx context.Context, id jjm.GridID) iter.Seq2[cover.File, error] {
	return func(yield func(cover.File, error) bool) {
		err := e.store.InputFiles(ctx, id, 0, func(n int64, s jjm.FileState, f jjm.File) error {
			if s == jjm.FileMissing || s == jjm.FileLost || s == jjm.FileBroken {
				s = jjm.FileDropped // not to be processed
			}
			if !yield(cover.File{N: n, LFN: f.LFN, State: s, Events: f.Events, Lumis: f.Lumis}, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && err != errEnough {
			yield(cover.File{}, err)
		}
	}
}

// coverRows streams the ledger; a whole file is 0..0 of its file.
func (e *Engine) coverRows(ctx context.Context, id jjm.GridID) iter.Seq2[cover.Row, error] {
	return func(yield func(cover.Row, error) bool) {
		err := e.store.Cover(ctx, id, 0, func(o store.Owned) error {
			if o.Unit == jjm.UnitFile && o.Last == math.MaxInt64 {
				o.Last = 0
			}
			row := cover.Row{File: o.File, Run: o.Run, First: o.First, Last: o.Last, Local: o.Local, Released: o.Released != 0}
			if !yield(row, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && err != errEnough {
			yield(cover.Row{}, err)
		}
	}
}
