package answer

import (
	"context"
	"fmt"
	"io"

	"jjm"
	"jjm/engine/outputs"
	"jjm/plan"
	"jjm/sandbox"
	"jjm/wire"
)

// Output opens the tar. With partial, an unfinished grid job gives a tar of
// what there is so far.
func (an *Answers) Output(ctx context.Context, caller wire.Caller, id jjm.GridID, partial bool) (io.ReadCloser, int64,
	wire.Output, error) {
	job, err := an.s.Find(ctx, caller, id)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	if job.Tar == "" {
		if !partial {
			return nil, 0, wire.Output{}, jjm.Errorf(jjm.Conflict,
				"grid job %s is %s: its output tar is not complete (--partial gives what there is)", id, job.Status)
		}
		return an.partial(ctx, &job)
	}
	ar, err := an.areas.Of(job.Owner)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	f, err := ar.OpenTar(sandbox.TarDir(id) + "/" + job.Tar)
	if err != nil {
		return nil, 0, wire.Output{}, jjm.Errorf(jjm.Gone, "output tar of grid job %s: %w", id, err)
	}
	return f, job.TarBytes, wire.Output{Name: job.Tar, SHA256: job.TarSHA256, Path: an.areas.TarPath(&job)}, nil
}

// partial makes a tar of what has ended so far; it is removed when read.
func (an *Answers) partial(ctx context.Context, job *jjm.GridJob) (io.ReadCloser, int64, wire.Output, error) {
	ar, err := an.areas.Of(job.Owner)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	name := fmt.Sprintf("%s/partial.%d.%s", sandbox.TarDir(job.ID), an.partials.Add(1), outputs.TarName(job))
	entries := an.rooms.Jobs.TarEntries(ctx, job, &plan.GridFacts{}, func() {})
	info, err := ar.WriteTar(ctx, name, outputs.Stem(job), entries, an.b.Conf().MaxTarBytes)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	f, err := ar.OpenTar(name)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	_ = ar.RemoveTar(name) // its readers keep it by their handle
	return f, info.Bytes, wire.Output{Name: outputs.TarName(job), SHA256: info.SHA256, Partial: true}, nil
}
