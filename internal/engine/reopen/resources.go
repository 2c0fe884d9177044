package reopen

import (
	"fmt"
	"slices"
	"strings"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// asked holds the resources and, if priority is not nil, the priority that a person requests for local jobs.
type asked struct {
	jjm.Resources
	priority *int
}

// String returns what is requested, for people: "memory 4000 MiB, priority 5".
func (a asked) String() string {
	text := a.Resources.String()
	if a.priority == nil {
		return text
	}
	if text != "" {
		text += ", "
	}
	return fmt.Sprintf("%spriority %d", text, *a.priority)
}

// moves holds the new places of local jobs for which a person requests other resources or another priority. A place
// (jjm.Place) holds the storages, clusters, resources and priority that many local jobs of a grid job share.
type moves struct {
	// places are all places of the grid job. of maps the number of a local job's present place to the number of the place
	// with the requested resources and priority.
	places []jjm.Place
	of     map[int32]int32
	asked  asked
	// notes name the clusters that cannot meet the requested resources, with the reasons.
	notes []string
}

// move moves a local job to the place with the requested resources and priority.
func (m *moves) move(c *state.Change, l *jjm.LocalJob) error {
	if l.Place = m.of[l.Place]; l.Place == 0 {
		return jjm.Errorf(jjm.Internal, "local job %s: its resources have no place", l.ID)
	}
	return c.Tx.MoveLocal(l.ID, l.Place)
}

// moves returns the places for the local jobs in run, which are resubmitted with the resources want; nil if want is nil
// or zero. The error is of kind Invalid if no cluster can meet the resources, with the same problems as the error of a
// submission.
func (ro *Reopener) moves(job *jjm.GridJob, locals []jjm.LocalJob, run []int32, want *jjm.Resources) (*moves, error) {
	if want == nil || *want == (jjm.Resources{}) {
		return nil, nil
	}
	var places []int32
	for _, n := range run {
		places = append(places, locals[n].Place)
	}
	return ro.movesOf(job, places, asked{Resources: *want})
}

// movesOf returns the new places for local jobs whose present places are given in places. Its errors are those of the
// method moves.
func (ro *Reopener) movesOf(job *jjm.GridJob, places []int32, want asked) (*moves, error) {
	to := &moves{places: job.Step.Places, of: map[int32]int32{}, asked: want}
	for _, from := range places {
		if to.of[from] != 0 {
			continue
		}
		place, notes, err := ro.askedPlace(job, from, want)
		if err != nil {
			return nil, err
		}
		for _, note := range notes {
			if !slices.Contains(to.notes, note) {
				to.notes = append(to.notes, note)
			}
		}
		if to.places, to.of[from], err = plan.AddAsked(to.places, place); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// askedPlace returns the new place for local jobs whose present place has the number from, with the wanted resources
// and priority. The place has the clusters that can meet the resources; notes are about the other clusters.
func (ro *Reopener) askedPlace(job *jjm.GridJob, from int32, want asked) (p jjm.Place, notes []string, err error) {
	p = plan.AskedPlace(job.Step.Places, job.Step.Clusters, from, want.Resources)
	if want.priority != nil {
		p.Priority = *want.priority
	}
	if want.Resources == (jjm.Resources{}) {
		p.Clusters = plan.Among(job.Step.Clusters, job.Step.Places, from)
		return p, nil, nil
	}
	if name := p.Asked.Cluster; name != "" && !slices.Contains(ro.s.Names, name) {
		_, unknown := plan.Candidates([]string{name}, ro.s.Names)
		return p, nil, jjm.Errorf(jjm.Invalid, "%w", unknown)
	}
	if ps := narrow(&p, job.Step.Clusters); len(ps) > 0 {
		return p, nil, jjm.Errorf(jjm.Invalid, "%w", ps)
	}
	spec := job.Spec
	spec.Clusters, spec.Credentials = p.Clusters, nil
	spec.Request = state.RequestOf(&job.Spec, &p)
	fit, problems := ro.rooms.Clusters.Choose(&spec)
	if len(fit.Clusters) == 0 {
		return p, nil, jjm.Errorf(jjm.Invalid, "%w", problems)
	}
	p.Clusters = fit.Clusters
	return p, fit.Notes, nil
}

// narrow removes all other clusters from a place that asks for one cluster. It returns a problem if the local jobs of
// the place may not go to this cluster. clusters are the clusters of the grid job.
func narrow(p *jjm.Place, clusters []string) jjm.Problems {
	name := p.Asked.Cluster
	switch {
	case name == "":
		return nil
	case slices.Contains(p.Clusters, name):
		p.Clusters = []string{name}
		return nil
	case slices.Contains(clusters, name):
		return jjm.Problems{{Field: "clusters", Text: fmt.Sprintf(
			"cluster %s cannot read the files of some of these local jobs: only %s can", name, strings.Join(p.Clusters, ", "))}}
	}
	return jjm.Problems{{Field: "clusters", Text: fmt.Sprintf(
		"the job file does not let it go to cluster %.40q: want one of %s", name, strings.Join(clusters, ", "))}}
}
