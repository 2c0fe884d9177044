package wire

import (
	"fmt"

	"jjm/internal/jjm"
)

// VerbRenew is the verb "renew": it replaces the credentials of a grid job's local jobs by newer credentials.
func VerbRenew() Verb[RenewRequest, RenewAnswer] {
	return Verb[RenewRequest, RenewAnswer]{About{Name: "renew", MaxBytes: MaxRequest, Grids: true,
		Help: "Replace the proxy or token of a grid job's jobs by a newer one."}}
}

// RenewRequest names one grid job, and contains the new credentials.
type RenewRequest struct {
	Head
	One
	Credentials []jjm.Credential `json:"credentials,omitempty"`
}

// Check requires one reference and well-formed credentials.
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

// RenewAnswer is the answer of "renew".
type RenewAnswer struct {
	Reply
	// Renewed are the kinds of credentials that were newer than the stored credentials.
	Renewed []string `json:"renewed,omitempty"`
	// NotReached has a sentence for each group of running jobs that keep their old credentials, with the reason.
	NotReached []string `json:"not_reached,omitempty"`
	// Notes has a sentence for each credential of the request that was not stored, with the reason. If no credential was
	// stored, nothing changed. This is a success.
	Notes []string `json:"notes,omitempty"`
}
