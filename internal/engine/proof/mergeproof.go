package proof

import (
	"context"
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/cover"
)

// proveMerge adds the report on the merges to v. If the merges are not proven, v is not proven either.
func (pr *Prover) proveMerge(ctx context.Context, job *jjm.GridJob, v *wire.Verified) error {
	report, err := pr.provedMerge(ctx, job, job.Status.Final())
	if err != nil {
		return fmt.Errorf("verify grid job %s: %w", job.ID, err)
	}
	v.Merge = &report
	v.Proof = v.Proof.Weaker(report.Proof)
	if v.Verdict == cover.Proven && report.Verdict != cover.Proven {
		v.Verdict, v.Why = report.Verdict, "merging: "+report.Why
	}
	return nil
}

// provedMerge compares the outputs of the first step with the ledger of the second step. over is true if the grid job
// has ended.
func (pr *Prover) provedMerge(ctx context.Context, job *jjm.GridJob, over bool) (cover.Report, error) {
	t := &task{grid: job.ID, step: jjm.StepMerge,
		facts: cover.Facts{Unit: jjm.UnitFile, Made: job.Step.Made, Closed: job.Merging.Closed, Over: over}}
	t.events = func(*jjm.LocalJob) int64 { return 0 }
	t.merged = func(*jjm.LocalJob) bool { return false }
	lost, err := pr.lostUnmerged(ctx, job.ID)
	if err != nil {
		return cover.Report{}, err
	}
	t.files = stream(func(fn func(cover.File) error) error {
		return pr.b.Store.InputFiles(ctx, job.ID, jjm.StepMerge,
			func(n int64, state jjm.FileState, _ string, f jjm.File) error {
				if lost[n] {
					state = jjm.FileDropped
				}
				return fn(cover.File{N: n, LFN: f.LFN, State: state})
			})
	})
	t.rows = func(ctx context.Context, fn func(cover.Row) error) error {
		return pr.b.Store.Cover(ctx, job.ID, jjm.StepMerge, func(o store.Owned) error {
			return fn(cover.Row{File: o.File, Local: o.Local, Released: o.Released != 0 || lost[o.File]})
		})
	}
	report, err := pr.prove(ctx, t, nil)
	if err != nil {
		return report, err
	}
	return report, pr.addUnmade(ctx, job.ID, &report)
}

// addUnmade adds to the missing files of a report the outputs that completed local jobs did not make or left out,
// though the outputs were to be merged. The ledger does not show them as missing, because the dataset to be merged
// holds only the files that arrived. The list of left-out outputs names them.
func (pr *Prover) addUnmade(ctx context.Context, id jjm.GridID, report *cover.Report) error {
	retracted, err := pr.b.Store.Retracted(ctx, id)
	if err != nil {
		return err
	}
	var n int64
	err = pr.b.Store.ResultsOf(ctx, id, func(l jjm.LocalJob, ev *jjm.Evidence) error {
		if l.Step != jjm.StepWork {
			return nil
		}
		for _, left := range outputs.LeftOut(&l, ev, retracted) {
			if !left.Asked || left.Reason == jjm.LeftNotMade {
				n += left.N
			}
		}
		return nil
	})
	if err != nil || n == 0 {
		return err
	}
	report.Expected, report.Missing = report.Expected+n, report.Missing+n
	if report.Verdict != cover.Overlapping {
		report.Verdict, report.Proof = cover.Gap, ""
		report.Why = fmt.Sprintf("%s missing in what was to be merged", jjm.Count(n, "output"))
	}
	return nil
}

// lostUnmerged returns the numbers of the files to be merged that were made by local jobs
// whose outputs were retracted. Such a file need not be in a merged file.
func (pr *Prover) lostUnmerged(ctx context.Context, id jjm.GridID) (map[int64]bool, error) {
	retracted, err := pr.b.Store.Retracted(ctx, id)
	if err != nil || len(retracted) == 0 {
		return nil, err
	}
	lost := map[int64]bool{}
	return lost, pr.b.Store.InputFiles(ctx, id, jjm.StepMerge, func(n int64, _ jjm.FileState, _ string, f jjm.File) error {
		if l, ok := outputs.Maker(id, f.LFN); ok {
			_, lost[n] = retracted[l.N]
		}
		return nil
	})
}
