// Package gatekeeper provides the functions by which gatekeepers submit, look up and kill grid jobs. It promises an
// answer within a second, even if the batch system, the disk or the daemon hangs.
//
// A [Client] asks the daemon first, within a deadline. If the daemon does not answer, because
// it is stopped or hangs:
//
//	request       | what happens
//	lookup        | answered from the grid job's record: the last known state, marked as stale, never a guess
//	submit, kill  | written to the daemon's spool, which survives crashes. The daemon reads it before it answers
//	              | any request
//
// So no submission is lost or refused because the daemon does not answer. No submission is carried out twice either:
// the name of a grid job, the [jjm.Handle], is computed from the account and the request key, and the same key always
// means the same grid job.
//
// The packages below this package translate the job descriptions and protocols of the gatekeepers. All of them import
// little, because a gatekeeper starts them thousands of times. The daemon decides whether a request is allowed, and
// what it means.
package gatekeeper

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/spool"
)

// Client sends a gatekeeper's requests to one daemon. If the daemon does not answer, it uses the daemon's spool and
// records. Goroutines may share a Client.
type Client struct {
	// Socket is the daemon's socket, Records the folder of the records, Spool the folder of
	// the spool. All are absolute.
	Socket, Records, Spool string
	// Deadline is how long the daemon has to answer before the Client uses the spool or the
	// records. Default: DefaultDeadline.
	Deadline time.Duration
	// UID is the account of the caller.
	UID int
	// Now returns the current time.
	Now func() time.Time
}

// DefaultDeadline is the time for the daemon within the second that an answer may take. The remaining time is for the
// records and the spool.
const DefaultDeadline = 600 * time.Millisecond

// Open returns the Client to the daemon at p. $JJM_SPOOL names the spool if it is not in the daemon's state folder; the
// variable is ignored if p.State is set. $JJM_DEADLINE is the deadline ("5s").
func Open(p client.Place) *Client {
	box := filepath.Join(p.StateDir(), "spool")
	if dir := p.Getenv("JJM_SPOOL"); dir != "" && p.State == "" {
		box = dir
	}
	return &Client{Socket: p.SocketPath(), Records: p.RecordsDir(), Spool: box,
		Deadline: deadlineOf(p.Getenv("JJM_DEADLINE")), UID: os.Geteuid(), Now: time.Now}
}

// deadlineOf parses a deadline. It returns the default for a text that is not a positive duration, because a wrong
// environment must not prevent a gatekeeper from getting its answer.
func deadlineOf(text string) time.Duration {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d
	}
	return DefaultDeadline
}

// Job is a grid job to submit.
type Job struct {
	// Name is the name of the job file and Text its content: TOML, or JSON if the name ends in ".json". Package
	// internal/gatekeeper/plain makes both for a plain job.
	Name, Text string
	// BaseDir is the absolute folder to which relative input paths refer.
	BaseDir string
	// Key is the request key, at most 256 bytes. Within one account, the same key means the same grid job. It overrides
	// the key in the job file. If both are missing, Submit chooses a random key, and a repeated call creates another grid
	// job.
	Key string
	// Anew permits to use the key again if its grid job was cancelled.
	Anew bool
	// Origin is stored with the grid job and shown to people. It is nil if nothing is known about the origin.
	Origin *jjm.Origin
	// Credentials are used if the job file requests them for the jobs; see [ReadCredential].
	Credentials []jjm.Credential
}

// Receipt is the result of a submission.
type Receipt struct {
	// Handle is the gatekeeper's name for the grid job. It does not depend on whether the daemon or the spool accepted the
	// submission.
	Handle jjm.Handle
	// ID is the number of the grid job, 0 if the daemon did not answer.
	ID jjm.GridID
	// Existed is set if the key named an existing grid job.
	Existed bool
	// Spooled is set if the daemon did not answer and the submission waits in the spool.
	Spooled bool
}

// Submit submits a grid job. If it returns nil, the grid job is stored by the daemon or
// written to its spool, and will not be lost.
//
//	error             | cause
//	Invalid           | the daemon found mistakes; they are in the error as jjm.Problems
//	Denied, Conflict  | the daemon does not accept the job
//	Busy              | nothing could be stored now, as when the disk is full. The call may be repeated with the same key
//
// Mistakes in a submission that went to the spool are found later. The grid job has then failed, and its lookup has the
// reason.
func (d *Client) Submit(ctx context.Context, job Job) (Receipt, error) {
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
	case !undecided(err):
		return Receipt{}, err
	}
	return d.spoolSubmit(s, err)
}

// Lookup returns the status of grid jobs, one answer per reference, in order. A reference is a handle or an id. If a
// status is not known now, its answer has an Error of kind Busy, which is no information about the grid job. Only the
// daemon returns answers of kind Gone. Answers that do not come from the daemon have Stale set.
func (d *Client) Lookup(ctx context.Context, refs ...string) []wire.Lookup {
	a, err := client.Call(ctx, d.daemon(), wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(refs...)})
	if err == nil && len(a.Lookup) == len(refs) {
		return a.Lookup
	}
	if err == nil {
		err = jjm.Errorf(jjm.Internal, "lookup: %d answers for %d references", len(a.Lookup), len(refs))
	}
	out := make([]wire.Lookup, len(refs))
	if !undecided(err) {
		for i := range out {
			out[i] = failedLookup(refs[i], err)
		}
		return out
	}
	d.lookupOffline(refs, out, err)
	return out
}

// Kill requests the daemon to end grid jobs, and returns one answer per reference, in order. If an answer has no Error,
// the request is stored, by the daemon or in its spool. To kill a job that is already over is a success with NoChange
// set. Only the daemon returns answers of kind Gone. An answer of kind Busy means that the request could not be stored.
func (d *Client) Kill(ctx context.Context, refs ...string) []wire.Killed {
	req := wire.KillRequest{Many: wire.Refs(refs...), KillHow: wire.KillHow{First: true}}
	a, err := client.Call(ctx, d.daemon(), wire.VerbKill(), req)
	if err == nil && len(a.Kill) == len(refs) {
		return a.Kill
	}
	if err == nil {
		err = jjm.Errorf(jjm.Internal, "kill: %d answers for %d references", len(a.Kill), len(refs))
	}
	out := make([]wire.Killed, len(refs))
	for i, ref := range refs {
		out[i].Ref = ref
		if undecided(err) {
			over, lerr := d.spoolKill(ref, err)
			out[i].NoChange, out[i].Error = over, wire.ErrorOf(lerr)
		} else {
			out[i].Error = wire.ErrorOf(err)
		}
	}
	return out
}

// Ping returns nil if a submission would be accepted now, because the daemon answers or its spool is writable.
func (d *Client) Ping(ctx context.Context) error {
	_, err := client.Call(ctx, d.daemon(), wire.VerbPing(), wire.PingRequest{})
	if err == nil || !undecided(err) {
		return err
	}
	if aerr := spool.Writable(d.Spool); aerr != nil {
		return jjm.Errorf(jjm.Busy, "%w; and spool %s: %w", err, d.Spool, aerr)
	}
	return nil
}

// daemon returns a client of the daemon.
func (d *Client) daemon() *client.Client {
	deadline := d.Deadline
	if deadline == 0 {
		deadline = DefaultDeadline
	}
	return &client.Client{Socket: d.Socket, Timeout: deadline}
}

// undecided reports whether err leaves the decision of the daemon unknown: the daemon did not answer, is too busy, or
// had an internal error. The Client then uses the spool and the records.
func undecided(err error) bool {
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Denied, jjm.Gone, jjm.Conflict:
		return client.IsUnreachable(err)
	}
	return true
}

// checkSubmit returns the mistakes that a daemon would refuse at every site. It is called because the daemon may not be
// running to find them.
func checkSubmit(req wire.SubmitRequest) error {
	if _, err := wire.VerbSubmit().Line(req); err != nil {
		return err
	}
	return req.Check()
}

// randomKey returns a random request key.
func randomKey() (string, error) {
	var word [12]byte
	if _, err := rand.Read(word[:]); err != nil {
		return "", jjm.Errorf(jjm.Internal, "make a request key: %w", err)
	}
	return "once-" + hex.EncodeToString(word[:]), nil
}

// note returns an entry to write to the spool.
func note(verb string, h jjm.Handle, rest string, s *wire.Submit) spool.Note {
	return spool.Note{Verb: verb, Handle: h, Rest: rest, Submit: s}
}
