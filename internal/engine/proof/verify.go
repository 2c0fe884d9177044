package proof

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"jjm/handlers"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/cover"
	"jjm/internal/work/split"
)

// Verify compares the work of a grid job with the cover ledger and the ends of its local jobs and of its recoveries'
// local jobs. It reports the work and the outputs that were left out. Outputs change the verdict only if they were to
// be merged. If Recovery is not "", it is the name of a job file that Verify makes for the missing work; then the error
// is of kind Conflict if the grid job has not ended.
func (pr *Prover) Verify(ctx context.Context, caller wire.Caller, r wire.VerifyRequest) (wire.VerifyAnswer, error) {
	v, err := pr.verify(ctx, caller, r.Grid(), r.Recovery)
	return wire.VerifyAnswer{Verify: &v}, err
}

func (pr *Prover) verify(ctx context.Context, caller wire.Caller, id jjm.GridID, recovery string) (wire.Verified,
	error) {
	job, err := pr.s.Find(ctx, caller, id)
	if err != nil {
		return wire.Verified{}, err
	}
	if recovery != "" {
		if err := pr.Recoverable(ctx, &job); err != nil {
			return wire.Verified{}, err
		}
	}
	v := wire.Verified{ID: id, Failed: job.Counts[jjm.Failed], Killed: job.Counts[jjm.Killed]}
	err = pr.b.Store.LostInputs(ctx, id, func(store.LostInput) error {
		v.LostInputs++
		return nil
	})
	if err != nil {
		return v, err
	}
	t, recoveries, err := pr.joinedTask(ctx, caller, &job)
	if err != nil {
		return v, fmt.Errorf("verify grid job %s: %w", id, err)
	}
	v.Recoveries = recoveries
	r := cover.NewRecovery(job.Spec, t.facts.Unit, id, t.made(), len(v.Recoveries), job.BaseDir)
	r.Generation = laterGeneration(&job)
	each := r.Add
	if recovery == "" {
		each = nil
	}
	if v.Report, err = pr.prove(ctx, t, each); err != nil {
		return v, err
	}
	unknownWork(&job, &v.Report)
	v.Left = append(v.Left, t.left...)
	v.LeavesOut = v.Left.Reasons()
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
	v.Anew = t.names(w.Redone)
	return v, err
}

// unknownWork changes the verdict on a grid job that broke before its work was known: that no work is missing proves
// nothing then.
func unknownWork(job *jjm.GridJob, r *cover.Report) {
	if job.Status != jjm.Broken || r.Verdict != cover.Proven || r.Expected > 0 {
		return
	}
	r.Verdict, r.Proof, r.Why = cover.Undecidable, "", "nothing was done: it is broken: "+job.Reason
}

// task is a step to verify: its work, and functions that read its ledger and local jobs.
type task struct {
	grid  jjm.GridID
	step  int
	facts cover.Facts
	// files are the files of the master dataset, nil for events and rows.
	files iter.Seq2[cover.File, error]
	// rows calls fn with each row of the ledger, in its order.
	rows func(ctx context.Context, fn func(cover.Row) error) error
	// events returns the number of events in a local job's input, 0 = not known.
	events func(l *jjm.LocalJob) int64
	// file returns the description of a file for the job file of a recovery.
	file func(lfn string) (jjm.File, error)
	// merged reports whether the outputs of a completed local job are in a merged file.
	merged func(l *jjm.LocalJob) bool
	// retracted are the completed local jobs whose outputs were retracted, each with the reason. These local jobs do
	// not count.
	retracted map[int32]string
	// joined are the recoveries that are verified with the task, nil = none.
	joined *joined
	// left are the outputs that the local jobs left out, once jobsOf has read their results.
	left jjm.LeftList
}

// prove verifies a task and returns the report. each, which may be nil, is called with every finding.
func (pr *Prover) prove(ctx context.Context, t *task, each func(cover.Finding) error) (cover.Report, error) {
	jobs := func(fn func(cover.Job) error) error { return pr.jobsOf(ctx, t, fn) }
	rows := func(fn func(cover.Row) error) error { return t.rowsOf(ctx, fn) }
	facts := t.facts
	if t.joined != nil {
		jobs, rows = t.joined.with(&facts, jobs, rows)
	}
	return cover.Verify(facts, stream(jobs), t.files, stream(rows), each)
}

// jobsOf calls fn with each local job of a task. Local jobs made since the task was read
// are left out.
func (pr *Prover) jobsOf(ctx context.Context, t *task, fn func(cover.Job) error) error {
	t.left = nil
	return pr.b.Store.ResultsOf(ctx, t.grid, func(l jjm.LocalJob, ev *jjm.Evidence) error {
		if int(l.ID.N) >= t.facts.Made {
			return nil
		}
		for _, left := range outputs.LeftOut(&l, ev, t.retracted) {
			t.left.Add(left)
		}
		j := cover.Job{N: l.ID.N, Other: int(l.Step) != t.step, State: l.State.Unfrozen(), Count: l.Part.Count,
			Events: t.events(&l), Processed: processed(&l, ev), Merged: t.merged(&l), Exit: l.Exit}
		if _, lost := t.retracted[l.ID.N]; lost || l.IsForced() {
			j.State, j.Processed, j.Forced = jjm.Failed, nil, l.IsForced()
		}
		return fn(j)
	})
}

// rowsOf calls fn with each row of the ledger of a task that belongs to a local job of
// jobsOf.
func (t *task) rowsOf(ctx context.Context, fn func(cover.Row) error) error {
	return t.rows(ctx, func(r cover.Row) error {
		if int(r.Local) >= t.facts.Made {
			return nil
		}
		return fn(r)
	})
}

// processed returns the amount of work that the application of a completed local job reports: in the wrapper's result
// or, if there is no result, in the log file.
func processed(l *jjm.LocalJob, ev *jjm.Evidence) *jjm.Processed {
	switch {
	case !l.State.IsCompleted() || ev == nil:
		return nil
	case ev.Result != nil:
		return ev.Result.Processed
	}
	return glf.Parse([]byte(ev.GLF)).Processed()
}

// errStopped stops the function each of stream when the reader of the iterator stops.
var errStopped = errors.New("stopped")

// stream returns an iterator over the values with which the function each calls its argument.
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

// task returns the work of a grid job as a task. It asks the job type again how to cut the work. The result is always
// the same, because it depends only on the stored specification and the packed inputs.
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

// taskBy returns the same as the method task, for a cutting that is already known.
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

// spans returns the ranges of events or rows that a cutting divides.
func spans(c *handlers.Cutting) []jjm.Span {
	switch {
	case c.Work.Only != nil:
		return c.Work.Only
	case c.Work.Rows != nil:
		return []jjm.Span{{Count: int64(len(c.Work.Rows))}}
	}
	return []jjm.Span{{First: c.Work.First, Count: c.Work.Events}}
}
