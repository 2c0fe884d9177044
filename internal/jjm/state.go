package jjm

import (
	"slices"
	"strings"
)

// State is the state of a local job: a word of Ganga, or Held (GBS HOLD).
type State uint8

// The states of a local job (decision R8). A Phase refines them.
const (
	New State = iota
	Submitting
	Submitted
	Running
	Completing
	Completed
	Failed
	Killed
	Held
	CompletedFrozen // completed, and a person or a resplit froze it
	FailedFrozen    // failed or killed, and a person or a resplit froze it
	numStates
)

// NumStates is the number of states, for tables indexed by State.
const NumStates = int(numStates)

var stateWords = [...]string{"new", "submitting", "submitted", "running",
	"completing", "completed", "failed", "killed", "held", "completed_frozen", "failed_frozen"}

func (s State) String() string { return word(stateWords[:], int(s)) }

// MarshalText writes the word.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *State) UnmarshalText(b []byte) error {
	n, err := index(stateWords[:], "state", string(b))
	*s = State(n)
	return err
}

// Final reports whether a local job in this state has ended: only a person's command can
// change it again. Held is not final, because a release continues it.
func (s State) Final() bool {
	return s.IsCompleted() || s == Failed || s == Killed || s == FailedFrozen
}

// IsCompleted reports whether a local job in this state counts as completed, frozen or not.
func (s State) IsCompleted() bool { return s == Completed || s == CompletedFrozen }

// IsFrozen reports whether a local job in this state is frozen: every command except an unfreeze leaves it unchanged.
func (s State) IsFrozen() bool { return s == CompletedFrozen || s == FailedFrozen }

// Frozen returns the state of a local job that is frozen in state s. It returns false if s is not final, or frozen
// already.
func (s State) Frozen() (State, bool) {
	switch s {
	case Completed:
		return CompletedFrozen, true
	case Failed, Killed:
		return FailedFrozen, true
	}
	return s, false
}

// Unfrozen returns the state that a local job in state s has after an unfreeze, s itself if s is not frozen. A killed
// local job that was frozen becomes failed.
func (s State) Unfrozen() State {
	switch s {
	case CompletedFrozen:
		return Completed
	case FailedFrozen:
		return Failed
	}
	return s
}

// Ended returns how many of the counted local jobs have ended. counts are local jobs by state.
func Ended(counts [NumStates]int) int {
	n := 0
	for s, c := range counts {
		if State(s).Final() {
			n += c
		}
	}
	return n
}

// InBatch reports whether a batch system may have an attempt of the local job.
func (s State) InBatch() bool { return s >= Submitting && s <= Completing }

// Phase refines a State, for people and for package plan. It is empty if the state needs no refinement.
type Phase string

// The phases in use (decision R8).
const (
	Doubtful     Phase = "doubtful"         // submitting: it is unknown whether the batch system has the local job
	RetryWait    Phase = "retry-wait"       // submitting: the next attempt waits until NotBefore
	Spooled      Phase = "spooled"          // submitting: in a bulk whose command has not been acknowledged
	Queued       Phase = "queued"           // submitted
	BatchHeld    Phase = "batch-held"       // submitted: held in the batch system
	Starting     Phase = "starting"         // submitted
	Merging      Phase = "merging"          // completing: its attempt is over, its outputs wait to be merged
	ByLimit      Phase = "limit"            // failed: a retry limit was reached
	ByApp        Phase = "application"      // failed: the application said FAILED, or its exit code was not 0
	ByLoss       Phase = "lost"             // failed: the batch system lost or ended it, not by a retry limit
	CreateFailed Phase = "createfailed"     // failed: never submitted
	ByPerson     Phase = "cancelled"        // killed: by a person or the gatekeeper; failed: killed, then frozen
	BySystem     Phase = "closed"           // killed or failed: by jjm itself
	HeldByApp    Phase = "application-hold" // held: the application requested the hold
	GivenBack    Phase = "given-back"       // failed or killed: its work went to another local job
	HeldByBatch  Phase = "batch-cancel"     // held: cancelled in the batch system, and not by jjm
	Forced       Phase = "forced"           // failed or completed: a person forced the state, and no evidence proves it
	HeldByPerson Phase = "operator-hold"    // held: a person holds it, before its first or next attempt
	Unsubmitted  Phase = "unsubmitted"      // new: refused at its submission, or not attempted after a refusal
)

// GridStatus is the status of a grid job: a word of JEDI (decision R10).
type GridStatus uint8

// The grid statuses in use.
const (
	Registered GridStatus = iota // the grid job is stored
	Defined                      // work area and sandbox exist
	Ready                        // parts exist, nothing submitted yet
	Pending                      // waiting for a cluster
	GridRunning
	Prepared // every local job ended; the tar is being made
	Done     // tar complete, every local job completed
	Finished // tar complete, some local jobs completed
	GridFailed
	Broken   // ended before anything reached a batch system
	Aborting // kill requested
	Aborted
	Paused
	numGridStatuses
)

// NumGridStatuses is the number of grid statuses.
const NumGridStatuses = int(numGridStatuses)

var gridWords = [...]string{"registered", "defined", "ready", "pending", "running",
	"prepared", "done", "finished", "failed", "broken", "aborting", "aborted", "paused"}

func (s GridStatus) String() string { return word(gridWords[:], int(s)) }

// MarshalText writes the word.
func (s GridStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *GridStatus) UnmarshalText(b []byte) error {
	n, err := index(gridWords[:], "grid status", string(b))
	*s = GridStatus(n)
	return err
}

// GridStatuses parses words of statuses that are separated by commas, "" as none.
func GridStatuses(list string) (all []GridStatus, err error) {
	if list == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(list, ",") {
		var s GridStatus
		if err := s.UnmarshalText([]byte(word)); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Final reports whether the grid job has ended for its gatekeeper.
func (s GridStatus) Final() bool {
	switch s {
	case Done, Finished, GridFailed, Broken, Aborted:
		return true
	}
	return false
}

// GRAM is a job state of the Globus GRAM protocol, version 2 (globus_gram_protocol_job_state_t).
type GRAM int

// The GRAM states that jjm reports.
const (
	GRAMPending     GRAM = 1
	GRAMActive      GRAM = 2
	GRAMFailed      GRAM = 4
	GRAMDone        GRAM = 8
	GRAMSuspended   GRAM = 16
	GRAMUnsubmitted GRAM = 32
)

// GRAMExecutionFailed is GLOBUS_GRAM_PROTOCOL_ERROR_EXECUTION_FAILED, the failure code
// that goes with [GRAMFailed]. Without a code, GRAM's clients print no error.
const GRAMExecutionFailed = 17

func (g GRAM) String() string {
	switch g {
	case GRAMPending:
		return "PENDING"
	case GRAMActive:
		return "ACTIVE"
	case GRAMFailed:
		return "FAILED"
	case GRAMDone:
		return "DONE"
	case GRAMSuspended:
		return "SUSPENDED"
	case GRAMUnsubmitted:
		return "UNSUBMITTED"
	}
	return "UNKNOWN"
}

// word returns words[n], or "?" for a number that has no word.
func word(words []string, n int) string {
	if n < len(words) {
		return words[n]
	}
	return "?"
}

// index returns the position of s in words. If s is not in words, the error is of kind Invalid and names the kind of
// word with the text of what.
func index(words []string, what, s string) (int, error) {
	for i, w := range words {
		if w == s {
			return i, nil
		}
	}
	known := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" }) // Kind's first word is empty
	return 0, Errorf(Invalid, "%s %.40q: want %s", what, s, AnyOf(known))
}

// StateWord returns a state with its phase, as journals hold it and people read it:
// "submitted/queued", "running".
func StateWord(s State, p Phase) string {
	if p == "" {
		return s.String()
	}
	return s.String() + "/" + string(p)
}
