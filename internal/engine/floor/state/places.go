package state

import (
	"slices"
	"strings"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Spot is a place of a grid job together with a cluster. A place is a set of clusters to which local jobs may go, by
// its number in the grid job's list of places; 0 stands for all clusters of the grid job.
type Spot struct {
	Place   int32
	Cluster string
}

// queues contains an ordered queue of local jobs, by number, for each place. Most grid jobs have only the place 0.
type queues [][]int32

// Of returns the queue of a place, nil if it is empty.
func (q queues) Of(place int32) []int32 {
	if int(place) >= len(q) {
		return nil
	}
	return q[place]
}

// Set replaces the queue of a place. If the new queue is empty, Set releases the memory of the old one. It does nothing
// if the place has never had a queue.
func (q queues) Set(place int32, to []int32) {
	switch {
	case int(place) >= len(q):
	case len(to) == 0:
		q[place] = nil
	default:
		q[place] = to
	}
}

// Push adds a local job at the end of the queue of a place.
func (q *queues) Push(place, n int32) {
	q.grow(place)
	(*q)[place] = append((*q)[place], n)
}

// pushFront adds a local job at the front of the queue of a place.
func (q *queues) pushFront(place, n int32) {
	q.grow(place)
	(*q)[place] = slices.Insert((*q)[place], 0, n)
}

// grow makes q long enough to have a queue for a place.
func (q *queues) grow(place int32) {
	for int(place) >= len(*q) {
		*q = append(*q, nil)
	}
}

// entries contains, by number of local job, 1 + the place of the local job's only valid entry in queues, and 0 if it
// has none. Other entries of the local job in queues are stale.
type entries []int32

// add notes that a local job gets an entry in the queue of a place. It returns false if the local job already has a
// valid entry there.
func (e *entries) add(n, place int32) bool {
	for int(n) >= len(*e) {
		*e = append(*e, 0)
	}
	if e.has(n, place) {
		return false
	}
	(*e)[n] = place + 1
	return true
}

// has reports whether a local job has its valid entry in the queue of a place.
func (e *entries) has(n, place int32) bool { return (*e)[n] == place+1 }

// remove notes that an entry of a local job was taken from the queue of a place. If it was the valid entry, the local
// job has none now.
func (e *entries) remove(n, place int32) {
	if e.has(n, place) {
		(*e)[n] = 0
	}
}

// counter contains a count for each place.
type counter []int

// add adds by to the count of a place.
func (c *counter) add(place int32, by int) {
	for int(place) >= len(*c) {
		*c = append(*c, 0)
	}
	(*c)[place] += by
}

// Of returns the count of a place, 0 if nothing was counted.
func (c counter) Of(place int32) int {
	if int(place) >= len(c) {
		return 0
	}
	return c[place]
}

// Unsent returns 1 if a local job waits for the submission of its first or next attempt, else 0.
func Unsent(l *jjm.LocalJob) int {
	if l.State == jjm.New && !l.IsUnsubmitted() {
		return 1
	}
	return retrying(l)
}

// inBatch returns 1 if a local job is in a batch system or about to be, else 0.
func inBatch(l *jjm.LocalJob) int {
	if l.State.InBatch() && retrying(l) == 0 {
		return 1
	}
	return 0
}

// Among returns the clusters to which local jobs of a place may go. The site may no longer have some of them.
func (g *Grid) Among(place int32) []string {
	return plan.Among(g.Job.Step.Clusters, g.Job.Step.Places, place)
}

// Candidates returns the clusters of g.Among(place) that the site still has and that have not permanently refused local
// jobs of this place.
func (m Memory) Candidates(g *Grid, place int32) []string {
	return slices.DeleteFunc(slices.Clone(g.Among(place)), func(name string) bool {
		_, refused := g.refused[Spot{place, name}]
		_, known := m.s.Positions[name]
		return refused || !known
	})
}

// UnsentFor returns the number of local jobs that wait for submission and whose place includes a cluster.
func (g *Grid) UnsentFor(cluster string) (n int) {
	for place, unsent := range g.UnsentAt {
		if unsent > 0 && slices.Contains(g.Among(int32(place)), cluster) {
			n += unsent
		}
	}
	return n
}

// UnsentPlaces returns the places with local jobs that wait for submission. If no local job waits, it returns only the
// place 0.
func (g *Grid) UnsentPlaces() []int32 {
	var places []int32
	for place, n := range g.UnsentAt {
		if n > 0 {
			places = append(places, int32(place))
		}
	}
	if places == nil {
		return []int32{0}
	}
	return places
}

// PlaceText describes, for people, the clusters to which local jobs of a place may go, for example "a cluster that can
// read from disk7: a, b". place must not be 0.
func PlaceText(g *Grid, place int32) string {
	p := &g.Job.Step.Places[place-1]
	need := "one of its clusters"
	if len(p.Storages) > 0 {
		need = "a cluster that can read from " + strings.Join(p.Storages, ", ")
	}
	return need + ": " + strings.Join(p.Clusters, ", ")
}

// ShowPlaces sets the field Waits of the local jobs in rows, which are copies. It sets Waits for each local job that
// waits for submission and may not go to all clusters of the grid job; the text names the clusters to which it may go.
// The caller holds the memory lock.
func ShowPlaces(g *Grid, rows []jjm.LocalJob, now jjm.Time) {
	texts := map[int32]*jjm.Waiting{} // one text for each place
	for i := range rows {
		l := &rows[i]
		if l.Place == 0 || Unsent(l) == 0 || int(l.Place) > len(g.Job.Step.Places) ||
			len(g.Job.Step.Places[l.Place-1].Clusters) == len(g.Job.Step.Clusters) {
			continue
		}
		if texts[l.Place] == nil {
			texts[l.Place] = &jjm.Waiting{Reason: PlaceText(g, l.Place), Source: "jjm", At: now}
		}
		l.Waits = texts[l.Place]
	}
}

// Withdrawable reports whether a local job can be ended without a command to a batch system, because it waits for
// submission and is not being killed.
func Withdrawable(l *jjm.LocalJob) bool { return !l.Kill && Unsent(l) > 0 }
