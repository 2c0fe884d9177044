package state

import (
	"slices"
	"strings"

	"jjm"
	"jjm/plan"
)

// Spot is a cluster, for the local jobs of one place.
type Spot struct {
	Place   int32
	Cluster string
}

// queues are local jobs by their place, each in order. Most grid jobs have one.
type queues [][]int32

func (q queues) Of(place int32) []int32 {
	if int(place) >= len(q) {
		return nil
	}
	return q[place]
}

// Set puts another queue in the place of one; an empty one lets its memory go.
func (q queues) Set(place int32, to []int32) {
	switch {
	case int(place) >= len(q):
	case len(to) == 0:
		q[place] = nil
	default:
		q[place] = to
	}
}

func (q *queues) Push(place, n int32) {
	q.grow(place)
	(*q)[place] = append((*q)[place], n)
}

func (q *queues) pushFront(place, n int32) {
	q.grow(place)
	(*q)[place] = slices.Insert((*q)[place], 0, n)
}

func (q *queues) grow(place int32) {
	for int(place) >= len(*q) {
		*q = append(*q, nil)
	}
}

// counter counts by place.
type counter []int

func (c *counter) add(place int32, by int) {
	for int(place) >= len(*c) {
		*c = append(*c, 0)
	}
	(*c)[place] += by
}

func (c counter) Of(place int32) int {
	if int(place) >= len(c) {
		return 0
	}
	return c[place]
}

// Unsent reports, as 1, whether no batch system has got a local job yet, or it
// waits for its next attempt.
func Unsent(l *jjm.LocalJob) int {
	if l.State == jjm.New {
		return 1
	}
	return retrying(l)
}

// inBatch reports, as 1, whether a local job is in a batch system or about to be.
func inBatch(l *jjm.LocalJob) int {
	if l.State.InBatch() && retrying(l) == 0 {
		return 1
	}
	return 0
}

// Among are the clusters of its step that local jobs of a place may go to.
func (g *Grid) Among(place int32) []string {
	return plan.Among(g.Job.Step.Clusters, g.Job.Step.Places, place)
}

// Candidates are the clusters that local jobs of g of a place may go to: those
// that this site still has and that did not refuse them.
func (m Memory) Candidates(g *Grid, place int32) []string {
	return slices.DeleteFunc(slices.Clone(g.Among(place)), func(name string) bool {
		_, refused := g.refused[Spot{place, name}]
		_, known := m.s.Positions[name]
		return refused || !known
	})
}

// UnsentFor counts the local jobs that no batch system has got yet and that may go
// to a cluster.
func (g *Grid) UnsentFor(cluster string) (n int) {
	for place, unsent := range g.UnsentAt {
		if unsent > 0 && slices.Contains(g.Among(int32(place)), cluster) {
			n += unsent
		}
	}
	return n
}

// UnsentPlaces are the places that have something to send; where nothing is made
// yet it is assumed that it may go anywhere.
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

// PlaceText says what local jobs of a place need: "a cluster that can read from
// here: a, b".
func PlaceText(g *Grid, place int32) string {
	p := &g.Job.Step.Places[place-1]
	need := "one of its clusters"
	if len(p.Storages) > 0 {
		need = "a cluster that can read from " + strings.Join(p.Storages, ", ")
	}
	return need + ": " + strings.Join(p.Clusters, ", ")
}

// ShowPlaces lets people see of local jobs that are still to be sent which clusters
// they wait for, if not all of the grid job's can read their files. The memory lock
// is held; the rows are copies.
func ShowPlaces(g *Grid, rows []jjm.LocalJob, now jjm.Time) {
	texts := map[int32]*jjm.Waiting{} // what many wait for is said once
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

// Withdrawable reports whether no batch system has a local job that is not to be killed.
func Withdrawable(l *jjm.LocalJob) bool { return !l.Kill && Unsent(l) > 0 }
