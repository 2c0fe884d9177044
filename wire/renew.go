package wire

import (
	"fmt"

	"jjm"
)

// VerbRenew returns the jobs of a grid job newer credentials.
func VerbRenew() Verb[RenewRequest, RenewAnswer] {
	return Verb[RenewRequest, RenewAnswer]{About{Name: "renew", MaxBytes: MaxRequest,
		Help: "Give the jobs of a grid job a newer proxy or token."}}
}

// RenewRequest names one grid job and has credentials for it.
type RenewRequest struct {
	Head
	One
	Credentials []jjm.Credential `json:"credentials,omitempty"`
}

// Check implements Request.
func (r RenewRequest) Check() error {
	if err := r.one("renew"); err != nil {
		return err
	}
	if len(r.Credentials) == 0 {
		return jjm.Errorf(jjm.Invalid, "renew: member credentials is missing: want [{\"kind\",\"secret\"}]")
	}
	if ps := jjm.CheckCredentials(r.Credentials); len(ps) > 0 {
		return fmt.Errorf("renew: %w", ps.Err())
	}
	return nil
}

// RenewAnswer answers renew.
type RenewAnswer struct {
	Reply
	// Renewed are the kinds that were newer.
	Renewed []string `json:"renewed,omitempty"`
	// NotReached tells of jobs that keep what they have, and why.
	NotReached []string `json:"not_reached,omitempty"`
}

// Renewal is what became of newer credentials: the kinds that were newer, and of
// which jobs that run they do not reach.
type Renewal struct{ Kinds, NotReached []string }
