package wire

import (
	"fmt"
	"strings"

	"jjm"
)

// VerbSubmit hands over a grid job. It answers once the grid job is stored.
func VerbSubmit() Verb[SubmitRequest, SubmitAnswer] {
	return Verb[SubmitRequest, SubmitAnswer]{About{Name: "submit", MaxBytes: MaxRequest, Spooled: true,
		Help: "Accept a grid job, or only explain what would be done."}}
}

// SubmitRequest is a job file to accept.
type SubmitRequest struct {
	Head
	Submit *Submit `json:"submit,omitempty"`
}

// Check implements Request.
func (r SubmitRequest) Check() error {
	if r.Submit == nil {
		return jjm.Errorf(jjm.Invalid, "submit: member submit is missing: want {\"name\",\"text\",\"base_dir\"}")
	}
	return r.Submit.check()
}

// Unsure says what to do if the answer is lost. A dry run makes nothing.
func (r SubmitRequest) Unsure() string {
	if r.Submit == nil || r.Submit.DryRun {
		return ""
	}
	return "the grid job may have been accepted (submit again with the same request key to learn its id)"
}

// SubmitAnswer answers submit.
type SubmitAnswer struct {
	Reply
	Submit *Submitted `json:"submit,omitempty"`
}

// Check implements Answer.
func (a SubmitAnswer) Check() error { return present("submit", a.Submit != nil) }

// Submit hands over a job file.
type Submit struct {
	// Name is the file's name, for messages and to tell TOML from JSON by its
	// ending; Text its content.
	Name string `json:"name"`
	Text string `json:"text"`
	// BaseDir is the absolute folder that relative input paths start from.
	BaseDir string `json:"base_dir"`
	// Key overrides the job file's request key.
	Key string `json:"key,omitempty"`
	// Anew allows the key anew if the grid job that holds it was cancelled, as
	// the job file's key_reuse does.
	Anew bool `json:"anew_after_cancel,omitempty"`
	// Origin is where the grid job comes from, as a gatekeeper tells it.
	Origin *jjm.Origin `json:"origin,omitempty"`
	// Credentials are for the jobs, if the job file asks for them. One that is
	// newer than what a grid job that is there already has takes its place.
	Credentials []jjm.Credential `json:"credentials,omitempty"`
	// DryRun decides and explains, and makes nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// check finds what is wrong with a submission whatever the site is.
func (s *Submit) check() error {
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
	if ps := jjm.CheckCredentials(s.Credentials); len(ps) > 0 {
		return fmt.Errorf("submit: %w", ps.Err())
	}
	if ps := s.Origin.Problems(); len(ps) > 0 {
		return fmt.Errorf("submit: %w", ps.Err())
	}
	return nil
}

// Submitted answers submit.
type Submitted struct {
	ID jjm.GridID `json:"id,omitempty"`
	// Handle is the name that follows from owner and request key; "" without a
	// key.
	Handle jjm.Handle `json:"handle,omitempty"`
	// Existed is true when the request key named a grid job already there.
	Existed bool `json:"existed,omitempty"`
	// Plan is the decomposition: always with DryRun.
	Plan *Plan `json:"plan,omitempty"`
}

// Plan is a decomposition, for people.
type Plan struct {
	Type     string   `json:"type"`
	Cluster  string   `json:"cluster"`
	Clusters []string `json:"clusters,omitempty"` // all that may be used
	Splitter string   `json:"splitter"`
	Jobs     int      `json:"jobs"`
	Why      []string `json:"why"`
	// Merge is what can be told of its second step, nil if it has none.
	Merge *jjm.MergeOutlook `json:"merge,omitempty"`
	// Parts and Commands show the first local jobs, at most ten.
	Parts    []jjm.Part `json:"parts,omitempty"`
	Commands [][]string `json:"commands,omitempty"`
}
