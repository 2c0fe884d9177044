package proof

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"jjm"
	"jjm/cover"
	"jjm/engine/outputs"
	"jjm/glf"
	"jjm/handlers"
	"jjm/split"
	"jjm/wire"
)

// Verify holds what a grid job had to do against the cover ledger and the ends of
// its local jobs, and of those of its recoveries; recovery, where not "", is the name
// of the job file to make for what is missing.
func (pr *Prover) Verify(ctx context.Context, caller wire.Caller, id jjm.GridID, recovery string) (wire.Verified,
	error) {
	job, err := pr.s.Find(ctx, caller, id)
	if err != nil {
		return wire.Verified{}, err
	}
	if recovery != "" && !job.Status.Final() {
		return wire.Verified{}, jjm.Errorf(jjm.Conflict, "grid job %s is %s: what is missing is known once it is over", id,
			job.Status)
	}
	v := wire.Verified{ID: id}
	t, recoveries, err := pr.joinedTask(ctx, caller, &job)
	if err != nil {
		return v, fmt.Errorf("verify grid job %s: %w", id, err)
	}
	v.Recoveries = recoveries
	r := cover.NewRecovery(job.Spec, t.facts.Unit, id, t.made(), len(v.Recoveries), job.BaseDir)
	each := r.Add
	if recovery == "" {
		each = nil
	}
	if v.Report, err = pr.prove(ctx, t, each); err != nil {
		return v, err
	}
	tellRecoveries(t, &v)
	if job.Merging != nil {
		if err := pr.proveMerge(ctx, &job, &v); err != nil {
			return v, err
		}
	}
	if recovery == "" || r.Empty() {
		return v, nil
	}
	w, err := r.JobFile(wire.FilesOf(recovery), wire.RangesOf(recovery), t.file)
	v.Recovery, v.RecoveryFiles, v.RecoveryRanges = string(w.Job), string(w.Files), string(w.Ranges)
	v.Anew = t.names(w.Anew)
	return v, err
}

// task is a step to be verified: what it had to do, and where its ledger is.
type task struct {
	grid  jjm.GridID
	step  int
	facts cover.Facts
	// files are those of the master dataset, nil for events and rows.
	files iter.Seq2[cover.File, error]
	// rows calls back with the ledger, in its order.
	rows func(ctx context.Context, fn func(cover.Row) error) error
	// events returns how many events a local job's input holds, 0 = not known.
	events func(l *jjm.LocalJob) int64
	// file returns what is known of a file, for a recovery.
	file func(lfn string) (jjm.File, error)
	// merged reports whether what a completed local job made is in a merged file.
	merged func(l *jjm.LocalJob) bool
	// retracted are the local jobs that completed and do not count, with the reason.
	retracted map[int32]string
	// joined are the recoveries that are verified with it, nil = none.
	joined *joined
}

// prove verifies a task; each is told every finding.
func (pr *Prover) prove(ctx context.Context, t *task, each func(cover.Finding) error) (cover.Report, error) {
	jobs := func(fn func(cover.Job) error) error { return pr.jobsOf(ctx, t, fn) }
	rows := func(fn func(cover.Row) error) error { return t.rowsOf(ctx, fn) }
	facts := t.facts
	if t.joined != nil {
		jobs, rows = t.joined.with(&facts, jobs, rows)
	}
	return cover.Verify(facts, stream(jobs), t.files, stream(rows), each)
}

// jobsOf calls back with the local jobs of a task. What is made meanwhile is not
// looked at.
func (pr *Prover) jobsOf(ctx context.Context, t *task, fn func(cover.Job) error) error {
	return pr.b.Store.ResultsOf(ctx, t.grid, func(l jjm.LocalJob, ev *jjm.Evidence) error {
		if int(l.ID.N) >= t.facts.Made {
			return nil
		}
		j := cover.Job{N: l.ID.N, Other: int(l.Step) != t.step, State: l.State, Count: l.Part.Count, Events: t.events(&l),
			Processed: processed(&l, ev), Merged: t.merged(&l)}
		if _, lost := t.retracted[l.ID.N]; lost {
			j.State, j.Processed = jjm.Failed, nil
		}
		return fn(j)
	})
}

// rowsOf calls back with the ledger of a task, for the local jobs that jobsOf gives.
func (t *task) rowsOf(ctx context.Context, fn func(cover.Row) error) error {
	return t.rows(ctx, func(r cover.Row) error {
		if int(r.Local) >= t.facts.Made {
			return nil
		}
		return fn(r)
	})
}

// processed is what the application of a completed local job says that it
// processed: by the wrapper's result, or by the log file where there is none.
func processed(l *jjm.LocalJob, ev *jjm.Evidence) *jjm.Processed {
	switch {
	case l.State != jjm.Completed || ev == nil:
		return nil
	case ev.Result != nil:
		return ev.Result.Processed
	}
	return glf.Parse([]byte(ev.GLF)).Processed()
}

// errStopped ends a stream whose reader wants no more.
var errStopped = errors.New("stopped")

// stream makes a sequence of a function that calls back.
func stream[T any](each func(fn func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := each(func(v T) error {
			if !yield(v, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			var none T
			yield(none, err)
		}
	}
}

// task says what a grid job had to do. The job type is asked anew: what it says
// depends on the stored specification and the packed inputs alone.
func (pr *Prover) task(ctx context.Context, job *jjm.GridJob) (*task, error) {
	h, err := pr.b.Deps.Types.Get(job.Spec.Type)
	if err != nil {
		return nil, err
	}
	site := pr.types.Site(job.Owner, job.BaseDir)
	if job.Step.Prepared {
		if packed, err := pr.types.PackedSite(job, h); err == nil {
			site = packed
		}
	}
	cut, err := handlers.SplitBy(h, &job.Spec, site)
	if err != nil {
		return nil, err
	}
	return pr.taskBy(ctx, job, &cut)
}

// taskBy is task for a known cutting.
func (pr *Prover) taskBy(ctx context.Context, job *jjm.GridJob, cut *handlers.Cutting) (t *task, err error) {
	t = &task{grid: job.ID, facts: cover.Facts{Made: job.Step.Made, Closed: job.Step.Closed, Over: job.Status.Final()}}
	if t.facts.Unit, err = split.Unit(cut.Splitter); err != nil {
		return nil, err
	}
	t.facts.Spans = spans(cut)
	t.rows = func(ctx context.Context, fn func(cover.Row) error) error {
		return pr.b.Store.Owned(ctx, job.ID, 0, func(first, last int64, local int32) error {
			return fn(cover.Row{First: first, Last: last, Local: local})
		})
	}
	t.events = func(l *jjm.LocalJob) int64 { return cover.EventsOf(&l.Part, nil) }
	t.merged = func(l *jjm.LocalJob) bool { return outputs.Merged(job, l) }
	t.file = func(lfn string) (jjm.File, error) {
		return jjm.File{}, jjm.Errorf(jjm.Internal, "grid job %s reads no files: %s", job.ID, lfn)
	}
	if job.Spec.Master() != nil {
		if err := t.readFiles(ctx, pr.b.Store, job, cut); err != nil {
			return t, err
		}
		if cut.Params.IncludeParents {
			t.file = func(lfn string) (jjm.File, error) { return pr.fileToRecover(ctx, job.ID, lfn) }
		}
	}
	t.retracted, err = pr.b.Store.Retracted(ctx, job.ID)
	t.facts.Retracted = t.retracted
	return t, err
}

// spans are the events or rows of a cutting.
func spans(c *handlers.Cutting) []jjm.Span {
	switch {
	case c.Work.Only != nil:
		return c.Work.Only
	case c.Work.Rows != nil:
		return []jjm.Span{{Count: int64(len(c.Work.Rows))}}
	}
	return []jjm.Span{{First: c.Work.First, Count: c.Work.Events}}
}
