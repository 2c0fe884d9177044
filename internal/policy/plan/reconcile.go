package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// BulkFacts holds the facts that decide what happens to a bulk whose submission was not acknowledged: the error was
// ambiguous, the daemon crashed between intent and receipt, or the command certainly failed.
type BulkFacts struct {
	Now jjm.Time
	// Tried is when the submission command last started, or when the bulk was made if that is
	// not known. Tries is how often the command started.
	Tried jjm.Time
	Tries int
	// Found is the batch system's answer for the bulk's tag after the command ended, zero if
	// it was not asked. FindErr is true if it was asked and could not answer.
	Found   adapters.Found
	FindErr bool
	// WrapperClaims is the number of members that wrappers have claimed. Holders has this number for each batch id of the
	// bulk that is known from the claims.
	WrapperClaims int
	Holders       map[string]int
	// Settle is the adapter's capability: the time after the command from which an empty
	// answer proves absence.
	Settle time.Duration
	// Refused is true if the bulk must not be submitted again, because the batch system refused it for too long with an
	// unknown message, or because all its members are being killed. Earlier tries may still have succeeded.
	Refused bool
	// Back is true if an outage of the batch system ended after Tried. Failures before the end of the outage do not count,
	// so there is no back-off.
	Back bool
	// Busy is true if the last command and all commands before it certainly did nothing.
	Busy bool
}

// BulkDo is an action on a bulk whose submission is in doubt.
type BulkDo uint8

// The actions.
const (
	// BulkWait: ask again after the time After.
	BulkWait BulkDo = iota
	// BulkAdopt: the batch system has the bulk as ID. With an empty ID it had the bulk, but no
	// longer shows it: treat the bulk as accepted, and judge the members by their results,
	// claims and absence.
	BulkAdopt
	// BulkSubmit: the batch system certainly does not have the bulk; run the command.
	BulkSubmit
	// BulkRefuse: the batch system certainly does not have the bulk and never will.
	BulkRefuse
)

// BulkAction is the next action on a bulk, with its arguments.
type BulkAction struct {
	Do BulkDo
	// ID is the batch system's id of the bulk to keep (BulkAdopt).
	ID string
	// Cancel are the ids of duplicates of the bulk, to be cancelled and logged as errors. If a wrapper of a duplicate
	// holds the claim of a member, this member must not be cancelled; Ending points the attempt to it.
	Cancel []string
	After  time.Duration
	Why    string
}

// The shortest and the longest wait of Reconcile: short enough for people, long enough for a batch system in trouble.
// The wait doubles with each try.
const (
	firstLook = 2 * time.Second
	lastLook  = 5 * time.Minute
)

// Reconcile settles a doubtful bulk, whether an ambiguous error or a crash made it doubtful. The first match counts:
//
//	found                                 BulkAdopt the bulk with the most claims; cancel the others
//	wrappers claimed members              BulkAdopt: the bulk exists or existed, whatever the search says
//	found, but without an id              BulkWait
//	busy, refused                         BulkRefuse
//	busy                                  BulkSubmit, after a back-off
//	the search failed or cannot say yet   BulkWait
//	absent, but within Settle             BulkWait
//	absent, refused                       BulkRefuse
//	absent                                BulkSubmit, after a back-off
//
// Reconcile neither submits nor refuses a bulk while a job with its tag may exist, because a bulk that was given up
// could still run. Back-off and Settle end, so each bulk is settled once the batch system answers. If the clock is set
// back, the bulk waits longer, never shorter.
func Reconcile(f BulkFacts) BulkAction {
	switch {
	case f.Found.Presence == adapters.Present && len(f.Found.IDs) > 0:
		return adopt(f)
	case f.WrapperClaims > 0 || len(f.Holders) > 0:
		return adoptByClaims(f)
	case f.Found.Presence == adapters.Present:
		return BulkAction{Do: BulkWait, After: f.pause(), Why: "the batch system has it but gave no id"}
	case f.Busy:
		return goOn(f, 0, "the batch system was busy and did nothing")
	case f.FindErr:
		return BulkAction{Do: BulkWait, After: f.pause(), Why: "the batch system cannot say whether it has it"}
	case f.Found.Presence == adapters.NotYetKnown:
		return BulkAction{Do: BulkWait, After: f.pause(), Why: "the batch system does not know yet whether it has it"}
	}
	return goOn(f, f.Settle, "the batch system surely does not have it")
}

// adopt keeps one of the bulks found: the bulk whose wrappers hold the most claims, because cancelling it would lose
// the most work. Among equal bulks it keeps the first.
func adopt(f BulkFacts) BulkAction {
	ids := slices.Compact(slices.Sorted(slices.Values(f.Found.IDs)))
	keep := ids[0]
	for _, id := range ids[1:] {
		if f.Holders[id] > f.Holders[keep] {
			keep = id
		}
	}
	a := BulkAction{Do: BulkAdopt, ID: keep, Why: "the batch system has it as " + keep}
	for _, id := range ids {
		if id != keep {
			a.Cancel = append(a.Cancel, id)
		}
	}
	if n := len(a.Cancel); n > 0 {
		a.Why = fmt.Sprintf("submitted %d times over: keeping %s, cancelling %s", n+1, keep,
			strings.Join(a.Cancel, ", "))
	}
	return a
}

// adoptByClaims adopts a bulk that the search does not show although its wrappers ran: the
// bulk ended and was forgotten, or the search is late.
func adoptByClaims(f BulkFacts) BulkAction {
	keep := ""
	for id, n := range f.Holders {
		if keep == "" || n > f.Holders[keep] || n == f.Holders[keep] && id < keep {
			keep = id
		}
	}
	n := f.WrapperClaims
	for _, k := range f.Holders {
		n = max(n, k)
	}
	return BulkAction{Do: BulkAdopt, ID: keep,
		Why: fmt.Sprintf("wrappers claimed %d of its jobs, so it was submitted, though the batch system does not show it", n)}
}

// goOn refuses or submits a bulk that certainly does not exist. It waits until settle, and before a submission also the
// back-off, has passed since the last try. If the command never ran, there is no wait.
func goOn(f BulkFacts, settle time.Duration, why string) BulkAction {
	do, wait := BulkSubmit, max(settle, f.pause())
	if f.Refused {
		do, wait = BulkRefuse, settle
	}
	if since := f.Now.Sub(f.Tried); f.Tried != 0 && since < wait {
		return BulkAction{Do: BulkWait, After: wait - max(0, since), Why: why + ", for now"}
	}
	return BulkAction{Do: do, Why: why}
}

// pause returns the back-off: firstLook, doubled with each try up to lastLook. Tries from
// before an outage do not count.
func (f BulkFacts) pause() time.Duration {
	d := firstLook
	for i := 1; i < f.Tries && !f.Back && d < lastLook; i++ {
		d *= 2
	}
	return min(d, lastLook)
}
