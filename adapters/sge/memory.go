package sge

import (
	"maps"
	"slices"
	"sync"
	"time"

	"jjm"
)

// memory is what the adapter keeps of earlier listings. Nothing depends on it
// but how smoothly reports read: qstat tells the submission of waiting tasks
// only, the accounting tells a start some seconds after that of qstat, and
// between the end of a task and its record lies a gap in which neither has it.
type memory struct {
	mu    sync.Mutex
	alive map[key]seen
	bulks map[bulkKey]bulk
}

// seen is a task's last report as a living one.
type seen struct {
	report jjm.Report
	user   string
	at     time.Time // when it was listed last
}

type bulkKey struct {
	tag jjm.Tag
	num int64
}

// bulk is what is known of one array.
type bulk struct {
	submitted jjm.Time
	pending   string
	errors    map[int32]string
	asked     time.Time // when qstat -j was asked about it
	listed    time.Time
}

func newMemory() *memory {
	return &memory{alive: map[key]seen{}, bulks: map[bulkKey]bulk{}}
}

// askAgain is how old what qstat -j said of a waiting array may be: its reason
// changes with each run of the scheduler, but nobody reads it so often.
const askAgain = 2 * time.Minute

// forget is when what was not listed any more is dropped. It is longer than any
// flush_time that a site would set.
const forget = 15 * time.Minute

// mostAsked bounds the arrays that one command asks about: its answer has some
// 4 kB for each (measured on 8.1.9).
const mostAsked = 200

// unclear notes what a listing says of arrays, and gives those to ask about:
// running ones whose submission is not known, ones in error without a reason,
// and waiting ones of which nothing was heard for a while.
func (m *memory) unclear(entries []entry, now time.Time) []int64 {
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
		case b.submitted == 0, inError(e.letters) && b.lacks(e.tasks):
			ask[e.bulk] = true
		case e.state == jjm.BatchQueued && !fresh && now.Sub(b.submitted.Time()) > askAgain:
			ask[e.bulk] = true
		}
	}
	maps.DeleteFunc(m.bulks, func(_ bulkKey, b bulk) bool { return now.Sub(b.listed) > forget })
	bulks := slices.Sorted(maps.Keys(ask))
	return bulks[:min(len(bulks), mostAsked)]
}

// lacks reports whether one of the tasks has no reason yet for its error.
func (b bulk) lacks(tasks []span) (missing bool) {
	each(tasks, func(t int32) { missing = missing || b.errors[t] == "" })
	return missing
}

// submitted returns when an array was submitted, 0 if that is not known.
func (m *memory) submitted(k bulkKey) jjm.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bulks[k].submitted
}

// learn takes what qstat -j said.
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

// reports makes the reports of the living out of a listing.
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
				r.Restarts = 1 // at least; the records count
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

// bridge notes the living, and gives the tasks of a user that were among them
// within gap, but are neither now nor recorded: their records come late. Those
// that are recorded keep the start that they had as living ones.
func (m *memory) bridge(user string, alive map[key]jjm.Report, h *history, now time.Time,
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
		case now.Sub(s.at) > forget:
			delete(m.alive, k)
		}
	}
	return out
}

// within returns the arrays of a user that had living tasks within gap.
func (m *memory) within(user string, now time.Time, gap time.Duration) map[bulkKey]bool {
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
