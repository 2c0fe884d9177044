package jjm

import "fmt"

// LocalJob is one job for a batch system: a part of a grid job, and the state of the work. A retry is a new attempt of
// the same local job.
type LocalJob struct {
	ID   LocalID `json:"id"`
	Part Part    `json:"part"`
	// Step is the step of the local job: StepWork or StepMerge.
	Step int32 `json:"step,omitempty"`
	// Place is the position of the local job's place in Step.Places, counted from 1: the local job is submitted only
	// to clusters of that place. 0 means any cluster of the grid job. Place is set when the local job is made; only a
	// resubmission with other resources changes it.
	Place int32 `json:"place,omitempty"`
	// Origin is the local job whose work this local job repeats, nil if it is the first to do the work. It is set
	// when the local job is made, and kept only in the store, not in memory.
	Origin *Successor `json:"origin,omitempty"`
	State  State      `json:"state"`
	Phase  Phase      `json:"phase,omitempty"`
	// Attempt is the number of the current attempt, from 0.
	Attempt int32 `json:"attempt"`
	// Counters count failures against the retry limits, over all attempts.
	Counters Counters `json:"counters,omitzero"`
	// RetryArgs are the GBS retry arguments of the next or current attempt.
	RetryArgs []string `json:"retry_args,omitempty"`
	// Again is the record of the automatic resubmissions.
	Again Again `json:"again,omitzero"`
	// NotBefore is the earliest time to submit the next attempt (phase retry-wait).
	NotBefore Time `json:"not_before,omitempty"`
	// Kill is set once a kill of this local job was requested.
	Kill bool `json:"kill,omitempty"`
	// Failing is set while the local job is being killed because a person forces it to failed. It names the person and the
	// reason. After the kill, the local job is failed in phase Forced instead of killed.
	Failing string `json:"failing,omitempty"`
	// Since is the time of the last change of State or Phase or, while Kill is set, the time at which the kill was
	// requested. It is 0 if that is not known. Only causes show it, so records and the socket do not have it.
	Since Time `json:"-"`
	// Suspended is the time of the first listing in a row that shows the batch job of a running local job as suspended, 0
	// if it is not suspended. Only causes show it.
	Suspended Time `json:"-"`

	// Cluster to Ended describe the current or last attempt: its cluster, the tag of its bulk and its position there,
	// the batch system's id, the host, and when it was submitted, started and ended.
	Cluster   string `json:"cluster,omitempty"`
	Tag       Tag    `json:"tag,omitempty"`
	Pos       int32  `json:"pos,omitempty"`
	BatchID   string `json:"batch_id,omitempty"`
	Host      string `json:"host,omitempty"`
	Submitted Time   `json:"submitted,omitempty"`
	Started   Time   `json:"started,omitempty"`
	Ended     Time   `json:"ended,omitempty"`
	// Exit is the application's exit code of the last ended attempt, 128+n for signal n,
	// -1 while none has ended. For a createfailed part it is CreateFailure.Code (decision
	// R27).
	Exit int `json:"exit"`
	// Message is the verdict's text, for people.
	Message string `json:"message,omitempty"`
	// Progress is the last progress that the application reported.
	Progress Progress `json:"progress,omitzero"`
	// Holding is the history of the local job's holds, nil if it was never held. Holding is replaced, never changed
	// in place, because readers share it.
	Holding *Holding `json:"holding,omitempty"`
	// Waits is the reason why the current attempt waits in the batch system, nil if the batch system reports none. It
	// is kept only in memory. It is replaced and never changed in place, because readers share it.
	Waits *Waiting `json:"waits,omitempty"`
}

// Successor identifies the local job whose work another local job repeats.
type Successor struct {
	// Local is the number of the local job that gave the work back. Before is the number of local jobs that had the
	// work before, including Local.
	Local  int32 `json:"local"`
	Before int32 `json:"before"`
}

// Waiting describes why, and until when, a batch job waits, in the batch system's words.
type Waiting struct {
	// Reason is the pending reason, or the text of a hold. Hold is the code of the hold.
	Reason string `json:"reason,omitempty"`
	Hold   string `json:"hold,omitempty"`
	// Starts is when the batch system expects to start the job; 0 if it does not say.
	Starts Time `json:"starts,omitempty"`
	// Source names the source of Reason and Starts, such as squeue; At is their time.
	Source string `json:"source,omitempty"`
	At     Time   `json:"at"`
}

// Again is the record of a local job's automatic resubmissions.
type Again struct {
	// Times counts the automatic resubmissions since the local job was made, or since a person last resubmitted it.
	Times int `json:"times,omitempty"`
	// Stopped is why the failed local job is not resubmitted automatically, "" if nothing prevents the resubmission.
	Stopped string `json:"stopped,omitempty"`
}

// Text returns the record for people: "run again by itself, 2 of 5", with the reason why no further resubmission
// follows. It returns "" if there was no resubmission and no reason against further resubmissions. most is the greatest
// number of resubmissions, 0 if it is not known.
func (a Again) Text(most int) string {
	text := ""
	switch {
	case a.Times > 0 && most > 0:
		text = fmt.Sprintf("run again by itself, %d of %d", a.Times, max(a.Times, most))
	case a.Times > 0:
		text = fmt.Sprintf("run again by itself, %d times", a.Times)
	}
	if a.Stopped == "" {
		return text
	}
	if text != "" {
		text += "; "
	}
	return text + "not run again by itself: " + a.Stopped
}

// Counters are the three failure counters of GBS.
type Counters struct {
	Early         int `json:"early,omitempty"`
	LateHandled   int `json:"late_handled,omitempty"`
	LateUnhandled int `json:"late_unhandled,omitempty"`
}

// Progress is the progress within a phase of the application: "simulate 117 of 250". Total is 0 if the application does
// not know it.
type Progress struct {
	Phase string `json:"phase,omitempty"`
	Done  int64  `json:"done,omitempty"`
	Total int64  `json:"total,omitempty"`
}

// AppPhase is a phase of an application as records keep it: its last reported progress,
// and the times of its first and its last report.
type AppPhase struct {
	Progress
	Started Time `json:"started,omitempty"`
	Ended   Time `json:"ended,omitempty"`
}

// Over reports whether the local job has ended: its state is final, or it is not to be submitted.
func (l *LocalJob) Over() bool { return l.State.Final() || l.IsUnsubmitted() }

// IsUnsubmitted reports whether the local job was never submitted and will not be: the batch system refused it, or a
// refusal stopped the submissions of its grid job (Ganga, submission one by one). Only a command of a person can change
// the local job.
func (l *LocalJob) IsUnsubmitted() bool { return l.State == New && l.Phase == Unsubmitted }

// IsForced reports whether a person forced the local job to completed. Nothing proves that its work is done.
func (l *LocalJob) IsForced() bool { return l.State.IsCompleted() && l.Phase == Forced }

// IsHeld reports whether the local job is held, by the application, the batch system or a
// person; Holding.By says which.
func (l *LocalJob) IsHeld() bool {
	return l.Holding.Now() && (l.State == Held || l.State == Submitted && l.Phase == BatchHeld)
}

// IsMerging reports whether the local job only waits for its outputs to be merged; the
// batch system no longer has it.
func (l *LocalJob) IsMerging() bool { return l.State == Completing && l.Phase == Merging }

// AttemptID returns the id of the current attempt.
func (l *LocalJob) AttemptID() AttemptID { return AttemptID{LocalID: l.ID, Attempt: l.Attempt} }

// The holders of a local job (decision R9), in words for people.
const (
	HeldApplication = "application"  // the application asked for the hold: GBS HOLD
	HeldBatchSystem = "batch system" // the batch system cannot or will not start the job
	HeldOperator    = "operator"     // a person, with jjm hold or with the batch system's own commands
)

// HoldAction is jjm's action on a local job that its batch system holds (decision R5), or that a person holds while a
// batch system has it.
type HoldAction string

// The actions on a hold. The empty action does nothing: the local job waits.
const (
	HoldRelease HoldAction = "release" // let the job run again, in the same attempt
	HoldRetry   HoldAction = "retry"   // cancel the attempt and make the next attempt
	HoldFail    HoldAction = "fail"    // cancel the attempt and fail the local job
	HoldKeep    HoldAction = "keep"    // cancel the attempt unless it has started; the next attempt waits for a release
	HoldResume  HoldAction = "resume"  // like HoldKeep, but released meanwhile: the next attempt does not wait
)

// GivesUp reports whether the action ends the attempt. HoldKeep and HoldResume end it only if it has not started.
func (d HoldAction) GivesUp() bool { return d == HoldRetry || d == HoldFail || d.takesBack() }

func (d HoldAction) takesBack() bool { return d == HoldKeep || d == HoldResume }

// Holding is the history of the holds of a local job. It is stored with the local job, because rules that release n
// times would otherwise release again after each restart.
type Holding struct {
	// By, Code, Text and Source describe the current hold, or else the last hold: its holder, and its reason in the
	// batch system's words.
	By     string `json:"by,omitempty"`
	Code   string `json:"code,omitempty"`
	Text   string `json:"text,omitempty"`
	Source string `json:"source,omitempty"`
	// Since is when the current hold was first seen; 0 if there is none.
	Since Time `json:"since,omitempty"`
	// Age is the time for which the current hold has been observed. It does not grow while the batch system answers no
	// listing or the daemon is down. It is exact in memory, but is stored only from time to time.
	Age Duration `json:"age,omitzero"`
	// Acted is the age at which jjm last tried to end the current hold, and Tried the number of tries.
	Acted Duration `json:"acted,omitzero"`
	Tried int      `json:"tried,omitempty"`
	// Releases counts the releases by rules in this attempt; Retries counts the
	// attempts of this local job that were given up for a hold.
	Releases int `json:"releases,omitempty"`
	Retries  int `json:"retries,omitempty"`
	// Action is stored when it is decided, and stays until it is known to be done. Why names the rule or command that
	// decided it. Actor is the person, "" for a rule.
	Action HoldAction `json:"deed,omitempty"`
	Why    string     `json:"why,omitempty"`
	Actor  string     `json:"actor,omitempty"`
	// Trouble is why the last release failed.
	Trouble string `json:"trouble,omitempty"`
}

// Now reports whether there is a current hold. h may be nil.
func (h *Holding) Now() bool { return h != nil && h.Since != 0 }

// GivenUp reports whether jjm has decided to end the attempt because of its hold. h may
// be nil.
func (h *Holding) GivenUp() bool { return h != nil && h.Action.GivesUp() }

// TakesBack reports whether the attempt is taken back from the batch system unless it has started. h may be nil.
func (h *Holding) TakesBack() bool { return h != nil && h.Action.takesBack() }

// Keeps reports whether the next attempt waits for a release, because a person holds the local job. h may be nil.
func (h *Holding) Keeps() bool { return h != nil && h.Action == HoldKeep }
