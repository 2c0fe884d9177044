package main

import (
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// leastPace is the shortest time over which jjm top measures a rate; the longest is paceWindow.
const leastPace = 10 * time.Second

// topMeter measures the rates at which local jobs are submitted and end.
type topMeter struct {
	at    jjm.Time // of the last answer, 0 before the first
	whole topPace
	jobs  map[jjm.GridID]*topPace
}

// topPace holds, at several times, the numbers of local jobs that were submitted, ended and failed since the first
// answer.
type topPace struct {
	seen  topRates // the counts in the last answer
	marks []topMark
}

type topMark struct {
	at  jjm.Time
	sum topRates
}

// add records the counts of grid jobs at a time. It returns the rates over all grid jobs, nil if the rates are not
// known yet. It drops grid jobs that are not in all.
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

// perMinute returns how many local jobs of a grid job end per minute. Until the grid job was watched long enough, the
// result is the rate from the daemon's estimate of the end, 0 if there is no estimate.
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

// doneCounts returns how many local jobs were submitted, have ended and have failed.
func doneCounts(n wire.Counts) topRates {
	failed := n.Failed + n.Killed
	ended := n.Completed + failed
	return topRates{Submitted: float64(n.Submitted + n.Running + n.Completing + ended), Ended: float64(ended),
		Failed: float64(failed)}
}

func (r topRates) plus(o topRates) topRates {
	return topRates{r.Submitted + o.Submitted, r.Ended + o.Ended, r.Failed + o.Failed}
}

// add records the counts of one grid job, and returns the growth of each count. A count that fell, because local jobs
// are tried again, has the growth 0.
func (p *topPace) add(at jjm.Time, now topRates) (grown topRates) {
	grown = topRates{max(now.Submitted-p.seen.Submitted, 0), max(now.Ended-p.seen.Ended, 0),
		max(now.Failed-p.seen.Failed, 0)}
	p.seen = now
	p.mark(at, p.sum().plus(grown))
	return grown
}

// sum returns the last sums.
func (p *topPace) sum() topRates {
	if len(p.marks) == 0 {
		return topRates{}
	}
	return p.marks[len(p.marks)-1].sum
}

// mark records the sums at a time, and drops sums from before paceWindow.
func (p *topPace) mark(at jjm.Time, sum topRates) {
	p.marks = append(p.marks, topMark{at, sum})
	for len(p.marks) > 2 && between(p.marks[1].at, at) >= paceWindow {
		p.marks = p.marks[1:]
	}
}

// rates returns the rates per minute, from the first to the last mark. ok is false if less than leastPace lies between
// them.
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

// between returns the duration between two times.
func between(from, to jjm.Time) time.Duration { return to.Time().Sub(from.Time()) }
