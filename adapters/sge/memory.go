package sge

import (
	"maps"
	"slices"
	"sync"
	"time"

	"jjm/internal/jjm"
)

// memory stores facts from earlier listings. It only makes reports consistent; nothing else depends on it. It is needed
// for three reasons: qstat shows the submission time of waiting tasks only; the start in the accounting file is some
// seconds later than the start in qstat; and for some time after its end a task is in neither source.
type memory struct {
	mu    sync.Mutex
	alive map[key]seen
	bulks map[bulkKey]bulk
}

// seen is the last report of a task while it was alive.
type seen struct {
	report jjm.Report
	user   string
	at     time.Time // time of the latest listing with the task
}

// bulkKey identifies an array: its tag and its number. The tag is needed because numbers are reused.
type bulkKey struct {
	tag jjm.Tag
	num int64
}

// bulk holds facts about one array.
type bulk struct {
	submitted jjm.Time
	pending   string
	errors    map[int32]string
	asked     time.Time // time of the latest answer of qstat -j about the array
	listed    time.Time // time of the latest listing with the array
}

func newMemory() *memory {
	return &memory{alive: map[key]seen{}, bulks: map[bulkKey]bulk{}}
}

// askAgain is the largest age of the answer of qstat -j about a queued array. The answer has the reason why the array
// waits. That reason changes with each run of the scheduler, but people do not read it that often. A newly submitted
// array is not looked up until it is askAgain old, because it usually starts before anybody reads its reason.
const askAgain = 2 * time.Minute

// forgetAfter is the time after which facts about unlisted tasks are dropped. It is longer than any delay of the
// accounting file that a site would set (flush_time).
const forgetAfter = 15 * time.Minute

// maxAsked is the largest number of arrays in one command, whose answer has some 4 kB for each array (measured on
// 8.1.9).
const maxAsked = 200

// toAskAbout stores the arrays of a listing, and returns at most maxAsked arrays to look up with qstat -j. These are
// arrays with unknown submission time, arrays in error without a reason, and queued arrays that were submitted longer
// ago than askAgain and not looked up within askAgain.
func (m *memory) toAskAbout(entries []entry, now time.Time) []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	ask := map[int64]bool{}
	for _, e := range entries {
		k := bulkKey{e.tag, e.bulk}
		b := m.bulks[k]
		b.listed = now
		if e.submitted != 0 {
			b.submitted = e.submitted
		}
		m.bulks[k] = b
		fresh := now.Sub(b.asked) < askAgain
		switch {
		case b.submitted == 0, inError(e.letters) && b.lacksReason(e.tasks):
			ask[e.bulk] = true
		case e.state == jjm.BatchQueued && !fresh && now.Sub(b.submitted.Time()) > askAgain:
			ask[e.bulk] = true
		}
	}
	maps.DeleteFunc(m.bulks, func(_ bulkKey, b bulk) bool { return now.Sub(b.listed) > forgetAfter })
	bulks := slices.Sorted(maps.Keys(ask))
	return bulks[:min(len(bulks), maxAsked)]
}

// lacksReason reports whether the reason for the error of one of the tasks is still unknown.
func (b bulk) lacksReason(tasks []span) (missing bool) {
	each(tasks, func(t int32) { missing = missing || b.errors[t] == "" })
	return missing
}

// submitted returns the submission time of an array, 0 if it is unknown.
func (m *memory) submitted(k bulkKey) jjm.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bulks[k].submitted
}

// learn stores the answers of qstat -j.
func (m *memory) learn(details []detail, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range details {
		k := bulkKey{jjm.Tag(d.name), d.bulk}
		b, ok := m.bulks[k]
		if !ok {
			continue
		}
		b.submitted, b.pending, b.errors, b.asked = d.submitted, d.pending, d.errors, now
		m.bulks[k] = b
	}
}

// reports returns the reports of the living tasks in a listing.
func (m *memory) reports(entries []entry) map[key]jjm.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[key]jjm.Report{}
	for _, e := range entries {
		b := m.bulks[bulkKey{e.tag, e.bulk}]
		each(e.tasks, func(task int32) {
			k := key{e.tag, e.bulk, task}
			r := jjm.Report{
				Tag: e.tag, Index: task - 1, ID: k.id(), State: e.state, Host: e.host, Source: "qstat",
				Submitted: b.submitted, Started: e.started,
			}
			if isRerun(e.letters) {
				r.Restarts = 1 // at least one restart; addRestarts sets the exact number
			}
			switch {
			case inError(e.letters):
				r.Hold, r.Reason = e.letters, "in error: "+b.errors[task]
			case e.state == jjm.BatchHold:
				r.Hold, r.Reason = e.letters, "held"
			case e.state == jjm.BatchQueued:
				r.Reason = b.pending
			}
			out[k] = r
		})
	}
	return out
}

// awaitingRecords stores the living tasks. It returns the user's tasks that were alive within gap and now are neither
// alive nor recorded. If a task that was alive now has a record, awaitingRecords copies its start time and restarts
// into the record. It forgets a task that has a record or left the queue longer ago than forgetAfter.
func (m *memory) awaitingRecords(user string, alive map[key]jjm.Report, h *history, now time.Time,
	gap time.Duration) []jjm.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, r := range alive {
		m.alive[k] = seen{r, user, now}
	}
	var out []jjm.Report
	for k, s := range m.alive {
		if _, lives := alive[k]; lives || s.user != user {
			continue
		}
		switch _, over := h.get(k, user); {
		case over:
			h.startedAt(k, s.report.Started, s.report.Restarts)
			delete(m.alive, k)
		case now.Sub(s.at) <= gap:
			s.report.Reason = "left the queue; its accounting record is not written yet"
			out = append(out, s.report)
		case now.Sub(s.at) > forgetAfter:
			delete(m.alive, k)
		}
	}
	return out
}

// recentBulks returns the arrays of a user that had living tasks within gap.
func (m *memory) recentBulks(user string, now time.Time, gap time.Duration) map[bulkKey]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[bulkKey]bool{}
	for k, s := range m.alive {
		if s.user == user && now.Sub(s.at) <= gap {
			out[bulkKey{k.tag, k.bulk}] = true
		}
	}
	return out
}
