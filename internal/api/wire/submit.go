package wire

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// VerbSubmit is the verb "submit": it submits a grid job. The answer is sent after the grid job is stored.
func VerbSubmit() Verb[SubmitRequest, SubmitAnswer] {
	return Verb[SubmitRequest, SubmitAnswer]{About{Name: "submit", MaxBytes: MaxRequest, Spooled: true,
		Help: "Accept a grid job, or only explain what would be done."}}
}

// SubmitRequest contains a job file.
type SubmitRequest struct {
	Head
	Submit *Submit `json:"submit,omitempty"`
}

// Check checks the form of Submit.
func (r SubmitRequest) Check() error {
	if r.Submit == nil {
		return jjm.Errorf(jjm.Invalid, "submit: member submit is missing: want {\"name\",\"text\",\"base_dir\"}")
	}
	return r.Submit.check()
}

// Unsure implements the optional interface that [UnsureOf] reads. A dry run stores nothing, so a lost answer does no
// harm.
func (r SubmitRequest) Unsure() string {
	if r.Submit == nil || r.Submit.DryRun {
		return ""
	}
	return "the grid job may have been accepted (submit again with the same request key to learn its id)"
}

// SubmitAnswer is the answer of "submit".
type SubmitAnswer struct {
	Reply
	Submit *Submitted `json:"submit,omitempty"`
}

// Check requires the member submit.
func (a SubmitAnswer) Check() error { return present("submit", a.Submit != nil) }

// Submit is a job file with its name, its folder, its credentials and options.
type Submit struct {
	// Name is the name of the file. Messages contain the name, and its ending distinguishes TOML from JSON. Text is the
	// content.
	Name string `json:"name"`
	Text string `json:"text"`
	// BaseDir is the absolute folder to which relative input paths refer.
	BaseDir string `json:"base_dir"`
	// Key overrides the request key of the job file.
	Key string `json:"key,omitempty"`
	// Anew permits a second use of the key if its grid job was cancelled, in the same way as key_reuse of the job file.
	Anew bool `json:"anew_after_cancel,omitempty"`
	// After and AfterEnd replace the job file's values, unless After is empty.
	After    []jjm.GridID `json:"after,omitempty"`
	AfterEnd string       `json:"after_end,omitempty"`
	// KeepGoing replaces keep_going of the job file, unless it is nil.
	KeepGoing *bool `json:"keep_going,omitempty"`
	// Origin is where the grid job comes from, as the gatekeeper reports it.
	Origin *jjm.Origin `json:"origin,omitempty"`
	// Credentials are the credentials for the jobs, if the job file requires credentials. If the key names an existing
	// grid job, newer credentials replace its stored credentials.
	Credentials []jjm.Credential `json:"credentials,omitempty"`
	// Rollback decides what happens to the grid job if it cannot be prepared or cut. Gatekeepers must not set it.
	Rollback jjm.Rollback `json:"rollback,omitempty"`
	// Again is a kept grid job (RollbackKeep), which is submitted again under its id; every other member is empty.
	Again jjm.GridID `json:"again,omitempty"`
	// DryRun returns the decomposition and the decision without storing anything.
	DryRun bool `json:"dry_run,omitempty"`
}

// check returns the first mistake that can be found without knowledge of the site.
func (s *Submit) check() error {
	if s.Again != 0 {
		return s.checkAgain()
	}
	switch {
	case s.Text == "":
		return jjm.Errorf(jjm.Invalid, "submit.text: the job file is empty")
	case len(s.BaseDir) > maxPath || strings.ContainsRune(s.BaseDir, 0) || !strings.HasPrefix(s.BaseDir, "/"):
		return jjm.Errorf(jjm.Invalid, "submit.base_dir %.80q: want an absolute path", s.BaseDir)
	case len(s.Name) > maxPath || strings.ContainsRune(s.Name, 0):
		return jjm.Errorf(jjm.Invalid, "submit.name %.80q: want a file name", s.Name)
	case len(s.Key) > maxWord:
		return jjm.Errorf(jjm.Invalid, "submit.key: %d bytes: at most %d", len(s.Key), maxWord)
	}
	if err := s.checkRollback(); err != nil {
		return err
	}
	if len(s.After) > jjm.MaxAfter || len(s.AfterEnd) > maxWord {
		return jjm.Errorf(jjm.Invalid, "submit.after: want at most %d grid jobs, and one of the words of after_end",
			jjm.MaxAfter)
	}
	if s.AfterEnd != "" && len(s.After) == 0 {
		return jjm.Errorf(jjm.Invalid, "submit.after_end: has no effect without submit.after")
	}
	if ps := jjm.CheckCredentials(s.Credentials); len(ps) > 0 {
		return fmt.Errorf("submit: %w", ps.Err())
	}
	if ps := s.Origin.Problems(); len(ps) > 0 {
		return fmt.Errorf("submit: %w", ps.Err())
	}
	return nil
}

// checkRollback checks the member Rollback.
func (s *Submit) checkRollback() error {
	if err := checkRollback("submit", s.Rollback); err != nil {
		return err
	}
	if s.Rollback != "" && s.Origin != nil {
		return jjm.Errorf(jjm.Invalid, "submit.rollback: is not for a gatekeeper (submit.origin), which needs an end: "+
			"leave one of them out")
	}
	return nil
}

// checkRollback returns an error if the member rollback of a verb's request is neither empty nor a known word.
func checkRollback(verb string, r jjm.Rollback) error {
	switch r {
	case "", jjm.RollbackRemove, jjm.RollbackKeep:
		return nil
	}
	return jjm.Errorf(jjm.Invalid, "%s.rollback %.80q: want %s or %s", verb, r, jjm.RollbackRemove, jjm.RollbackKeep)
}

// checkAgain checks the form of a request to submit a kept grid job again.
func (s *Submit) checkAgain() error {
	switch {
	case s.Again < 0:
		return jjm.Errorf(jjm.Invalid, "submit.again %d: want the number of a grid job, such as 17", s.Again)
	case s.Text != "" || s.Key != "" || s.Anew || s.DryRun || s.Rollback != "" || s.AfterEnd != "" || s.Origin != nil ||
		len(s.After) > 0 || len(s.Credentials) > 0 || s.KeepGoing != nil:
		return jjm.Errorf(jjm.Invalid, "submit.again: submits grid job %s as it is: leave every other member out", s.Again)
	}
	return nil
}

// Submitted is the result of a submission.
type Submitted struct {
	ID jjm.GridID `json:"id,omitempty"`
	// Handle is the name that is computed from the owner and the request key; "" without a key.
	Handle jjm.Handle `json:"handle,omitempty"`
	// Existed is set if the request key named an existing grid job. Then nothing new was stored.
	Existed bool `json:"existed,omitempty"`
	// Plan is the decomposition. It is always set with DryRun.
	Plan *Plan `json:"plan,omitempty"`
}

// Plan is a decomposition, for people.
type Plan struct {
	Type     string   `json:"type"`
	Cluster  string   `json:"cluster"`
	Clusters []string `json:"clusters,omitempty"` // all clusters that may be used
	Splitter string   `json:"splitter"`
	Jobs     int      `json:"jobs"`
	Why      []string `json:"why"`
	// Merge describes the merge step, nil if there is no merge step.
	Merge *jjm.MergeOutlook `json:"merge,omitempty"`
	// After names the grid jobs for which the grid job would wait; "" means that it would not wait.
	After string `json:"after,omitempty"`
	// Fetch names the inputs that would be fetched from servers.
	Fetch []string `json:"fetch,omitempty"`
	// Parts and Commands are the parts and the commands of the first local jobs, at most ten.
	Parts    []jjm.Part `json:"parts,omitempty"`
	Commands [][]string `json:"commands,omitempty"`
}
