// Package gatekeeper is the door that gatekeepers use: submit, look up and kill
// grid jobs, each answered within a second whatever the batch system, the disk
// or the daemon does.
//
// The daemon is asked first, within the deadline of the [Door]. If it does not
// answer - it is being restarted, it is stopped, it hangs - a lookup is answered
// from the record of the grid job, with the state that was last known and never
// with a guess, and a submission or a kill is written to the daemon's spool,
// which survives crashes and which the daemon takes in before it answers anybody
// again. So no submission is lost or refused because the daemon is away, and
// none is made twice: its name, the [jjm.Handle], follows from the account and
// the request key, and the same key is the same grid job.
//
// The packages below this one speak the languages of the gatekeepers. They all
// link little, because a gatekeeper starts them thousands of times.
package gatekeeper

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"jjm"
	"jjm/gate/client"
	"jjm/wire"
	"jjm/wire/spool"
)

// Door is the way to one daemon. Its methods may be called from many
// goroutines.
type Door struct {
	// Socket is the daemon's, Records the folder of the records, Spool the
	// letter box. Absolute paths.
	Socket, Records, Spool string
	// Deadline is how long the daemon has to answer before the other way is
	// taken, the records or the spool; default 600 ms, so that all is answered within a second.
	Deadline time.Duration
	// UID is the account that asks: the caller's.
	UID int
	// Now is the clock.
	Now func() time.Time
}

// DefaultDeadline is what the daemon has of the second in which every answer
// comes; the rest is for the records and the spool.
const DefaultDeadline = 600 * time.Millisecond

// Open finds the door of the daemon at a place; $JJM_SPOOL names the spool if
// it is not in the daemon's state folder, and $JJM_DEADLINE is the deadline ("5s").
func Open(p client.Place) *Door {
	box := filepath.Join(p.StateDir(), "spool")
	if dir := p.Getenv("JJM_SPOOL"); dir != "" && p.State == "" {
		box = dir
	}
	return &Door{Socket: p.SocketPath(), Records: p.RecordsDir(), Spool: box,
		Deadline: deadlineOf(p.Getenv("JJM_DEADLINE")), UID: os.Geteuid(), Now: time.Now}
}

// deadlineOf reads a deadline. A gatekeeper gets its answer whatever its
// environment says: what is no duration above 0 counts as not set.
func deadlineOf(text string) time.Duration {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d
	}
	return DefaultDeadline
}

// Job is what a gatekeeper hands over.
type Job struct {
	// Name is the job file's name and Text its content: TOML, or JSON with a
	// name that ends in ".json". Package gatekeeper/plain makes one of a plain
	// job.
	Name, Text string
	// BaseDir is the absolute folder that relative input paths start from.
	BaseDir string
	// Key is the request key, at most 256 bytes: the same key of the same
	// account is the same grid job. It outranks the job file's own; a job
	// without any gets a random one, and a repetition makes another grid job.
	Key string
	// Anew allows the key anew if the grid job that holds it was cancelled.
	Anew bool
	// Origin is kept with the grid job and shown; nil if nothing is known.
	Origin *jjm.Origin
	// Credentials are for the jobs, if the job file asks for them
	// ([ReadCredential]).
	Credentials []jjm.Credential
}

// Receipt answers a submission.
type Receipt struct {
	// Handle is the grid job's name for the gatekeeper, whoever accepted it.
	Handle jjm.Handle
	// ID is its number, 0 if the daemon did not answer.
	ID jjm.GridID
	// Existed is true when the key named a grid job already there.
	Existed bool
	// Spooled is true when the daemon did not answer and the submission waits
	// for it.
	Spooled bool
}

// Submit hands over a grid job. When it returns nil the grid job is accepted for
// good: stored by the daemon, or written to its spool.
//
// The error is Invalid with jjm.Problems if the daemon found mistakes, Denied or
// Conflict if it does not want the job, and Busy if nothing could be accepted
// just now - a full disk: the same call may be repeated with the same key.
// Mistakes in what was spooled are found later: then the grid job has failed,
// and its lookup says why.
func (d *Door) Submit(ctx context.Context, job Job) (Receipt, error) {
	if job.Key == "" {
		job.Key = ownKey(job)
	}
	if job.Key == "" {
		key, err := randomKey()
		if err != nil {
			return Receipt{}, err
		}
		job.Key = key
	}
	s := &wire.Submit{Name: job.Name, Text: job.Text, BaseDir: job.BaseDir, Key: job.Key, Anew: job.Anew,
		Origin:      job.Origin,
		Credentials: job.Credentials}
	req := wire.SubmitRequest{Submit: s}
	if err := checkSubmit(req); err != nil {
		return Receipt{}, err
	}
	a, err := client.Call(ctx, d.daemon(), wire.VerbSubmit(), req)
	switch {
	case err == nil:
		return Receipt{Handle: jjm.HandleOf(d.UID, job.Key), ID: a.Submit.ID, Existed: a.Submit.Existed}, nil
	case !unclear(err):
		return Receipt{}, err
	}
	return d.leave(s, err)
}

// Lookup tells how grid jobs stand, one answer per reference, in order. A
// reference is a handle or an id. What is not known just now is an answer with
// an Error of kind Busy, which says nothing about the grid job; Gone comes from
// the daemon alone. An answer that is not from the daemon has Stale set.
func (d *Door) Lookup(ctx context.Context, refs ...string) []wire.Lookup {
	a, err := client.Call(ctx, d.daemon(), wire.VerbLookup(), wire.LookupRequest{Refs: refs})
	if err == nil && len(a.Lookup) == len(refs) {
		return a.Lookup
	}
	if err == nil {
		err = jjm.Errorf(jjm.Internal, "lookup: %d answers for %d references", len(a.Lookup), len(refs))
	}
	out := make([]wire.Lookup, len(refs))
	if !unclear(err) {
		for i := range out {
			out[i] = failedLookup(refs[i], err)
		}
		return out
	}
	d.remember(refs, out, err)
	return out
}

// Kill asks for the end of grid jobs, one answer per reference, in order. An
// answer without an Error is a promise: the wish is stored, by the daemon or in
// its spool. Killing what is over is a success with NoChange. Gone comes from
// the daemon alone; Busy says that the wish could not be stored.
func (d *Door) Kill(ctx context.Context, refs ...string) []wire.Killed {
	a, err := client.Call(ctx, d.daemon(), wire.VerbKill(), wire.KillRequest{Refs: refs})
	if err == nil && len(a.Kill) == len(refs) {
		return a.Kill
	}
	if err == nil {
		err = jjm.Errorf(jjm.Internal, "kill: %d answers for %d references", len(a.Kill), len(refs))
	}
	out := make([]wire.Killed, len(refs))
	for i, ref := range refs {
		out[i].Ref = ref
		if unclear(err) {
			over, lerr := d.leaveKill(ref, err)
			out[i].NoChange, out[i].Error = over, wire.ErrorOf(lerr)
		} else {
			out[i].Error = wire.ErrorOf(err)
		}
	}
	return out
}

// Ping reports an error unless a submission would be accepted now: the daemon
// answers, or its spool can be written to.
func (d *Door) Ping(ctx context.Context) error {
	_, err := client.Call(ctx, d.daemon(), wire.VerbPing(), wire.PingRequest{})
	if err == nil || !unclear(err) {
		return err
	}
	if aerr := spool.Writable(d.Spool); aerr != nil {
		return jjm.Errorf(jjm.Busy, "%w; and spool %s: %w", err, d.Spool, aerr)
	}
	return nil
}

// daemon is the client of the daemon.
func (d *Door) daemon() *client.Client {
	deadline := d.Deadline
	if deadline == 0 {
		deadline = DefaultDeadline
	}
	return &client.Client{Socket: d.Socket, Timeout: deadline}
}

// unclear reports whether an error leaves open what the daemon thinks: it did
// not answer, it is too busy, its own trouble came in between. Then the other
// way is taken.
func unclear(err error) bool {
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Denied, jjm.Gone, jjm.Conflict:
		return client.IsUnreachable(err)
	}
	return true
}

// checkSubmit finds what the daemon would refuse whatever the site is, since it
// may be away.
func checkSubmit(req wire.SubmitRequest) error {
	if _, err := wire.VerbSubmit().Line(req); err != nil {
		return err
	}
	return req.Check()
}

func randomKey() (string, error) {
	var word [12]byte
	if _, err := rand.Read(word[:]); err != nil {
		return "", jjm.Errorf(jjm.Internal, "make a request key: %w", err)
	}
	return "once-" + hex.EncodeToString(word[:]), nil
}

// note is a wish as the spool keeps it.
func note(verb string, h jjm.Handle, rest string, s *wire.Submit) spool.Note {
	return spool.Note{Verb: verb, Handle: h, Rest: rest, Submit: s}
}
