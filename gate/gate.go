// Package gate is the door of the daemon: the Unix socket on which gatekeepers
// and people submit, look up and kill grid jobs. It speaks package wire.
//
// It promises that nothing a client does can hurt the daemon or another
// client. A request is bounded in length and in the time to send it, its
// answer in the time without progress to receive it; connections are counted,
// in all and per user; what requests and answers hold in memory is taken from
// one budget; a panic in one request ends that request. A client that goes
// away cancels its request; what it gave up while the daemon hung is not begun.
// Who the caller is comes from the kernel (SO_PEERCRED, unix(7)), never from the
// request.
//
// It leaves to the [Service] behind it what the verbs mean and who may do
// what.
package gate

import (
	"context"
	"io"

	"jjm"
	"jjm/wire"
)

// Caller is who is at the other end of a connection, as the kernel says.
type Caller = wire.Caller

// Service is what the gate is the door of. Its methods are called from many
// goroutines. They return soon after ctx ends: the client went away, the time
// for an answer is over, or the daemon stops. Errors carry the kinds of
// package jjm: Gone for what does not exist, Denied, Invalid with all
// problems, Conflict for what the state of a job does not permit, Busy for
// what can be tried again.
type Service interface {
	// Submit accepts a grid job, or with DryRun explains what would be done.
	// It returns once the job is stored.
	Submit(ctx context.Context, c Caller, s wire.Submit) (wire.Submitted, error)
	// Resolve gives the grid job that a handle names: Gone if it names none,
	// [wire.Refused] if what was submitted under it was refused, Denied if it is
	// another account's.
	Resolve(ctx context.Context, c Caller, h jjm.Handle) (jjm.GridID, error)
	// Lookup answers for each id, in order; what is wrong with one is in its
	// Error.
	Lookup(ctx context.Context, c Caller, ids []jjm.GridID) []wire.Lookup
	// Kill stores the wish and answers for each reference, in order.
	Kill(ctx context.Context, c Caller, refs []jjm.Ref) []wire.Killed
	// Release ends holds and answers for each reference, in order.
	Release(ctx context.Context, c Caller, refs []jjm.Ref) []wire.Released
	// Status answers for each reference, in order: the detail of its grid job,
	// with the local jobs it names. What is wrong with one is in the Error of its
	// Lookup; an error is of the whole.
	Status(ctx context.Context, c Caller, refs []jjm.Ref) ([]wire.Status, error)
	// List gives grid jobs, newest first.
	List(ctx context.Context, c Caller, l wire.List) ([]wire.Status, error)
	// Watch calls send with the state at once, and again at every change but a
	// few times a second at most, until all are final (nil), send fails (its
	// error) or ctx ends (its error). A reference that cannot be answered is an
	// error of the whole.
	Watch(ctx context.Context, c Caller, refs []jjm.Ref, send func([]wire.Status) error) error
	// Record answers a query on the XML record; path "" gives the whole.
	Record(ctx context.Context, c Caller, id jjm.GridID, path string) ([]string, error)
	// Output opens the tar and gives its size, -1 if that is not known. It is a
	// Conflict if the job is not over and partial is not set. The tar is closed
	// twice, and while it is being read, when the client goes away.
	Output(ctx context.Context, c Caller, id jjm.GridID, partial bool) (io.ReadCloser, int64, wire.Output, error)
	// Cat opens one file of one local job. After f gave io.EOF there may be
	// more as long as live says so. An error with live is of a file that may
	// come yet.
	Cat(ctx context.Context, c Caller, ref jjm.Ref, file string) (f io.ReadCloser, live func() bool, err error)
	// History gives the last limit entries of the journal, oldest first; 0 is
	// the service's own limit. The zero reference is the journal of the orders of
	// administrators, which every caller may read.
	History(ctx context.Context, c Caller, ref jjm.Ref, limit int) ([]jjm.JournalEntry, error)
	// Log gives jjm's own log of the grid job.
	Log(ctx context.Context, c Caller, id jjm.GridID) ([]string, error)
	// Verify proves or refutes that the work of a grid job was done exactly once.
	// With the name of a file it makes the job file of a recovery, if something is
	// missing; that is a Conflict while the grid job is not over.
	Verify(ctx context.Context, c Caller, id jjm.GridID, recovery string) (wire.Verified, error)
	// Retract says of outputs of a grid job that they are lost, so that they are
	// made again. It is Gone if there is no such output, and a Conflict if what
	// made them has not completed, or cannot be done again as it stands.
	Retract(ctx context.Context, c Caller, id jjm.GridID, w wire.Retract) (wire.Retracted, error)
	// JobTypes documents the job types of this site.
	JobTypes() []wire.JobType
	// Clusters gives the state of the batch systems.
	Clusters(ctx context.Context) []wire.Cluster
	// Reset closes the circuit breaker of a cluster: Denied to who is no
	// administrator, Gone if there is no such cluster.
	Reset(ctx context.Context, c Caller, cluster string) error
	// Order stores an order and gives what it changed; nil lists the orders in
	// force. To give one is Denied to who is no administrator.
	Order(ctx context.Context, c Caller, o *wire.Order) ([]jjm.Order, error)
	// Renew gives the jobs of a grid job newer credentials, and tells of which
	// kinds they were newer, and which jobs they do not reach.
	Renew(ctx context.Context, c Caller, id jjm.GridID, given []jjm.Credential) (wire.Renewal, error)
	// Remark puts something that a gatekeeper noticed into a grid job's history, unless
	// the last remark said so: Denied to who is no administrator.
	Remark(ctx context.Context, c Caller, id jjm.GridID, text string) (news bool, err error)
	// Advertised tells what the site tells brokers of itself, and where it stands.
	// With now set it is sent first, which is Denied to who is no administrator.
	Advertised(ctx context.Context, c Caller, now bool) (wire.Advertised, error)
	// Notes are what people should know of the site, beside its batch systems.
	Notes() []string
	// Ban keeps somebody out, or with Lift lets them in again; nil lists the
	// bans in force. All of it is Denied to who is no administrator.
	Ban(ctx context.Context, c Caller, b *wire.Ban) (wire.Banned, error)
	// Dataset adds files to a dataset, closes it, or shows some. Those of others
	// are Denied to who is no administrator.
	Dataset(ctx context.Context, c Caller, d wire.Dataset) (wire.Datasets, error)
}
