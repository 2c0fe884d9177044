package answer

import (
	"maps"
	"sync"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse"
	"jjm/internal/policy/health"
)

// Meter counts jobs and events for the metrics of the site. Its methods may be called from many goroutines.
type Meter struct {
	s *state.State

	mu       sync.Mutex
	happened health.Counts // without Grids and Locals, which Counts computes
}

// NewMeter returns a Meter. All its counts of events are 0.
func NewMeter(s *state.State) *Meter {
	m := &Meter{s: s, happened: health.Counts{Clusters: map[string]health.ClusterCounts{},
		Attempts: map[health.End]int64{}}}
	for _, name := range s.Names {
		m.happened.Clusters[name] = health.ClusterCounts{}
	}
	return m
}

// Count counts the events of a committed change.
func (m *Meter) Count(c *state.Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range c.Created {
		if n, ok := m.happened.Clusters[b.Cluster]; ok {
			n.Submissions++
			n.Submitted += int64(len(b.Members))
			m.happened.Clusters[b.Cluster] = n
		}
	}
	for _, e := range c.Ends {
		if e.Verdict.Level == analyse.LevelSubmit && e.Verdict.Action == jjm.Retry {
			continue // a refused bulk was taken back and is submitted again: no batch system had the attempt
		}
		m.happened.Attempts[health.End{Action: e.Verdict.Action, Level: e.Verdict.Level, Class: e.Verdict.Class}]++
	}
	for _, e := range c.Journal {
		if to, ended := gridEnd(e); ended {
			m.happened.GridsEnded[to]++
			if g := c.Grids[e.Grid]; g != nil {
				m.happened.Collected += g.TarBytes
			}
		}
	}
}

// gridEnd returns the final status of a grid job if the journal entry is about the end of a grid job; else ended is
// false.
func gridEnd(e jjm.JournalEntry) (to jjm.GridStatus, ended bool) {
	if e.First >= 0 || e.From == e.To || to.UnmarshalText([]byte(e.To)) != nil {
		return 0, false
	}
	return to, to.Final()
}

// Counts returns all counts. It visits each live grid job, but no local jobs.
func (m *Meter) Counts() health.Counts {
	m.mu.Lock()
	n := m.happened
	n.Clusters, n.Attempts = maps.Clone(n.Clusters), maps.Clone(n.Attempts)
	m.mu.Unlock()
	v := m.s.View()
	defer v.Close()
	for _, g := range v.Grids() {
		n.Grids[g.Job.Status]++
		for state, jobs := range g.Counts {
			n.Locals[state] += jobs
		}
		if g.Job.Status.Final() {
			continue
		}
		for name, jobs := range g.InBatch() {
			if of, ok := n.Clusters[name]; ok {
				for state := range jobs {
					of.Jobs[state] += jobs[state]
				}
				n.Clusters[name] = of
			}
		}
	}
	return n
}
