package jjm

// Who holds a local job (decision R9), as people read it.
const (
	HeldApplication = "application"  // it asked for it: GBS HOLD
	HeldBatchSystem = "batch system" // it cannot or will not start the job
	HeldOperator    = "operator"     // a person, with the batch system's own commands
)

// HoldDeed is what becomes of a local job that its batch system holds (decision
// R5).
type HoldDeed string

// The deeds. The empty one waits.
const (
	HoldRelease HoldDeed = "release" // let it run again, in the same attempt
	HoldRetry   HoldDeed = "retry"   // cancel the attempt and make the next one
	HoldFail    HoldDeed = "fail"    // cancel the attempt and fail the local job
)

// GivesUp reports whether the deed ends the attempt.
func (d HoldDeed) GivesUp() bool { return d == HoldRetry || d == HoldFail }

// Holding is what is remembered of the holds of a local job. It is stored with
// it, because a release that is counted twice, or not at all, would go on for
// ever.
type Holding struct {
	// By, Code, Text and Source are of the hold at hand, or of the last one: who
	// holds, and why in the batch system's words.
	By     string `json:"by,omitempty"`
	Code   string `json:"code,omitempty"`
	Text   string `json:"text,omitempty"`
	Source string `json:"source,omitempty"`
	// Since is when the hold at hand was first seen; 0 while there is none.
	Since Time `json:"since,omitempty"`
	// Age is for how long it was seen since, by a clock that stands still while
	// the batch system gives no listing or the daemon is down. It is exact in
	// memory and stored now and then.
	Age Duration `json:"age,omitzero"`
	// Acted is the age at which jjm last tried to end the hold at hand, and Tried
	// how often it did.
	Acted Duration `json:"acted,omitzero"`
	Tried int      `json:"tried,omitempty"`
	// Releases counts the releases by rules in this attempt; Retries counts the
	// attempts of this local job that were given up for a hold.
	Releases int `json:"releases,omitempty"`
	Retries  int `json:"retries,omitempty"`
	// Deed is decided and stored, and not yet known to be done; Why says who or
	// what decided. Actor is the person, "" for a rule.
	Deed  HoldDeed `json:"deed,omitempty"`
	Why   string   `json:"why,omitempty"`
	Actor string   `json:"actor,omitempty"`
	// Trouble is why the last release came to nothing.
	Trouble string `json:"trouble,omitempty"`
}

// Now reports whether there is a hold at hand. A nil h holds nothing.
func (h *Holding) Now() bool { return h != nil && h.Since != 0 }

// GivenUp reports whether the attempt is to end because of its hold.
func (h *Holding) GivenUp() bool { return h != nil && h.Deed.GivesUp() }
