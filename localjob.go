package jjm

// LocalJob is one job for a batch system: a part of a grid job, and what has
// become of it so far. A retry is a new attempt of the same local job.
type LocalJob struct {
	ID   LocalID `json:"id"`
	Part Part    `json:"part"`
	// Step is the step that it belongs to: StepWork or StepMerge.
	Step int32 `json:"step,omitempty"`
	// Place is the place of its files among those of its grid job (Step.Places),
	// from 1: it only ever goes to a cluster of that place. 0: to any cluster of
	// the grid job. It is set when the local job is made.
	Place int32 `json:"place,omitempty"`
	// Origin is whose work this is, nil if it was nobody's before. It is set when
	// the local job is made, and not kept in memory.
	Origin *Successor `json:"origin,omitempty"`
	State  State      `json:"state"`
	Phase  Phase      `json:"phase,omitempty"`
	// Attempt is the number of the current attempt, from 0.
	Attempt int32 `json:"attempt"`
	// Counters count failures against the retry limits, over all attempts.
	Counters Counters `json:"counters,omitzero"`
	// RetryArgs are the GBS retry arguments of the next or current attempt.
	RetryArgs []string `json:"retry_args,omitempty"`
	// NotBefore is when the next attempt may be submitted (retry-wait).
	NotBefore Time `json:"not_before,omitempty"`
	// Kill is set once a kill of this local job was asked for.
	Kill bool `json:"kill,omitempty"`

	// Of the current or last attempt: its cluster, the tag of its bulk, its
	// position there, the batch system's id, the host, and when it was
	// submitted, started, ended.
	Cluster   string `json:"cluster,omitempty"`
	Tag       Tag    `json:"tag,omitempty"`
	Pos       int32  `json:"pos,omitempty"`
	BatchID   string `json:"batch_id,omitempty"`
	Host      string `json:"host,omitempty"`
	Submitted Time   `json:"submitted,omitempty"`
	Started   Time   `json:"started,omitempty"`
	Ended     Time   `json:"ended,omitempty"`
	// Exit is the application's exit code of the last ended attempt, 128+n
	// for signal n, -1 while none has ended; of a part that could not be made the
	// code of its failure (decision R27).
	Exit int `json:"exit"`
	// Message is the verdict's text, for people.
	Message string `json:"message,omitempty"`
	// Progress is what the running application last said of itself.
	Progress Progress `json:"progress,omitzero"`
	// Holding is what is remembered of its holds, nil if there was none. It is
	// never changed in place.
	Holding *Holding `json:"holding,omitempty"`
	// Waits is what the batch system says of the current attempt while it waits
	// there; nil if it says nothing. It is in memory only, and never changed in
	// place.
	Waits *Waiting `json:"waits,omitempty"`
}

// Successor says of a local job whose work it does again.
type Successor struct {
	// Local is the number of the local job that gave it back, and Before how many
	// had it before, that one included.
	Local  int32 `json:"local"`
	Before int32 `json:"before"`
}

// Waiting is why a batch job waits and until when, in the batch system's words.
type Waiting struct {
	// Reason is the pending reason, or the text of a hold; Hold its code.
	Reason string `json:"reason,omitempty"`
	Hold   string `json:"hold,omitempty"`
	// Starts is when the batch system expects to start it; 0 if it does not say.
	Starts Time `json:"starts,omitempty"`
	// Source names what said so, such as squeue, and At when.
	Source string `json:"source,omitempty"`
	At     Time   `json:"at"`
}

// Counters are the three failure counters of GBS.
type Counters struct {
	Early         int `json:"early,omitempty"`
	LateHandled   int `json:"late_handled,omitempty"`
	LateUnhandled int `json:"late_unhandled,omitempty"`
}

// Progress is how far a phase of the application has come: "simulate 117 of
// 250". Total is 0 where the application does not know it.
type Progress struct {
	Phase string `json:"phase,omitempty"`
	Done  int64  `json:"done,omitempty"`
	Total int64  `json:"total,omitempty"`
}

// AppPhase is a phase of an application as records keep it: what it last said of it,
// when it first did, and when it last did.
type AppPhase struct {
	Progress
	Started Time `json:"started,omitempty"`
	Ended   Time `json:"ended,omitempty"`
}

// IsHeld reports whether the local job is held, by whomever; Holding says by whom.
func (l *LocalJob) IsHeld() bool {
	return l.Holding.Now() && (l.State == Held || l.State == Submitted && l.Phase == BatchHeld)
}

// IsMerging reports whether all that it waits for is that its outputs are merged:
// no batch system has it any more.
func (l *LocalJob) IsMerging() bool { return l.State == Completing && l.Phase == Merging }

// AttemptID names the current attempt.
func (l *LocalJob) AttemptID() AttemptID { return AttemptID{LocalID: l.ID, Attempt: l.Attempt} }

// Who holds a local job (decision R9), as people read it.
const (
	HeldApplication = "application"  // it asked for it: GBS HOLD
	HeldBatchSystem = "batch system" // it cannot or will not start the job
	HeldOperator    = "operator"     // a person, with the batch system's own commands
)

// HoldAction is what becomes of a local job that its batch system holds (decision
// R5).
type HoldAction string

// The actions. The empty one waits.
const (
	HoldRelease HoldAction = "release" // let it run again, in the same attempt
	HoldRetry   HoldAction = "retry"   // cancel the attempt and make the next one
	HoldFail    HoldAction = "fail"    // cancel the attempt and fail the local job
)

// GivesUp reports whether the action ends the attempt.
func (d HoldAction) GivesUp() bool { return d == HoldRetry || d == HoldFail }

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
	// Action is decided and stored, and not yet known to be done; Why says who or
	// what decided. Actor is the person, "" for a rule.
	Action HoldAction `json:"deed,omitempty"`
	Why    string     `json:"why,omitempty"`
	Actor  string     `json:"actor,omitempty"`
	// Trouble is why the last release came to nothing.
	Trouble string `json:"trouble,omitempty"`
}

// Now reports whether there is a hold at hand. A nil h holds nothing.
func (h *Holding) Now() bool { return h != nil && h.Since != 0 }

// GivenUp reports whether the attempt is to end because of its hold.
func (h *Holding) GivenUp() bool { return h != nil && h.Action.GivesUp() }
