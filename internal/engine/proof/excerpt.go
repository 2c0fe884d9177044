package proof

import (
	"context"
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/work/cover"
)

// Excerpt returns the specification of a grid job that does only the work of one local job. The error is of kind Gone
// if the local job does not exist, and of kind Conflict if the local job merges outputs.
func (pr *Prover) Excerpt(ctx context.Context, job *jjm.GridJob, id jjm.LocalID) (jjm.Spec, error) {
	found, err := pr.b.Store.Locals(ctx, id.Grid, id.N, id.N)
	switch {
	case err != nil:
		return jjm.Spec{}, err
	case len(found) == 0:
		return jjm.Spec{}, jjm.Errorf(jjm.Gone, "there is no local job %s: grid job %s has %s so far, numbered from 0", id,
			id.Grid, jjm.Count(job.Step.Made, "local job"))
	case found[0].Step != jjm.StepWork:
		return jjm.Spec{}, jjm.Errorf(jjm.Conflict, "local job %s merges outputs of other local jobs, and a copy has none: "+
			"copy grid job %s", id, id.Grid)
	}
	t, err := pr.task(ctx, job)
	if err != nil {
		return jjm.Spec{}, err
	}
	var units []cover.Row
	err = t.rows(ctx, func(r cover.Row) error {
		if r.Local == id.N {
			units = append(units, r)
		}
		return nil
	})
	if err != nil {
		return jjm.Spec{}, err
	}
	lfns, err := t.lfns(cover.FilesOf(units))
	if err != nil {
		return jjm.Spec{}, err
	}
	return cover.Excerpt(job.Spec, t.facts.Unit, job.BaseDir, &found[0], units, lfns, t.file)
}

// lfns returns the names of files by their numbers, which must ascend.
func (t *task) lfns(numbers []int64) (map[int64]string, error) {
	names := make(map[int64]string, len(numbers))
	if t.files == nil {
		return names, nil
	}
	for f, err := range t.files {
		if err != nil {
			return nil, err
		}
		if _, asked := slices.BinarySearch(numbers, f.N); asked {
			names[f.N] = f.LFN
		}
	}
	return names, nil
}
