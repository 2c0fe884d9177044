package engine

import (
	"slices"
	"strings"

	"jjm"
	"jjm/plan"
)

// spot is a cluster, for the local jobs of one place.
type spot struct {
	place   int32
	cluster string
}

// queues are local jobs by their place, each in order. Most grid jobs have one.
type queues [][]int32

func (q queues) of(place int32) []int32 {
	if int(place) >= len(q) {
		return nil
	}
	return q[place]
}

// set puts another queue in the place of one; an empty one lets its memory go.
func (q queues) set(place int32, to []int32) {
	switch {
	case int(place) >= len(q):
	case len(to) == 0:
		q[place] = nil
	default:
		q[place] = to
	}
}

func (q *queues) push(place, n int32) {
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

func (c counter) of(place int32) int {
	if int(place) >= len(c) {
		return 0
	}
	return c[place]
}

// unsent reports, as 1, whether no batch system has got a local job yet, or it
// waits for its next attempt.
func unsent(l *jjm.LocalJob) int {
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

// among are the clusters of its step that local jobs of a place may go to.
func (g *grid) among(place int32) []string {
	return plan.Among(g.job.Step.Clusters, g.job.Step.Places, place)
}

// candidates are the clusters that local jobs of g of a place may go to: those
// that this site still has and that did not refuse them.
func (e *Engine) candidates(g *grid, place int32) []string {
	return slices.DeleteFunc(slices.Clone(g.among(place)), func(name string) bool {
		_, refused := g.refused[spot{place, name}]
		_, known := e.positions[name]
		return refused || !known
	})
}

// unsentFor counts the local jobs that no batch system has got yet and that may go
// to a cluster.
func (g *grid) unsentFor(cluster string) (n int) {
	for place, unsent := range g.unsentAt {
		if unsent > 0 && slices.Contains(g.among(int32(place)), cluster) {
			n += unsent
		}
	}
	return n
}

// unsentPlaces are the places that have something to send; where nothing is made
// yet it is assumed that it may go anywhere.
func (g *grid) unsentPlaces() []int32 {
	var places []int32
	for place, n := range g.unsentAt {
		if n > 0 {
			places = append(places, int32(place))
		}
	}
	if places == nil {
		return []int32{0}
	}
	return places
}

// placeText says what local jobs of a place need: "a cluster that can read from
// here: a, b".
func placeText(g *grid, place int32) string {
	p := &g.job.Step.Places[place-1]
	need := "one of its clusters"
	if len(p.Storages) > 0 {
		need = "a cluster that can read from " + strings.Join(p.Storages, ", ")
	}
	return need + ": " + strings.Join(p.Clusters, ", ")
}

// showPlaces lets people see of local jobs that are still to be sent which clusters
// they wait for, if not all of the grid job's can read their files. The memory lock
// is held; the rows are copies.
func showPlaces(g *grid, rows []jjm.LocalJob, now jjm.Time) {
	texts := map[int32]*jjm.Waiting{} // what many wait for is said once
	for i := range rows {
		l := &rows[i]
		if l.Place == 0 || unsent(l) == 0 || int(l.Place) > len(g.job.Step.Places) {
			continue
		}
		if texts[l.Place] == nil {
			texts[l.Place] = &jjm.Waiting{Reason: placeText(g, l.Place), Source: "jjm", At: now}
		}
		l.Waits = texts[l.Place]
	}
}
