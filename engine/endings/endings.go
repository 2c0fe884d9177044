// Package endings remembers what was noticed about attempts that may be over.
package endings

import (
	"maps"
	"slices"
	"sync"
	"time"

	"jjm"
	"jjm/engine/fair"
	"jjm/plan"
)

// Endings remembers what has been noticed about attempts that may be over. It
// is a memory of observations only: after a restart listings and folders tell
// it all again.
type Endings struct {
	Look  chan struct{} // wakes who looks at what may be over
	mu    sync.Mutex
	noted notes // reached by open alone
}

// notes are what the lock of Endings guards.
type notes struct {
	whose func(jjm.GridID) int              // the account of a grid job
	m     map[int]map[jjm.AttemptID]*Ending // by account
	held  map[int]int64                     // memory of results, by account, in bytes
	all   int64                             // of all accounts
}

// open takes the lock and returns what it guards, until done is called.
func (es *Endings) open() (n *notes, done func()) {
	es.mu.Lock()
	return &es.noted, es.mu.Unlock
}

// Ending is what was noticed about one attempt.
type Ending struct {
	Report   jjm.Report // an ended state, once seen
	Ended    jjm.Time   // when it was first seen
	Result   *jjm.Result
	ResultAt jjm.Time
	Spoiled  string       // why what it brought back will never be usable
	Claim    *jjm.Claim   // once known: it never changes
	ClaimAt  jjm.Time     // when it was read
	Suspect  *jjm.Report  // another live batch job under the same tag and index
	others   []jjm.Report // what the batch system last said of each other batch job under them
	absence
	heartbeat
	Due jjm.Time // not before this
	Set jjm.Time // when due was set: before it, the clock was set back
}

// absence is what was noticed of an attempt that listings do not show.
type absence struct {
	asked   bool // accounting does not know it
	Missing bool
	Absence plan.AbsenceVerdict
	Proving bool // jjm cancelled it to prove its absence
}

// heartbeat is what was noticed of a wrapper's.
type heartbeat struct {
	beat     time.Time // when it was last seen to change; zero = not looked at
	beatSeen jjm.Time  // when that was, by our clock
	fresh    bool      // when it was last looked at because the attempt is missing
	looked   bool      // it was
}

// setBack takes from now on what a clock that was set back since shows in the
// future: to wait until it comes there again could take days.
func (en *Ending) setBack(now jjm.Time) {
	en.Ended, en.ResultAt, en.beatSeen = min(en.Ended, now), min(en.ResultAt, now), min(en.beatSeen, now)
	en.ClaimAt = min(en.ClaimAt, now)
}

func New(whose func(jjm.GridID) int) *Endings {
	return &Endings{Look: make(chan struct{}, 1), noted: notes{whose: whose,
		m: map[int]map[jjm.AttemptID]*Ending{}, held: map[int]int64{}}}
}

// Wake has what may be over looked at.
func (es *Endings) Wake() { fair.Kick(es.Look) }

// get returns the entry of an attempt, or nil.
func (n *notes) get(id jjm.AttemptID) *Ending { return n.m[n.whose(id.Grid)][id] }

// of returns the entry of an attempt, made if need be.
func (n *notes) of(id jjm.AttemptID) *Ending {
	uid := n.whose(id.Grid)
	of := n.m[uid]
	if of == nil {
		of = map[jjm.AttemptID]*Ending{}
		n.m[uid] = of
	}
	en := of[id]
	if en == nil {
		en = &Ending{}
		of[id] = en
	}
	return en
}

// With runs fn on the entry of id under the lock.
func (es *Endings) With(id jjm.AttemptID, fn func(*Ending)) {
	n, done := es.open()
	defer done()
	fn(n.of(id))
}

// Report notes that the batch system says that the attempt is over.
func (es *Endings) Report(id jjm.AttemptID, r jjm.Report, now jjm.Time) {
	es.With(id, func(en *Ending) {
		if en.Ended == 0 {
			en.Ended = now
		}
		en.Report, en.Missing, en.Due = r, false, 0
	})
}

// Result notes a wrapper's result.
func (es *Endings) Result(r *jjm.Result, now jjm.Time) {
	n, done := es.open()
	defer done()
	if en := n.of(r.AttemptID()); en.Result == nil {
		en.Result, en.ResultAt, en.Due = r, now, 0
		n.hold(n.whose(r.Grid), Weight(r)) // where the entry is
	}
}

// WithoutReport counts, for each bulk, the results whose end the batch system has
// not told yet.
func (es *Endings) WithoutReport() map[jjm.Tag]int {
	n, done := es.open()
	defer done()
	tags := map[jjm.Tag]int{}
	for _, of := range n.m {
		for _, en := range of {
			if en.Result != nil && !en.Report.State.Ended() {
				tags[en.Result.Tag]++
			}
		}
	}
	return tags
}

// Alive forgets an absence.
func (es *Endings) Alive(id jjm.AttemptID) {
	n, done := es.open()
	defer done()
	if en := n.get(id); en != nil {
		en.Missing, en.asked, en.looked = false, false, false
	}
}

// Revived forgets an end that the batch system took back: a job that it started
// anew has an end of its own, from which its result has time to arrive.
func (es *Endings) Revived(id jjm.AttemptID) {
	n, done := es.open()
	defer done()
	if en := n.get(id); en != nil && en.Report.State.Ended() {
		en.Report, en.Ended = jjm.Report{}, 0
	}
}

// Absent notes how an absence is judged so far.
func (es *Endings) Absent(id jjm.AttemptID, v plan.AbsenceVerdict) {
	es.With(id, func(en *Ending) {
		if !en.Missing || en.Absence != v {
			en.Due = 0
		}
		en.Missing, en.Absence = true, v
	})
}

// Asked notes that accounting does not know the attempt.
func (es *Endings) Asked(id jjm.AttemptID) {
	es.With(id, func(en *Ending) { en.asked = true })
}

// Suspect notes a second live batch job for the attempt.
func (es *Endings) Suspect(id jjm.AttemptID, r jjm.Report) {
	es.With(id, func(en *Ending) { en.Suspect, en.Due = &r, 0 })
	es.Other(id, r)
}

// maxOthers bounds the other batch jobs that are kept in mind of one attempt: a
// listing may name as many as its account likes.
const maxOthers = 8

// Other notes what the batch system says of another batch job under the attempt's
// tag and index. It alone can say so: what a claim says is its account's word.
func (es *Endings) Other(id jjm.AttemptID, r jjm.Report) {
	es.With(id, func(en *Ending) {
		at := slices.IndexFunc(en.others, func(o jjm.Report) bool { return o.ID == r.ID })
		switch {
		case at < 0 && len(en.others) < maxOthers:
			en.others, en.Due = append(slices.Clone(en.others), r), 0
		case at >= 0 && en.others[at].State != r.State:
			en.others, en.Due = slices.Clone(en.others), 0 // looks have copies of the entry
			en.others[at] = r
		}
	})
}

// Shown returns what the batch system said of another batch job of the attempt.
func (en *Ending) Shown(batch string) (r jjm.Report, ok bool) {
	for _, o := range en.others {
		if o.ID == batch {
			return o, true
		}
	}
	return jjm.Report{}, false
}

// Judged is the report that the attempt is judged on: of the batch job that the
// result names, if the batch system shows that one for the attempt too, else of the
// one that the attempt points to.
func (en *Ending) Judged() jjm.Report {
	if en.Result == nil || en.Result.Claim.Batch == en.Report.ID {
		return en.Report
	}
	other, ok := en.Shown(en.Result.Claim.Batch)
	switch {
	case !ok:
		return en.Report
	case other.State.Ended():
		return other
	}
	return jjm.Report{ID: other.ID, Submitted: other.Submitted}
}

// Beats notes a wrapper's heartbeat, and returns for how long none has changed it.
func (es *Endings) Beats(id jjm.AttemptID, beat time.Time, now jjm.Time) (quiet time.Duration) {
	es.With(id, func(en *Ending) {
		if !beat.Equal(en.beat) {
			en.beat, en.beatSeen = beat, now
		}
		quiet = now.Sub(en.beatSeen)
	})
	return quiet
}

// BeatLooked notes whether the heartbeat of a missing attempt was fresh.
func (es *Endings) BeatLooked(id jjm.AttemptID, fresh bool) {
	es.With(id, func(en *Ending) { en.looked, en.fresh = true, fresh })
}

// Stale reports whether the heartbeat of an attempt was looked at and not fresh.
func (es *Endings) Stale(id jjm.AttemptID) bool {
	n, done := es.open()
	defer done()
	en := n.get(id)
	return en != nil && en.looked && !en.fresh
}

// Kill notes that the attempt is to be ended.
func (es *Endings) Kill(id jjm.AttemptID) {
	es.With(id, func(en *Ending) { en.Due = 0 })
}

// Knows reports whether this end was already noted.
func (es *Endings) Knows(id jjm.AttemptID, s jjm.BatchState) bool {
	n, done := es.open()
	defer done()
	en := n.get(id)
	return en != nil && en.Report.State == s
}

// Accounted reports whether accounting was asked in vain.
func (es *Endings) Accounted(id jjm.AttemptID) bool {
	n, done := es.open()
	defer done()
	en := n.get(id)
	return en != nil && en.asked
}

// HasResult reports whether the attempt's result was read.
func (es *Endings) HasResult(id jjm.AttemptID) bool {
	n, done := es.open()
	defer done()
	en := n.get(id)
	return en != nil && en.Result != nil
}

// Due lists at most limit attempts of an account to look at now.
func (es *Endings) Due(uid int, now jjm.Time, limit int) []jjm.AttemptID {
	n, done := es.open()
	defer done()
	var ids []jjm.AttemptID
	for id, en := range n.m[uid] {
		if en.Due <= now || now < en.Set {
			if ids = append(ids, id); len(ids) == limit {
				break
			}
		}
	}
	return ids
}

// Copy returns a snapshot of an entry.
func (es *Endings) Copy(id jjm.AttemptID, now jjm.Time) Ending {
	n, done := es.open()
	defer done()
	en := n.of(id)
	en.setBack(now)
	return *en
}

// Forget drops the entry: the attempt was judged, or is no longer current.
func (es *Endings) Forget(id jjm.AttemptID) {
	n, done := es.open()
	defer done()
	for uid, of := range n.m { // not by whose: its grid job may be gone since
		en := of[id]
		if en == nil {
			continue
		}
		if en.Result != nil {
			n.hold(uid, -Weight(en.Result))
		}
		if delete(of, id); len(of) == 0 {
			delete(n.m, uid)
		}
		return
	}
}

// Accounts lists those that have something to look at.
func (es *Endings) Accounts() []int {
	n, done := es.open()
	defer done()
	return slices.Collect(maps.Keys(n.m))
}

// What results that wait for their verdict may take of the memory: for one
// account, and for all together. Beyond, they wait in their folders.
const (
	heldByOne = 32 << 20
	heldByAll = 192 << 20
)

// hold counts memory of results.
func (n *notes) hold(uid int, bytes int64) {
	n.all += bytes
	if n.held[uid] += bytes; n.held[uid] <= 0 {
		delete(n.held, uid)
	}
}

// MayHold reports whether one more result of an account may be read: always one.
func (es *Endings) MayHold(uid int) bool {
	n, done := es.open()
	defer done()
	held := n.held[uid]
	return held == 0 || held < heldByOne && n.all < heldByAll
}

// Weight is about the memory that a result takes, in bytes: what it consists of,
// and its texts.
func Weight(r *jjm.Result) int64 {
	n := 512 + len(r.GLF) + len(r.Error)
	for i := range r.Outputs {
		o := &r.Outputs[i]
		n += 64 + len(o.Name) + len(o.SHA256) + len(o.Absent)
	}
	return int64(n)
}
