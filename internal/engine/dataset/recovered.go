package dataset

import (
	"context"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// placer adds to listed files the paths that are known only to this site.
type placer struct {
	store *store.Store
	// from are the master datasets of the grid job that the reader of the files recovers.
	from []store.DatasetID
}

// placerOf returns the placer for the files of a dataset that the job file of a grid job lists. The job file of a
// recovery lists outputs of other grid jobs by their LFNs only, and the recovery must open these outputs where the
// recovered grid job opened them. The placer of other files adds nothing.
func placerOf(ctx context.Context, from *store.Store, job *jjm.GridJob, d *jjm.DatasetInput) (placer, error) {
	p := placer{store: from}
	if job.Spec.Recovers == 0 || d.Secondary {
		return p, nil
	}
	recovered, err := from.Grid(ctx, job.Spec.Recovers)
	if jjm.KindOf(err) == jjm.Gone || err == nil && recovered.Owner.UID != job.Owner.UID {
		return p, nil // a path is relative to the work area of its owner
	}
	if err != nil {
		return p, err
	}
	inputs, err := from.Inputs(ctx, recovered.ID)
	for _, in := range inputs {
		if in.Master && in.Step == jjm.StepWork {
			p.from = append(p.from, in.Dataset)
		}
	}
	return p, err
}

// place sets the paths of the files that local jobs made.
func (p placer) place(ctx context.Context, files []jjm.File) error {
	lfns := make([]string, len(files))
	for i := range files {
		lfns[i] = files[i].LFN
	}
	for _, id := range p.from {
		known, err := p.store.Paths(ctx, id, lfns)
		if err != nil {
			return err
		}
		for i := range files {
			if f, ok := known[files[i].LFN]; ok {
				files[i].Path = f.Path
			}
		}
	}
	return nil
}
