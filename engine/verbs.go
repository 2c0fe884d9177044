package engine

import (
	"context"
	"io"

	"jjm"
	"jjm/wire"
)

// What the daemon's socket offers, each the work of one room.

// Submit checks a job file and stores the grid job; see [jjm/engine/gridjob].
func (e *Engine) Submit(ctx context.Context, caller wire.Caller, req wire.Submit) (wire.Submitted, error) {
	return e.jobs.Submit(ctx, caller, req)
}

// Renew returns the jobs of a grid job newer credentials.
func (e *Engine) Renew(ctx context.Context, caller wire.Caller, id jjm.GridID, given []jjm.Credential) (wire.Renewal,
	error) {
	return e.jobs.Renew(ctx, caller, id, given)
}

// Kill stores the wish to end grid jobs or local jobs.
func (e *Engine) Kill(ctx context.Context, caller wire.Caller, refs []jjm.Ref) []wire.Killed {
	return e.wishes.Kill(ctx, caller, refs)
}

// Remark puts something that a gatekeeper noticed into a grid job's history.
func (e *Engine) Remark(ctx context.Context, caller wire.Caller, id jjm.GridID, text string) (news bool, err error) {
	return e.wishes.Remark(ctx, caller, id, text)
}

// Release ends holds for a person.
func (e *Engine) Release(ctx context.Context, caller wire.Caller, refs []jjm.Ref) []wire.Released {
	return e.wishes.Release(ctx, caller, refs)
}

// Dataset adds files to a dataset, marks some of them, closes it, or shows some.
func (e *Engine) Dataset(ctx context.Context, caller wire.Caller, d wire.Dataset) (wire.Datasets, error) {
	return e.datasets.Dataset(ctx, caller, d)
}

// Retract says of outputs of a grid job that they are lost.
func (e *Engine) Retract(ctx context.Context, caller wire.Caller, id jjm.GridID, w wire.Retract) (wire.Retracted,
	error) {
	return e.feeder.Retract(ctx, caller, id, w)
}

// Verify proves or refutes that the work of a grid job was done exactly once.
func (e *Engine) Verify(ctx context.Context, caller wire.Caller, id jjm.GridID, recovery string) (wire.Verified,
	error) {
	return e.prover.Verify(ctx, caller, id, recovery)
}

// Replay asks the type of a grid job anew, and holds what it says against what is stored.
func (e *Engine) Replay(ctx context.Context, caller wire.Caller, id jjm.GridID) (wire.Replayed, error) {
	return e.prover.Replay(ctx, caller, id)
}

// Order stores what an administrator orders; nil lists the orders in force.
func (e *Engine) Order(ctx context.Context, caller wire.Caller, o *wire.Order) ([]jjm.Order, error) {
	return e.site.Order(ctx, caller, o)
}

// Ban keeps somebody out, or lets them in again; nil lists the bans in force.
func (e *Engine) Ban(ctx context.Context, caller wire.Caller, b *wire.Ban) (wire.Banned, error) {
	return e.site.Ban(ctx, caller, b)
}

// Low says why no new work is taken for want of space, "" if it is.
func (e *Engine) Low() string { return e.state.Low() }

// Reset closes the circuit breaker of a cluster.
func (e *Engine) Reset(ctx context.Context, caller wire.Caller, name string) error {
	return e.clusters.Reset(ctx, caller, name)
}

// Waiting counts the local jobs that no batch system has got yet.
func (e *Engine) Waiting() int { return e.clusters.Waiting() }

// TakeIn takes in what gatekeepers left while the daemon was away.
func (e *Engine) TakeIn(ctx context.Context) { e.intake.TakeIn(ctx) }

// Resolve returns the grid job that a handle names.
func (e *Engine) Resolve(ctx context.Context, caller wire.Caller, h jjm.Handle) (jjm.GridID, error) {
	return e.answers.Resolve(ctx, caller, h)
}

// Lookup answers with the one honest status of each grid job.
func (e *Engine) Lookup(ctx context.Context, caller wire.Caller, ids []jjm.GridID) []wire.Lookup {
	return e.answers.Lookup(ctx, caller, ids)
}

// Status returns the detail of grid jobs and of the local jobs asked for.
func (e *Engine) Status(ctx context.Context, caller wire.Caller, refs []jjm.Ref) ([]wire.Status, error) {
	return e.answers.Status(ctx, caller, refs)
}

// List returns grid jobs that the caller may see, newest first.
func (e *Engine) List(ctx context.Context, caller wire.Caller, l wire.List) ([]wire.Status, error) {
	return e.answers.List(ctx, caller, l)
}

// Watch sends the state of the grid jobs at once and after every change.
func (e *Engine) Watch(ctx context.Context, caller wire.Caller, refs []jjm.Ref, send func([]wire.Status) error) error {
	return e.answers.Watch(ctx, caller, refs, send)
}

// Record queries the XML record.
func (e *Engine) Record(ctx context.Context, caller wire.Caller, id jjm.GridID, path string) ([]string, error) {
	return e.answers.Record(ctx, caller, id, path)
}

// Records asks the records of many grid jobs.
func (e *Engine) Records(ctx context.Context, caller wire.Caller, path string, of wire.Selection,
	send func(wire.Found) error) error {
	return e.answers.RecordsOf(ctx, caller, path, of, send)
}

// Output opens the tar.
func (e *Engine) Output(ctx context.Context, caller wire.Caller, id jjm.GridID, partial bool) (io.ReadCloser, int64,
	wire.Output, error) {
	return e.answers.Output(ctx, caller, id, partial)
}

// Cat opens one file of one local job.
func (e *Engine) Cat(ctx context.Context, caller wire.Caller, ref jjm.Ref, file string) (io.ReadCloser, func() bool,
	error) {
	return e.answers.Cat(ctx, caller, ref, file)
}

// History reads the journal.
func (e *Engine) History(ctx context.Context, caller wire.Caller, ref jjm.Ref, limit int) ([]jjm.JournalEntry, error) {
	return e.answers.History(ctx, caller, ref, limit)
}

// Log is jjm's own log of a grid job.
func (e *Engine) Log(ctx context.Context, caller wire.Caller, id jjm.GridID) ([]string, error) {
	return e.answers.Log(ctx, caller, id)
}

// JobTypes documents the job types.
func (e *Engine) JobTypes() []wire.JobType { return e.answers.JobTypes() }

// Clusters returns the state of the batch systems.
func (e *Engine) Clusters(ctx context.Context) []wire.Cluster { return e.answers.Clusters(ctx) }
