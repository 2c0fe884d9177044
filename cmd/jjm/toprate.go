package main

import (
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// leastPace is the shortest time over which jjm top measures a rate. The longest time is paceWindow.
const leastPace = 10 * time.Second

// topMeter measures, from the counts in the daemon's answers, the rates at which local jobs are submitted, end and
// fail: of all grid jobs together, and of each.
type topMeter struct {
	at    jjm.Time // the time of the last answer, 0 before the first answer
	whole topPace
	jobs  map[jjm.GridID]*topPace
}

// topPace measures the rates of one grid job, or of all together. Each mark holds the time of an answer, and the
// numbers of local jobs that were submitted, ended and failed between the first answer and this time.
type topPace struct {
	seen  topRates // the counts in the last answer
	marks []topMark
}

type topMark struct {
	at  jjm.Time
	sum topRates
}

// add records the counts of the grid jobs in an answer. It returns the rates of all grid jobs together, nil if they are
// not known yet. It forgets grid jobs that are not in all.
func (m *topMeter) add(at jjm.Time, all []wire.Status) *topRates {
	total := m.whole.sum()
	kept := map[jjm.GridID]*topPace{}
	for i := range all {
		id, now := all[i].Lookup.ID, doneCounts(all[i].Lookup.Counts)
		p := m.jobs[id]
		if p == nil {
			p = &topPace{seen: now}
			if m.at != 0 && all[i].Accepted >= m.at {
				p.seen = topRates{} // a new grid job: all its local jobs were submitted since the last answer
			}
		}
		total = total.plus(p.add(at, now))
		kept[id] = p
	}
	m.jobs, m.at = kept, at
	m.whole.mark(at, total)
	rates, ok := m.whole.rates()
	if !ok {
		return nil
	}
	return &rates
}

// perMinute returns how many local jobs of a grid job end per minute. While the grid job was not watched for long
// enough, it returns the rate on which the daemon's estimate of the end is based, or 0 if there is no estimate.
func (m *topMeter) perMinute(st *wire.Status) float64 {
	if p := m.jobs[st.Lookup.ID]; p != nil {
		if rates, ok := p.rates(); ok {
			return rates.Ended
		}
	}
	if e := st.ExpectedEnd; e != nil && e.Within > 0 {
		return float64(e.Ended) / e.Within.D().Minutes()
	}
	return 0
}

// doneCounts returns how many local jobs were submitted, have ended and have failed, according to n.
func doneCounts(n wire.Counts) topRates {
	failed := n.Failed + n.Killed
	ended := n.Completed + failed
	return topRates{Submitted: float64(n.Submitted + n.Running + n.Completing + ended), Ended: float64(ended),
		Failed: float64(failed)}
}

func (r topRates) plus(o topRates) topRates {
	return topRates{r.Submitted + o.Submitted, r.Ended + o.Ended, r.Failed + o.Failed}
}

// add records the counts of a grid job, and returns how much each of them has grown since the last answer. If a count
// fell, because local jobs are tried again, its growth is 0.
func (p *topPace) add(at jjm.Time, now topRates) (grown topRates) {
	grown = topRates{max(now.Submitted-p.seen.Submitted, 0), max(now.Ended-p.seen.Ended, 0),
		max(now.Failed-p.seen.Failed, 0)}
	p.seen = now
	p.mark(at, p.sum().plus(grown))
	return grown
}

// sum returns the numbers in the last mark.
func (p *topPace) sum() topRates {
	if len(p.marks) == 0 {
		return topRates{}
	}
	return p.marks[len(p.marks)-1].sum
}

// mark adds a mark, and drops marks that are older than paceWindow, except the newest of these.
func (p *topPace) mark(at jjm.Time, sum topRates) {
	p.marks = append(p.marks, topMark{at, sum})
	for len(p.marks) > 2 && between(p.marks[1].at, at) >= paceWindow {
		p.marks = p.marks[1:]
	}
}

// rates returns the rates per minute between the first and the last mark. ok is false if less than leastPace lies
// between these marks.
func (p *topPace) rates() (r topRates, ok bool) {
	if len(p.marks) < 2 {
		return r, false
	}
	first, last := p.marks[0], p.marks[len(p.marks)-1]
	d := between(first.at, last.at)
	if d < leastPace {
		return r, false
	}
	m := d.Minutes()
	return topRates{(last.sum.Submitted - first.sum.Submitted) / m, (last.sum.Ended - first.sum.Ended) / m,
		(last.sum.Failed - first.sum.Failed) / m}, true
}

// between returns the duration from one time to another.
func between(from, to jjm.Time) time.Duration { return to.Time().Sub(from.Time()) }
