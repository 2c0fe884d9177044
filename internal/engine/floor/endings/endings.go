// Package endings keeps the observations about attempts that may have ended: reports of batch systems, results, claims,
// heartbeats, absence from listings. Package cluster and package verdict write the observations; package verdict judges
// attempts by them. Package endings stores nothing and makes no decisions.
package endings

import (
	"maps"
	"slices"
	"sync"
	"time"

	"jjm/internal/engine/floor/fair"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Endings holds an Ending for each attempt that may have ended. It lives in memory only, because listings and folders
// show the same observations again after a restart. Its methods may be called from many goroutines.
type Endings struct {
	Look  chan struct{} // wakes the loop that judges attempts
	mu    sync.Mutex
	noted notes // guarded by mu; access only through open
}

// notes holds the entries of all attempts, and the numbers of bytes of memory that the results in these entries take.
type notes struct {
	whose func(jjm.GridID) int              // returns the account of a grid job
	m     map[int]map[jjm.AttemptID]*Ending // by account, then attempt
	next  map[int]jjm.AttemptID             // by account: the last attempt that Due returned
	held  map[int]int64                     // bytes of results, by account
	all   int64                             // bytes of results of all accounts
}

// open locks mu and returns the notes. The caller must call done, and must not use n afterwards.
func (es *Endings) open() (n *notes, done func()) {
	es.mu.Lock()
	return &es.noted, es.mu.Unlock
}

// Ending holds the observations about one attempt that is ending.
type Ending struct {
	Report   jjm.Report // the batch system's report of the attempt's end; zero until the end is reported
	Ended    jjm.Time   // when Report was first seen
	NeverRan bool       // Report proves that no process of the attempt was or will be started
	Result   *jjm.Result
	ResultAt jjm.Time
	Spoiled  string       // why its result can never be used; "" if it can
	Claim    *jjm.Claim   // nil until read; a claim never changes
	ClaimAt  jjm.Time     // when Claim was read
	Suspect  *jjm.Report  // another live batch job under the same tag and index
	others   []jjm.Report // the last report of each other batch job under the same tag and index
	absence
	heartbeat
	Due   jjm.Time // the next time to judge the attempt; 0 = now
	DueAt jjm.Time // when Due was set; if it is in the future, the clock was set back
	trouble
}

// absence holds the observations about an attempt that is missing from listings.
type absence struct {
	unaccounted bool // the batch system's accounting does not know the attempt
	Missing     bool
	Absence     plan.AbsenceVerdict
	Proving     bool // jjm cancelled the attempt to prove its absence
}

// heartbeat holds the observations of a wrapper's heartbeat.
type heartbeat struct {
	beat     time.Time // the modification time last seen; zero = the heartbeat was never read
	beatSeen jjm.Time  // when beat last changed, by the daemon's clock
	fresh    bool      // valid if looked: the heartbeat was fresh
	looked   bool      // the heartbeat was checked after listings no longer had the attempt
}

// setBack moves times that lie in the future to now. Times lie in the future after the clock was
// set back; the attempt would wait until the clock reaches them again, perhaps for days.
func (en *Ending) setBack(now jjm.Time) {
	en.Ended, en.ResultAt, en.beatSeen = min(en.Ended, now), min(en.ResultAt, now), min(en.beatSeen, now)
	en.ClaimAt = min(en.ClaimAt, now)
}

// New returns an empty Endings. whose returns the account of a grid job. It is called under the lock and must not call
// methods of Endings.
func New(whose func(jjm.GridID) int) *Endings {
	return &Endings{Look: make(chan struct{}, 1), noted: notes{whose: whose,
		m: map[int]map[jjm.AttemptID]*Ending{}, next: map[int]jjm.AttemptID{}, held: map[int]int64{}}}
}

// Wake wakes the loop that judges attempts.
func (es *Endings) Wake() { fair.Kick(es.Look) }

// get returns the entry of an attempt, or nil.
func (n *notes) get(id jjm.AttemptID) *Ending { return n.m[n.whose(id.Grid)][id] }

// of returns the entry of an attempt, and makes it if there is none.
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

// With calls fn with the entry of an attempt, while it holds the lock. If there is no entry, With makes an empty entry
// first. fn must not keep the entry or call methods of Endings.
func (es *Endings) With(id jjm.AttemptID, fn func(*Ending)) {
	n, done := es.open()
	defer done()
	fn(n.of(id))
}

// Report notes the batch system's report that the attempt has ended, and makes the attempt due. The attempt no longer
// counts as missing from listings.
func (es *Endings) Report(id jjm.AttemptID, r jjm.Report, now jjm.Time) {
	es.With(id, func(en *Ending) {
		if en.Ended == 0 {
			en.Ended = now
		}
		en.Report, en.Missing, en.Due, en.NeverRan = r, false, 0, false
	})
}

// Withdrawn notes a report of the batch system that proves that no process of the attempt was or will be started.
func (es *Endings) Withdrawn(id jjm.AttemptID, r jjm.Report, now jjm.Time) {
	es.Report(id, r, now)
	es.With(id, func(en *Ending) { en.NeverRan = true })
}

// Result notes a wrapper's result and makes its attempt due. Later results of the same attempt are ignored.
func (es *Endings) Result(r *jjm.Result, now jjm.Time) {
	n, done := es.open()
	defer done()
	if en := n.of(r.AttemptID()); en.Result == nil {
		en.Result, en.ResultAt, en.Due = r, now, 0
		n.hold(n.whose(r.Grid), Weight(r))
	}
}

// WithoutReport returns, for each bulk, the number of attempts that have a result but no
// report of their end from the batch system.
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

// Alive notes that the attempt is listed again. It forgets that earlier listings missed the attempt.
func (es *Endings) Alive(id jjm.AttemptID) {
	n, done := es.open()
	defer done()
	if en := n.get(id); en != nil {
		en.Missing, en.unaccounted, en.looked = false, false, false
	}
}

// Revived forgets an end that the batch system took back by restarting the job. The restarted job will have a new end,
// and its result has the full time to arrive after that end.
func (es *Endings) Revived(id jjm.AttemptID) {
	n, done := es.open()
	defer done()
	if en := n.get(id); en != nil && en.Report.State.Ended() {
		en.Report, en.Ended, en.NeverRan = jjm.Report{}, 0, false
	}
}

// Absent notes the present verdict about an attempt that listings do not show. A new verdict makes the attempt due.
func (es *Endings) Absent(id jjm.AttemptID, v plan.AbsenceVerdict) {
	es.With(id, func(en *Ending) {
		if !en.Missing || en.Absence != v {
			en.Due = 0
		}
		en.Missing, en.Absence = true, v
	})
}

// NoteUnaccounted notes that accounting was asked and does not know the attempt.
func (es *Endings) NoteUnaccounted(id jjm.AttemptID) {
	es.With(id, func(en *Ending) { en.unaccounted = true })
}

// Suspect notes a second live batch job under the attempt's tag and index, and makes the attempt due.
func (es *Endings) Suspect(id jjm.AttemptID, r jjm.Report) {
	es.With(id, func(en *Ending) { en.Suspect, en.Due = &r, 0 })
	es.Other(id, r)
}

// maxOthers is the greatest number of other batch jobs remembered for one attempt. Without it, an account could fill
// the memory, because it can submit any number of jobs under its own tags.
const maxOthers = 8

// Other notes a report of another batch job under the attempt's tag and index. Only a listing proves that such a job
// exists: a claim that names the job is a file of the account and may be forged.
func (es *Endings) Other(id jjm.AttemptID, r jjm.Report) {
	es.With(id, func(en *Ending) {
		at := slices.IndexFunc(en.others, func(o jjm.Report) bool { return o.ID == r.ID })
		switch {
		case at < 0 && len(en.others) < maxOthers:
			en.others, en.Due = append(slices.Clone(en.others), r), 0
		case at >= 0 && en.others[at].State != r.State:
			en.others, en.Due = slices.Clone(en.others), 0 // copies of the entry share the slice
			en.others[at] = r
		}
	})
}

// Shown returns the last report of another batch job under the attempt's tag and index,
// by its batch id.
func (en *Ending) Shown(batch string) (r jjm.Report, ok bool) {
	for _, o := range en.others {
		if o.ID == batch {
			return o, true
		}
	}
	return jjm.Report{}, false
}

// Judged returns the report on which the attempt is judged. If the attempt has a result and a listing showed the batch
// job that the result names, the report is about that batch job, and has no state until the batch job has ended.
// Otherwise the report is Report.
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

// Beats notes the modification time of a wrapper's heartbeat, and returns how long it has
// been unchanged by the daemon's clock.
func (es *Endings) Beats(id jjm.AttemptID, beat time.Time, now jjm.Time) (quiet time.Duration) {
	es.With(id, func(en *Ending) {
		if !beat.Equal(en.beat) {
			en.beat, en.beatSeen = beat, now
		}
		quiet = now.Sub(en.beatSeen)
	})
	return quiet
}

// BeatLooked notes whether the heartbeat of an attempt that listings miss was fresh.
func (es *Endings) BeatLooked(id jjm.AttemptID, fresh bool) {
	es.With(id, func(en *Ending) { en.looked, en.fresh = true, fresh })
}

// Stale reports whether the heartbeat of a missing attempt was looked at and was not
// fresh.
func (es *Endings) Stale(id jjm.AttemptID) bool {
	n, done := es.open()
	defer done()
	en := n.get(id)
	return en != nil && en.looked && !en.fresh
}

// Kill makes an attempt due now, after a kill of the attempt was requested.
func (es *Endings) Kill(id jjm.AttemptID) {
	es.With(id, func(en *Ending) { en.Due = 0 })
}

// Knows reports whether the batch system's last report of the attempt already had this
// state.
func (es *Endings) Knows(id jjm.AttemptID, s jjm.BatchState) bool {
	n, done := es.open()
	defer done()
	en := n.get(id)
	return en != nil && en.Report.State == s
}

// Unaccounted reports whether accounting was asked and does not know the attempt.
func (es *Endings) Unaccounted(id jjm.AttemptID) bool {
	n, done := es.open()
	defer done()
	en := n.get(id)
	return en != nil && en.unaccounted
}

// HasResult reports whether the attempt's result was read.
func (es *Endings) HasResult(id jjm.AttemptID) bool {
	n, done := es.open()
	defer done()
	en := n.get(id)
	return en != nil && en.Result != nil
}

// Due returns at most limit attempts of an account that are to be judged now, in order. Each call begins after the last
// attempt that the previous call returned, and so every attempt is returned eventually. An attempt is also due if the
// clock was set back after its time was set.
func (es *Endings) Due(uid int, now jjm.Time, limit int) []jjm.AttemptID {
	n, done := es.open()
	defer done()
	due := lowest{limit: limit, after: n.next[uid]}
	for id, en := range n.m[uid] {
		if en.Due <= now || now < en.DueAt {
			due.add(id)
		}
	}
	ids := due.cut()
	if len(ids) > 0 {
		n.next[uid] = ids[len(ids)-1]
	}
	return ids
}

// Copy returns a snapshot of the entry of an attempt. If there is no entry, it makes an empty entry first. Times that
// lie in the future are set to now, in the entry and in the snapshot.
func (es *Endings) Copy(id jjm.AttemptID, now jjm.Time) Ending {
	n, done := es.open()
	defer done()
	en := n.of(id)
	en.setBack(now)
	return *en
}

// Forget drops the entry of an attempt that was judged, or is no longer current.
func (es *Endings) Forget(id jjm.AttemptID) {
	n, done := es.open()
	defer done()
	for uid, of := range n.m { // all accounts, because whose may no longer know the grid job
		en := of[id]
		if en == nil {
			continue
		}
		if en.Result != nil {
			n.hold(uid, -Weight(en.Result))
		}
		if delete(of, id); len(of) == 0 {
			delete(n.m, uid)
			delete(n.next, uid)
		}
		return
	}
}

// Accounts returns the accounts that have entries.
func (es *Endings) Accounts() []int {
	n, done := es.open()
	defer done()
	return slices.Collect(maps.Keys(n.m))
}

// heldByOne and heldByAll limit the memory, in bytes, for results that wait for their verdict: of one account and of
// all accounts. Further results wait in their folders.
const (
	heldByOne = 32 << 20
	heldByAll = 192 << 20
)

// hold adds to the bytes of results of an account; negative bytes subtract.
func (n *notes) hold(uid int, bytes int64) {
	n.all += bytes
	if n.held[uid] += bytes; n.held[uid] <= 0 {
		delete(n.held, uid)
	}
}

// MayHold reports whether one more result of an account may be read into memory. An account without results in memory
// may always read one result, so that its results cannot wait forever.
func (es *Endings) MayHold(uid int) bool {
	n, done := es.open()
	defer done()
	held := n.held[uid]
	return held == 0 || held < heldByOne && n.all < heldByAll
}

// Weight returns the approximate number of bytes of memory that a result takes: 512 for the struct, 64 for each output,
// 32 for each unmet pattern, and the texts.
func Weight(r *jjm.Result) int64 {
	n := 512 + len(r.GLF) + len(r.Error)
	for i := range r.Outputs {
		o := &r.Outputs[i]
		n += 64 + len(o.Name) + len(o.SHA256) + len(o.Absent)
	}
	for i := range r.Unmet {
		n += 32 + len(r.Unmet[i].Pattern) + len(r.Unmet[i].Why)
	}
	return int64(n)
}
