package engine

import (
	"context"
	"io"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// These are the verbs of the daemon's socket. Each calls a method of one room, which has the details.

// Submit checks a job file and stores the grid job; see package gridjob.
func (e *Engine) Submit(ctx context.Context, caller wire.Caller, req wire.Submit) (wire.Submitted, error) {
	return e.jobs.Submit(ctx, caller, req)
}

// Copy makes a new grid job from the request of an old grid job, with edits; see package gridjob.
func (e *Engine) Copy(ctx context.Context, caller wire.Caller, id jjm.GridID, how wire.CopyHow) (wire.Copied, error) {
	return e.jobs.Copy(ctx, caller, id, how)
}

// Renew replaces the credentials of a grid job's local jobs by newer ones.
func (e *Engine) Renew(ctx context.Context, caller wire.Caller, id jjm.GridID, given []jjm.Credential) (wire.Renewal,
	error) {
	return e.jobs.Renew(ctx, caller, id, given)
}

// Kill stores that grid jobs or local jobs are to be killed. The result has an entry for
// each reference, in order.
func (e *Engine) Kill(ctx context.Context, caller wire.Caller, refs []jjm.Ref, how wire.KillHow) []wire.Killed {
	return e.wishes.Kill(ctx, caller, refs, how)
}

// Select returns the jobs that patterns and filters select; see package choice.
func (e *Engine) Select(ctx context.Context, caller wire.Caller, req wire.SelectRequest) (wire.Selected, error) {
	return e.chooser.Select(ctx, caller, req)
}

// Resubmit runs failed and killed local jobs again, and reopens ended grid jobs for that. The
// result has an entry for each grid job.
func (e *Engine) Resubmit(ctx context.Context, caller wire.Caller, refs []jjm.Ref,
	how wire.ResubmitHow) []wire.Resubmitted {
	return e.reopener.Resubmit(ctx, caller, refs, how)
}

// Remove orders the removal of ended grid jobs. The result has an entry for each grid job.
func (e *Engine) Remove(ctx context.Context, caller wire.Caller, refs []jjm.Ref, force, dry bool) []wire.Removed {
	return e.remover.Remove(ctx, caller, refs, force, dry)
}

// Remark adds a gatekeeper's text to a grid job's history; news is false if the text was not
// added, because it is the last remark already or the grid job has ended.
func (e *Engine) Remark(ctx context.Context, caller wire.Caller, id jjm.GridID, text string) (news bool, err error) {
	return e.wishes.Remark(ctx, caller, id, text)
}

// Release releases held local jobs. The result has an entry for each reference, in order.
func (e *Engine) Release(ctx context.Context, caller wire.Caller, refs []jjm.Ref, dry bool) []wire.Released {
	return e.wishes.Release(ctx, caller, refs, dry)
}

// Dataset adds files to a dataset, marks or lists its files, closes it, or removes or shows datasets.
func (e *Engine) Dataset(ctx context.Context, caller wire.Caller, d wire.Dataset) (wire.Datasets, error) {
	return e.datasets.Dataset(ctx, caller, d)
}

// Retract declares outputs of a grid job lost, so that their work is done again.
func (e *Engine) Retract(ctx context.Context, caller wire.Caller, id jjm.GridID, w wire.Retract) (wire.Retracted,
	error) {
	return e.reopener.Retract(ctx, caller, id, w)
}

// Verify proves or refutes that the work of a grid job was done exactly once. recovery is
// the path for the job file of a recovery, "" for none.
func (e *Engine) Verify(ctx context.Context, caller wire.Caller, id jjm.GridID, recovery string) (wire.Verified,
	error) {
	return e.prover.Verify(ctx, caller, id, recovery)
}

// Replay asks the grid job's type again how to prepare and cut the grid job, and compares the
// answers with the stored plan and parts.
func (e *Engine) Replay(ctx context.Context, caller wire.Caller, id jjm.GridID) (wire.Replayed, error) {
	return e.prover.Replay(ctx, caller, id)
}

// Order stores or ends an order, and returns the orders that it changed. A nil order lists the
// orders in force.
func (e *Engine) Order(ctx context.Context, caller wire.Caller, o *wire.Order) ([]jjm.Order, error) {
	return e.site.Order(ctx, caller, o)
}

// Ban stores or lifts a ban, and returns this ban. A nil ban lists the bans in force.
func (e *Engine) Ban(ctx context.Context, caller wire.Caller, b *wire.Ban) (wire.Banned, error) {
	return e.site.Ban(ctx, caller, b)
}

// Low returns why no new work is accepted, for people: a part of the site is lost, or a file
// system lacks space; else "".
func (e *Engine) Low() string { return e.state.Low() }

// Reset closes the circuit breaker of a cluster.
func (e *Engine) Reset(ctx context.Context, caller wire.Caller, name string) error {
	return e.clusters.Reset(ctx, caller, name)
}

// Waiting returns the number of local jobs that wait to be submitted.
func (e *Engine) Waiting() int { return e.clusters.Waiting() }

// TakeIn carries out the requests that gatekeepers left in the spool while the daemon was
// down.
func (e *Engine) TakeIn(ctx context.Context) { e.intake.TakeIn(ctx) }

// Resolve returns the grid job that a handle names.
func (e *Engine) Resolve(ctx context.Context, caller wire.Caller, h jjm.Handle) (jjm.GridID, error) {
	return e.answers.Resolve(ctx, caller, h)
}

// Lookup returns the status of each grid job, as gatekeepers see it.
func (e *Engine) Lookup(ctx context.Context, caller wire.Caller, ids []jjm.GridID) []wire.Lookup {
	return e.answers.Lookup(ctx, caller, ids)
}

// Status returns the details of grid jobs, and of the local jobs that refs select.
func (e *Engine) Status(ctx context.Context, caller wire.Caller, refs []jjm.Ref) ([]wire.Status, error) {
	return e.answers.Status(ctx, caller, refs)
}

// List returns grid jobs that the caller may see, newest first.
func (e *Engine) List(ctx context.Context, caller wire.Caller, l wire.List) ([]wire.Status, error) {
	return e.answers.List(ctx, caller, l)
}

// Watch calls send with the status of the grid jobs immediately and after every change, until
// they are over, send fails, or ctx ends.
func (e *Engine) Watch(ctx context.Context, caller wire.Caller, refs []jjm.Ref, send func([]wire.Status) error) error {
	return e.answers.Watch(ctx, caller, refs, send)
}

// Record evaluates an XPath query on the record of a grid job.
func (e *Engine) Record(ctx context.Context, caller wire.Caller, id jjm.GridID, path string) ([]string, error) {
	return e.answers.Record(ctx, caller, id, path)
}

// Records evaluates an XPath query on the records of the selected grid jobs, and calls
// send for each answer.
func (e *Engine) Records(ctx context.Context, caller wire.Caller, path string, of wire.Selection,
	send func(wire.Found) error) error {
	return e.answers.RecordsOf(ctx, caller, path, of, send)
}

// Output opens an output tar of a grid job, or a single file, and returns its size in bytes.
func (e *Engine) Output(ctx context.Context, caller wire.Caller, ref jjm.Ref, want wire.Wanted) (io.ReadCloser,
	int64, wire.Output, error) {
	return e.answers.Output(ctx, caller, ref, want)
}

// Cat opens one file of one local job. The function returned reports whether the file may
// still grow.
func (e *Engine) Cat(ctx context.Context, caller wire.Caller, ref jjm.Ref, file wire.CatFile) (io.ReadCloser,
	func() bool, error) {
	return e.answers.Cat(ctx, caller, ref, file)
}

// ListFiles lists the files of an attempt of one local job, by default of the last attempt; more is set if there are
// more files.
func (e *Engine) ListFiles(ctx context.Context, caller wire.Caller, ref jjm.Ref, attempt *int32) (files []jjm.JobFile,
	more bool, err error) {
	return e.answers.ListFiles(ctx, caller, ref, attempt)
}

// Attempts returns the attempts of one local job in order.
func (e *Engine) Attempts(ctx context.Context, caller wire.Caller, ref jjm.Ref) ([]wire.Attempt, error) {
	return e.answers.Attempts(ctx, caller, ref)
}

// Explain returns an attempt of one local job, and what the rules say about it. If attempt is nil it is
// the attempt that ended last.
func (e *Engine) Explain(ctx context.Context, caller wire.Caller, ref jjm.Ref, attempt *int32) (wire.Explained,
	error) {
	return e.answers.Explain(ctx, caller, ref, attempt)
}

// History returns the last entries of the journal about a grid job or local job, or about none,
// at most limit.
func (e *Engine) History(ctx context.Context, caller wire.Caller, ref jjm.Ref, limit int) ([]jjm.JournalEntry, error) {
	return e.answers.History(ctx, caller, ref, limit)
}

// Log returns the lines of jjm's own log of a grid job.
func (e *Engine) Log(ctx context.Context, caller wire.Caller, id jjm.GridID) ([]string, error) {
	return e.answers.Log(ctx, caller, id)
}

// JobTypes returns the job types with their documentation.
func (e *Engine) JobTypes() []wire.JobType { return e.answers.JobTypes() }

// Clusters returns the state of the batch systems as a caller may see it.
func (e *Engine) Clusters(ctx context.Context, caller wire.Caller) []wire.Cluster {
	return e.answers.Clusters(ctx, caller)
}
