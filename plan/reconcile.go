package plan

import (
	"fmt"
	"slices"
	"time"

	"jjm"
	"jjm/adapters"
)

// BulkFacts is all that decides about a bulk whose submission was not plainly
// acknowledged: an ambiguous error, a crash between intent and receipt, or a
// command that certainly failed.
type BulkFacts struct {
	Now jjm.Time
	// Tried is when the command was last started, or when the bulk was made if
	// that is not known; Tries how often it was started.
	Tried jjm.Time
	Tries int
	// Found is what the batch system answers for the bulk's tag, asked after
	// the command ended; the zero value if it was not asked. FindErr is true
	// if it was asked and could not say.
	Found   adapters.Found
	FindErr bool
	// WrapperClaims counts the members that wrappers have claimed; Holders
	// counts them by the id of the bulk they belong to, where that is known.
	WrapperClaims int
	Holders       map[string]int
	// Settle is the adapter's: how long after the command an empty answer
	// proves absence.
	Settle time.Duration
	// Refused: it must not be submitted again, because the command's error said
	// that it never works (Invalid, Denied), or because nobody wants it any
	// more. It does not say that earlier tries came to nothing.
	Refused bool
	// Back: the batch system gave no answers after Tried, and gives some again.
	// What went wrong by then says nothing about now: there is no back-off.
	Back bool
	// Busy: the command's error said that it certainly did nothing, and every
	// try before it is known to have done nothing too.
	Busy bool
}

// BulkDo is what to do about a bulk.
type BulkDo uint8

// The actions.
const (
	// BulkWait: look again after After.
	BulkWait BulkDo = iota
	// BulkAdopt: the batch system has it under ID. An empty ID means that it
	// had it and no longer shows it: take it as accepted, and let the members
	// be judged by their results, claims and absence.
	BulkAdopt
	// BulkSubmit: the batch system surely does not have it: run the command.
	BulkSubmit
	// BulkRefuse: the batch system surely does not have it and never will.
	BulkRefuse
)

// BulkAction is what to do about a bulk now.
type BulkAction struct {
	Do BulkDo
	// ID is the batch system's id of the bulk to keep (BulkAdopt).
	ID string
	// Cancel lists the ids of doubled submissions, to be cancelled and
	// reported loudly. Members whose claim a wrapper of such a bulk holds are
	// to be re-pointed to it first (see Ending) and not cancelled.
	Cancel []string
	After  time.Duration
	Why    string
}

// Waits of Reconcile, chosen to be short for people and long for a batch
// system in trouble: a first look after 2 s, doubling up to 5 minutes.
const (
	firstLook = 2 * time.Second
	lastLook  = 5 * time.Minute
)

// Reconcile settles a doubtful bulk; an ambiguous error and a crash are the
// same to it. First match:
//
//	found                                 BulkAdopt; of several, the one with most claims, and cancel the others
//	wrappers claimed members              BulkAdopt: it exists or existed, whatever the search says
//	busy, refused                         BulkRefuse
//	busy                                  BulkSubmit, after a back-off
//	the search failed or cannot say yet   BulkWait
//	absent, but within Settle             BulkWait
//	absent, refused                       BulkRefuse
//	absent                                BulkSubmit, after a back-off
//
// It neither submits nor refuses while something of the tag may exist: a bulk
// given up as refused could run. Back-off and Settle end, so each bulk is
// settled once the batch system answers; after an outage there is no back-off. A clock set back makes it wait
// longer, never shorter.
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

// adopt keeps one of the bulks found: the one whose wrappers hold most claims,
// since cancelling it would cost most; of equal ones the first.
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
		a.Why = fmt.Sprintf("submitted %d times over: keeping %s, cancelling %v", n+1, keep, a.Cancel)
	}
	return a
}

// adoptByClaims adopts a bulk that the search does not show but whose wrappers
// ran: it ended and was forgotten, or the search is behind.
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

// goOn refuses or submits what surely does not exist, once settle, and before
// a submission the back-off, has passed since the last try. A bulk whose
// command never ran has nothing to wait for.
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

// pause doubles from firstLook to lastLook with the number of tries. Those from
// before an outage do not count.
func (f BulkFacts) pause() time.Duration {
	d := firstLook
	for i := 1; i < f.Tries && !f.Back && d < lastLook; i++ {
		d *= 2
	}
	return min(d, lastLook)
}
