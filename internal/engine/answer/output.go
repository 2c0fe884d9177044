package answer

import (
	"context"
	"fmt"
	"io"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/sandbox"
)

// Output sends an output tar, the newest or the tar of a generation. If the tar is not complete yet, the error is of
// kind Conflict; with Partial, Output makes a tar of the outputs so far instead. If the generation does not exist or
// ended without a tar, the error is of kind Gone. With a File it sends only this file; see collected. With List it
// sends only the names of the files.
func (an verbs) Output(ctx context.Context, caller wire.Caller, r wire.OutputRequest,
	out *serve.Stream[wire.OutputAnswer]) error {
	ref := r.Job()
	switch {
	case r.File == "" && !r.List && ref.Locals:
		return jjm.Errorf(jjm.Invalid, "output: id %q: want a grid job, such as %v", ref, ref.Grid)
	case ref.Locals && !ref.One():
		return jjm.Errorf(jjm.Invalid, "output: id %q: want the grid job or one local job, such as %v.0", r.Ref(),
			ref.Grid)
	}
	if r.List {
		return outputFiles{an.Answers}.sendList(ctx, caller, ref, out)
	}
	f, size, described, err := an.openOutput(ctx, caller, ref, r.Wanted)
	if err != nil {
		return err
	}
	return serve.SendTar(ctx, out, ref, f, size, described)
}

// openOutput opens the tar or file that Output sends, and returns its size in bytes and its description.
func (an *Answers) openOutput(ctx context.Context, caller wire.Caller, ref jjm.Ref, want wire.Wanted) (
	io.ReadCloser, int64, wire.Output, error) {
	id := ref.Grid
	job, err := an.s.Find(ctx, caller, id)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	if want.File != "" {
		return an.collected(ctx, caller, &job, ref, want.File)
	}
	if want.Partial && job.Tar == "" {
		return an.partial(ctx, &job)
	}
	reopened := job.Generation > 1
	if job, err = withTar(&job, want.Generation); err != nil {
		return nil, 0, wire.Output{}, err
	}
	ar, err := an.areas.Of(job.Owner)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	f, err := ar.OpenTar(sandbox.TarDir(id) + "/" + job.Tar)
	if err != nil {
		return nil, 0, wire.Output{}, jjm.Errorf(jjm.Gone, "output tar of grid job %s: %w", id, err)
	}
	out := wire.Output{Name: job.Tar, SHA256: job.TarSHA256, Path: an.areas.TarPath(&job)}
	if reopened {
		out.Generation = job.Generation
	}
	return f, job.TarBytes, out, nil
}

// withTar returns a grid job as it was when a generation got its tar. The generation 0 stands for the newest generation
// that has a tar. The error is of kind Gone if the generation does not exist or ended without a tar, and of kind
// Conflict if the tar is not complete yet.
func withTar(job *jjm.GridJob, generation int) (jjm.GridJob, error) {
	was, found := *job, job.Generation == generation
	if generation == 0 {
		was, found = job.LastTar()
	} else if !found {
		was, found = job.AtEnd(generation)
	}
	switch {
	case found && was.Tar != "":
		return was, nil
	case generation > job.Generation:
		return was, jjm.Errorf(jjm.Gone, "grid job %s has no generation %d: it is in generation %d", job.ID, generation,
			job.Generation)
	case found && was.Status.Final():
		return was, jjm.Errorf(jjm.Gone, "generation %d of grid job %s ended without a tar", generation, job.ID)
	}
	return was, jjm.Errorf(jjm.Conflict,
		"grid job %s is %s: its output tar is not complete (--partial returns what there is)", job.ID, job.Status)
}

// partial makes a tar of the outputs of the local jobs that have ended. It removes the tar's name immediately; the file
// therefore vanishes when the reader closes it.
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
	_ = ar.RemoveTar(name) // the open file stays readable
	return f, info.Bytes, wire.Output{Name: outputs.TarName(job), SHA256: info.SHA256, Partial: true}, nil
}
