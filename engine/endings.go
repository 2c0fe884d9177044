package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"jjm"
	"jjm/plan"
)

// endings remembers what has been noticed about attempts that may be over. It
// is a memory of observations only: after a restart listings and folders tell
// it all again.
type endings struct {
	whose func(jjm.GridID) int // the account of a grid job
	mu    sync.Mutex
	m     map[int]map[jjm.AttemptID]*ending // by account
	held  map[int]int64                     // memory of results, by account, in bytes
	all   int64                             // of all accounts
}

// ending is what was noticed about one attempt.
type ending struct {
	report   jjm.Report // an ended state, once seen
	ended    jjm.Time   // when it was first seen
	result   *jjm.Result
	resultAt jjm.Time
	spoiled  string     // why what it brought back will never be usable
	claim    *jjm.Claim // once known: it never changes
	claimAt  jjm.Time   // when it was read
	asked    bool       // accounting does not know it
	missing  bool
	absence  plan.AbsenceVerdict
	proving  bool         // jjm cancelled it to prove its absence
	suspect  *jjm.Report  // another live batch job under the same tag and index
	others   []jjm.Report // what the batch system last said of each other batch job under them
	beat     time.Time    // of its wrapper, when it was last seen to change; zero = not looked at
	beatSeen jjm.Time     // when that was, by our clock
	fresh    bool         // the heartbeat, when it was last looked at because the attempt is missing
	looked   bool         // it was
	due      jjm.Time     // not before this
	set      jjm.Time     // when due was set: before it, the clock was set back
}

// setBack takes from now on what a clock that was set back since shows in the
// future: to wait until it comes there again could take days.
func (en *ending) setBack(now jjm.Time) {
	en.ended, en.resultAt, en.beatSeen = min(en.ended, now), min(en.resultAt, now), min(en.beatSeen, now)
	en.claimAt = min(en.claimAt, now)
}

func newEndings(whose func(jjm.GridID) int) *endings {
	return &endings{whose: whose, m: map[int]map[jjm.AttemptID]*ending{}, held: map[int]int64{}}
}

// get gives the entry of an attempt, or nil. The lock is held.
func (es *endings) get(id jjm.AttemptID) *ending { return es.m[es.whose(id.Grid)][id] }

// of gives the entry of an attempt, made if need be. The lock is held.
func (es *endings) of(id jjm.AttemptID) *ending {
	uid := es.whose(id.Grid)
	of := es.m[uid]
	if of == nil {
		of = map[jjm.AttemptID]*ending{}
		es.m[uid] = of
	}
	en := of[id]
	if en == nil {
		en = &ending{}
		of[id] = en
	}
	return en
}

// with runs fn on the entry of id under the lock.
func (es *endings) with(id jjm.AttemptID, fn func(*ending)) {
	es.mu.Lock()
	defer es.mu.Unlock()
	fn(es.of(id))
}

// report notes that the batch system says that the attempt is over.
func (es *endings) report(id jjm.AttemptID, r jjm.Report, now jjm.Time) {
	es.with(id, func(en *ending) {
		if en.ended == 0 {
			en.ended = now
		}
		en.report, en.missing, en.due = r, false, 0
	})
}

// result notes a wrapper's result.
func (es *endings) result(r *jjm.Result, now jjm.Time) {
	es.with(r.AttemptID(), func(en *ending) {
		if en.result == nil {
			en.result, en.resultAt, en.due = r, now, 0
			es.hold(es.whose(r.Grid), weight(r)) // where the entry is
		}
	})
}

// withoutReport counts, for each bulk, the results whose end the batch system has
// not told yet.
func (es *endings) withoutReport() map[jjm.Tag]int {
	es.mu.Lock()
	defer es.mu.Unlock()
	tags := map[jjm.Tag]int{}
	for _, of := range es.m {
		for _, en := range of {
			if en.result != nil && !en.report.State.Ended() {
				tags[en.result.Tag]++
			}
		}
	}
	return tags
}

// alive forgets an absence.
func (es *endings) alive(id jjm.AttemptID) {
	es.mu.Lock()
	defer es.mu.Unlock()
	if en := es.get(id); en != nil {
		en.missing, en.asked, en.looked = false, false, false
	}
}

// revived forgets an end that the batch system took back: a job that it started
// anew has an end of its own, from which its result has time to arrive.
func (es *endings) revived(id jjm.AttemptID) {
	es.mu.Lock()
	defer es.mu.Unlock()
	if en := es.get(id); en != nil && en.report.State.Ended() {
		en.report, en.ended = jjm.Report{}, 0
	}
}

// absent notes how an absence is judged so far.
func (es *endings) absent(id jjm.AttemptID, v plan.AbsenceVerdict) {
	es.with(id, func(en *ending) {
		if !en.missing || en.absence != v {
			en.due = 0
		}
		en.missing, en.absence = true, v
	})
}

// asked notes that accounting does not know the attempt.
func (es *endings) asked(id jjm.AttemptID) {
	es.with(id, func(en *ending) { en.asked = true })
}

// suspect notes a second live batch job for the attempt.
func (es *endings) suspect(id jjm.AttemptID, r jjm.Report) {
	es.with(id, func(en *ending) { en.suspect, en.due = &r, 0 })
	es.other(id, r)
}

// maxOthers bounds the other batch jobs that are kept in mind of one attempt: a
// listing may name as many as its account likes.
const maxOthers = 8

// other notes what the batch system says of another batch job under the attempt's
// tag and index. It alone can say so: what a claim says is its account's word.
func (es *endings) other(id jjm.AttemptID, r jjm.Report) {
	es.with(id, func(en *ending) {
		at := slices.IndexFunc(en.others, func(o jjm.Report) bool { return o.ID == r.ID })
		switch {
		case at < 0 && len(en.others) < maxOthers:
			en.others, en.due = append(slices.Clone(en.others), r), 0
		case at >= 0 && en.others[at].State != r.State:
			en.others, en.due = slices.Clone(en.others), 0 // looks have copies of the entry
			en.others[at] = r
		}
	})
}

// shown gives what the batch system said of another batch job of the attempt.
func (en *ending) shown(batch string) (r jjm.Report, ok bool) {
	for _, o := range en.others {
		if o.ID == batch {
			return o, true
		}
	}
	return jjm.Report{}, false
}

// judged is the report that the attempt is judged on: of the batch job that the
// result names, if the batch system shows that one for the attempt too, else of the
// one that the attempt points to.
func (en *ending) judged() jjm.Report {
	if en.result == nil || en.result.Claim.Batch == en.report.ID {
		return en.report
	}
	other, ok := en.shown(en.result.Claim.Batch)
	switch {
	case !ok:
		return en.report
	case other.State.Ended():
		return other
	}
	return jjm.Report{ID: other.ID, Submitted: other.Submitted}
}

// beats notes a wrapper's heartbeat, and gives for how long none has changed it.
func (es *endings) beats(id jjm.AttemptID, beat time.Time, now jjm.Time) (quiet time.Duration) {
	es.with(id, func(en *ending) {
		if !beat.Equal(en.beat) {
			en.beat, en.beatSeen = beat, now
		}
		quiet = now.Sub(en.beatSeen)
	})
	return quiet
}

// beatLooked notes whether the heartbeat of a missing attempt was fresh.
func (es *endings) beatLooked(id jjm.AttemptID, fresh bool) {
	es.with(id, func(en *ending) { en.looked, en.fresh = true, fresh })
}

// stale reports whether the heartbeat of an attempt was looked at and not fresh.
func (es *endings) stale(id jjm.AttemptID) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	en := es.get(id)
	return en != nil && en.looked && !en.fresh
}

// kill notes that the attempt is to be ended.
func (es *endings) kill(id jjm.AttemptID) {
	es.with(id, func(en *ending) { en.due = 0 })
}

// knows reports whether this end was already noted.
func (es *endings) knows(id jjm.AttemptID, s jjm.BatchState) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	en := es.get(id)
	return en != nil && en.report.State == s
}

// accounted reports whether accounting was asked in vain.
func (es *endings) accounted(id jjm.AttemptID) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	en := es.get(id)
	return en != nil && en.asked
}

// hasResult reports whether the attempt's result was read.
func (es *endings) hasResult(id jjm.AttemptID) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	en := es.get(id)
	return en != nil && en.result != nil
}

// due lists at most limit attempts of an account to look at now.
func (es *endings) due(uid int, now jjm.Time, limit int) []jjm.AttemptID {
	es.mu.Lock()
	defer es.mu.Unlock()
	var ids []jjm.AttemptID
	for id, en := range es.m[uid] {
		if en.due <= now || now < en.set {
			if ids = append(ids, id); len(ids) == limit {
				break
			}
		}
	}
	return ids
}

// copy gives a snapshot of an entry.
func (es *endings) copy(id jjm.AttemptID, now jjm.Time) ending {
	es.mu.Lock()
	defer es.mu.Unlock()
	en := es.of(id)
	en.setBack(now)
	return *en
}

// forget drops the entry: the attempt was judged, or is no longer current.
func (es *endings) forget(id jjm.AttemptID) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for uid, of := range es.m { // not by whose: its grid job may be gone since
		en := of[id]
		if en == nil {
			continue
		}
		if en.result != nil {
			es.hold(uid, -weight(en.result))
		}
		if delete(of, id); len(of) == 0 {
			delete(es.m, uid)
		}
		return
	}
}

// accounts lists those that have something to look at.
func (es *endings) accounts() []int {
	es.mu.Lock()
	defer es.mu.Unlock()
	return slices.Collect(maps.Keys(es.m))
}

// What results that wait for their verdict may take of the memory: for one
// account, and for all together. Beyond, they wait in their folders.
const (
	heldByOne = 32 << 20
	heldByAll = 192 << 20
)

// hold counts memory of results. The lock is held.
func (es *endings) hold(uid int, bytes int64) {
	es.all += bytes
	if es.held[uid] += bytes; es.held[uid] <= 0 {
		delete(es.held, uid)
	}
}

// mayHold reports whether one more result of an account may be read: always one.
func (es *endings) mayHold(uid int) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	held := es.held[uid]
	return held == 0 || held < heldByOne && es.all < heldByAll
}

// weight is about the memory that a result takes, in bytes: what it consists of,
// and its texts.
func weight(r *jjm.Result) int64 {
	n := 512 + len(r.GLF) + len(r.Error)
	for i := range r.Outputs {
		o := &r.Outputs[i]
		n += 64 + len(o.Name) + len(o.SHA256) + len(o.Absent)
	}
	return int64(n)
}
