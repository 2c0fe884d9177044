package wire

import (
	"strings"

	"jjm/internal/jjm"
)

// VerbRelease is the verb "release": it releases held jobs.
func VerbRelease() Verb[ReleaseRequest, ReleaseAnswer] {
	return Verb[ReleaseRequest, ReleaseAnswer]{About{Name: "release", MaxBytes: maxWithRefs,
		Help: "Release held local jobs."}}
}

// ReleaseRequest names the jobs to release.
type ReleaseRequest struct {
	Head
	Many
	ReleaseHow
}

// ReleaseHow contains the options of a release.
type ReleaseHow struct {
	// Args are the retry arguments of the next attempt. They replace the arguments that the application requested; no Args
	// keep these arguments. The single word RESTART means a start from scratch (GBS).
	Args []string `json:"args,omitempty"`
	// DryRun changes nothing; the answer shows the jobs that would be released.
	DryRun bool `json:"dry_run,omitempty"`
}

// Check checks the references and Args.
func (r ReleaseRequest) Check() error {
	if err := checkRefs("release", r.Refs); err != nil {
		return err
	}
	return checkWords("release", r.Args)
}

// maxWords is the greatest total length of retry arguments, in bytes. It is limited because every local job stores its
// retry arguments.
const maxWords = 4 << 10

// checkWords checks the retry arguments of a request.
func checkWords(verb string, args []string) error {
	n := 0
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, "\x00\n\r") {
			return jjm.Errorf(jjm.Invalid, "%s: args: %.40q: want words that are not empty, without line breaks", verb, a)
		}
		n += len(a) + 1
	}
	if n > maxWords {
		return jjm.Errorf(jjm.Invalid, "%s: args have %d bytes: want at most %d", verb, n, maxWords)
	}
	return nil
}

// ReleaseAnswer has a result for each reference, in order.
type ReleaseAnswer struct {
	Reply
	Release []Released `json:"release,omitempty"`
}

// Released is the result for one reference.
type Released struct {
	Ref string `json:"ref"`
	// Jobs is the number of held local jobs that are now being released.
	Jobs int `json:"jobs"`
	// Left are held local jobs that cannot take the request's Args and stay held. LeftOut is the number of further such
	// local jobs.
	Left    []Left `json:"left,omitempty"`
	LeftOut int    `json:"left_out,omitempty"`
	// NoChange is set if no local job was held. This is a success. Notes say why nothing changed, if Left does not.
	NoChange bool     `json:"no_change,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Error    *Error   `json:"error,omitempty"`
}
