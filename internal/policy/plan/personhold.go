package plan

import (
	"strings"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
)

// HoldAt is the time at which a person's hold of a local job takes effect.
type HoldAt uint8

// The times.
const (
	HoldNever HoldAt = iota // the hold has no effect
	HoldNow                 // the local job is held in the same change: no batch system has it
	HoldBack                // the local job is held after its attempt, which has not started, is taken back
	HoldLater               // the running attempt continues, and the next attempt would wait for a release
)

// PersonHold returns when a person's hold of a local job takes effect. The first match counts:
//
//	over, being killed, held, or given up      never
//	new, or waiting for its next attempt       now
//	its outputs wait to be merged              never
//	running, or its attempt is over            later
//	queued, starting, or being submitted       after the attempt is taken back
//
// If the hold never takes effect, why is the reason.
func PersonHold(l *jjm.LocalJob) (at HoldAt, why string) {
	switch {
	case l.Over():
		return HoldNever, "it is over: " + jjm.StateWord(l.State, l.Phase)
	case l.Kill:
		return HoldNever, "it is being killed"
	case l.IsHeld(), l.Holding.Keeps():
		return HoldNever, "it is held already"
	case l.Holding.GivenUp() && !l.Holding.TakesBack():
		return HoldNever, "its attempt is being given up: " + l.Holding.Why
	case l.State == jjm.New, l.State == jjm.Submitting && l.Phase == jjm.RetryWait:
		return HoldNow, ""
	case l.IsMerging():
		return HoldNever, "its work is done; its outputs wait to be merged"
	case l.State == jjm.Running, l.State == jjm.Completing:
		return HoldLater, ""
	}
	return HoldBack, ""
}

// heldByPerson returns the holding of a local job that a person holds. why begins with the person.
func heldByPerson(why, actor string, now jjm.Time) jjm.Holding {
	return jjm.Holding{By: jjm.HeldOperator, Text: why, Actor: actor, Since: max(now, 1)}
}

// HeldNow returns the holding of a local job that a person holds now; old may be nil.
func HeldNow(old *jjm.Holding, why, actor string, now jjm.Time) *jjm.Holding {
	h := heldByPerson(why, actor, now)
	if old != nil {
		h.Retries = old.Retries
	}
	return &h
}

// Kept returns the holding of a local job whose attempt will be taken back, and whose next attempt then waits for a
// release. old may be nil.
func Kept(old *jjm.Holding, why, actor string) *jjm.Holding {
	return marked(old, jjm.HoldKeep, why, actor)
}

// Resumed returns the holding of a local job that a person released before its attempt was taken back.
func Resumed(old *jjm.Holding, why, actor string) *jjm.Holding {
	return marked(old, jjm.HoldResume, why, actor)
}

func marked(old *jjm.Holding, action jjm.HoldAction, why, actor string) *jjm.Holding {
	h := jjm.Holding{}
	if old != nil {
		h = *old
	}
	h.Action, h.Why, h.Actor, h.Trouble = action, why, actor, ""
	return &h
}

// takenBack returns the text of the verdict on an attempt that was taken back.
func takenBack(h *jjm.Holding) string {
	if h.Keeps() {
		return "taken back before it started: held by " + h.Why
	}
	return "taken back before it started; " + h.Why
}

// NextAttempt returns the state of a local job before its next attempt: it waits for a release if a person holds it,
// else for the end of its back-off. h may be nil.
func NextAttempt(h *jjm.Holding) (jjm.State, jjm.Phase) {
	if h.Keeps() {
		return jjm.Held, jjm.HeldByPerson
	}
	return jjm.Submitting, jjm.RetryWait
}

// ReleaseAs is how a local job is released.
type ReleaseAs uint8

// The ways to release a local job.
const (
	ReleaseNone  ReleaseAs = iota // the local job is not held, or cannot be released
	ReleaseHeld                   // the local job continues with its next attempt
	ReleaseBatch                  // the batch job is released in the batch system
	ReleaseLater                  // the attempt runs or is being taken back; the next attempt will not wait
)

// PersonRelease returns how a person's release acts on a local job. words is true if the release has new retry
// arguments. An attempt in a batch system cannot take new arguments, and neither can a first attempt. If a held local
// job cannot take the arguments, why is the reason; else why is "".
func PersonRelease(l *jjm.LocalJob, words bool) (as ReleaseAs, why string) {
	switch {
	case l.Kill:
		return ReleaseNone, ""
	case l.State == jjm.Held && words && l.Phase == jjm.HeldByPerson && l.Attempt == 0:
		return ReleaseNone, "its first attempt takes no words (--args, --restart): release it without them"
	case l.State == jjm.Held:
		return ReleaseHeld, ""
	case l.Holding.Keeps() && l.State.InBatch():
		as = ReleaseLater
	case l.State == jjm.Submitted && l.Phase == jjm.BatchHeld && l.Holding.Now() && !l.Holding.GivenUp():
		as = ReleaseBatch
	}
	if words && as != ReleaseNone {
		return ReleaseNone, "its attempt is in the batch system and takes no new words (--args, --restart): release it " +
			"without them"
	}
	return as, ""
}

// mostWordBytes is the greatest number of bytes of retry arguments in a cause in the journal. It is small because the
// journal has an entry for each local job.
const mostWordBytes = 200

// WithWords returns " with the words" and the retry arguments, for a cause in the journal; "" if there are none. It
// cuts long arguments to mostWordBytes.
func WithWords(args []string) string {
	if len(args) == 0 {
		return ""
	}
	text := glf.JoinArgs(args)
	if len(text) > mostWordBytes {
		text = strings.ToValidUTF8(text[:mostWordBytes], "") + "…"
	}
	return " with the words " + text
}
