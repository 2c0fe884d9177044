package wire

import (
	"fmt"

	"jjm/internal/jjm"
)

// VerbCopy is the verb "copy": it makes a new grid job from the request of an old grid job, or from the part of one
// local job. The answer is sent after the new grid job is stored.
func VerbCopy() Verb[CopyRequest, CopyAnswer] {
	return Verb[CopyRequest, CopyAnswer]{About{Name: "copy", MaxBytes: MaxRequest,
		Help: "Make a new grid job of what an old one, or one local job, asked for, with edits."}}
}

// maxEdits is the greatest number of edits of one copy.
const maxEdits = 1000

// CopyRequest names the grid job or local job to copy.
type CopyRequest struct {
	Head
	One
	CopyHow
}

// CopyHow describes how the copy differs from the old grid job.
type CopyHow struct {
	// Set are edits KEY=VALUE of the job file; see jobfile.Copy.
	Set []string `json:"set,omitempty"`
	// Key is the request key of the copy; the old grid job's key is not copied.
	Key string `json:"key,omitempty"`
	// Credentials are the credentials for the jobs, if the job file requires credentials.
	Credentials []jjm.Credential `json:"credentials,omitempty"`
	// Rollback decides what happens to the copy if it cannot be prepared or cut; see Submit.
	Rollback jjm.Rollback `json:"rollback,omitempty"`
	// DryRun returns the job file and the decomposition without storing anything.
	DryRun bool `json:"dry_run,omitempty"`
}

// Check requires one reference, and well-formed edits, key and credentials.
func (r CopyRequest) Check() error {
	if err := r.one("copy"); err != nil {
		return err
	}
	if len(r.Set) > maxEdits {
		return jjm.Errorf(jjm.Invalid, "copy.set: %d edits: at most %d", len(r.Set), maxEdits)
	}
	if len(r.Key) > maxWord {
		return jjm.Errorf(jjm.Invalid, "copy.key: %d bytes: at most %d", len(r.Key), maxWord)
	}
	if err := checkRollback("copy", r.Rollback); err != nil {
		return err
	}
	if ps := jjm.CheckCredentials(r.Credentials); len(ps) > 0 {
		return fmt.Errorf("copy: %w", ps.Err())
	}
	return nil
}

// Unsure implements the optional interface that [UnsureOf] reads.
func (r CopyRequest) Unsure() string {
	if r.DryRun {
		return ""
	}
	return "the copy may have been made (jjm list shows it; with a request key, copy again to learn its id)"
}

// CopyAnswer is the answer of "copy".
type CopyAnswer struct {
	Reply
	Copied *Copied `json:"copied,omitempty"`
}

// Check requires the member copied.
func (a CopyAnswer) Check() error { return present("copied", a.Copied != nil) }

// Copied is the result of a copy. Of is the old grid job, and Local its local job if only this local job is copied. All
// other members are about the new grid job.
type Copied struct {
	Of    jjm.GridID `json:"of"`
	Local string     `json:"local,omitempty"`
	Submitted
	// JobFile is the job file of the copy. It is set with DryRun.
	JobFile string `json:"job_file,omitempty"`
}
