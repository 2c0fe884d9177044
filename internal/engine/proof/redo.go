package proof

import (
	"context"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/work/cover"
)

// Redo returns the job file of a recovery that does only the work of the given local jobs again. recovery is the path
// that the job file will have. The result is empty if other recoveries did that work, or may still do it.
func (pr *Prover) Redo(ctx context.Context, caller wire.Caller, job *jjm.GridJob, locals []int32,
	recovery string) (none cover.Written, err error) {
	t, recoveries, err := pr.joinedTask(ctx, caller, job)
	if err != nil {
		return none, err
	}
	rec := cover.NewRecovery(job.Spec, t.facts.Unit, job.ID, t.made(), len(recoveries), job.BaseDir)
	rec.Generation = laterGeneration(job)
	_, err = pr.prove(ctx, t, func(f cover.Finding) error {
		if !slices.ContainsFunc(f.Locals, func(n int32) bool { return slices.Contains(locals, n) }) {
			return nil
		}
		return rec.Add(f)
	})
	if err != nil || rec.Empty() {
		return none, err
	}
	return rec.JobFile(wire.FilesOf(recovery), wire.RangesOf(recovery), t.file)
}
