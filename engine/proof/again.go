package proof

import (
	"context"
	"slices"

	"jjm"
	"jjm/cover"
	"jjm/wire"
)

// Again makes the job file that does the work of some local jobs of a grid job again,
// and nothing else; recovery is the path that it will have. It is empty where recoveries
// did that work, or do it now.
func (pr *Prover) Again(ctx context.Context, caller wire.Caller, job *jjm.GridJob, locals []int32,
	recovery string) (none cover.Written, err error) {
	t, recoveries, err := pr.joinedTask(ctx, caller, job)
	if err != nil {
		return none, err
	}
	rec := cover.NewRecovery(job.Spec, t.facts.Unit, job.ID, t.made(), len(recoveries), job.BaseDir)
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
