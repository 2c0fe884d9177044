package state

import (
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/work/split"
)

// Readers returns, for the clusters that a grid job may use, the storages that the cluster's workers can read. A
// cluster that the site no longer has counts as able to read all storages (nil).
func (s *State) Readers(clusters []string) []plan.Reader {
	readers := make([]plan.Reader, len(clusters))
	for i, name := range clusters {
		readers[i].Name = name
		if at, known := s.Positions[name]; known {
			readers[i].Storages = s.B.Deps.Clusters[at].Config.Storages
		}
	}
	return readers
}

// Locate sets work.Sites to the clusters that can read each storage named by work.Files, or to nil if storages and site
// lists do not restrict the clusters (plan.Sites). It returns the settings p as the splitter must get them: if only the
// site lists decide, the site whitelist contains only clusters of readers (plan.Heeded).
func Locate(work *split.Work, readers []plan.Reader, p split.Params) split.Params {
	work.Sites = plan.Sites(readers, &p, work.Files)
	return plan.Heeded(p, readers)
}

// SetPlaces sets the places of the new local jobs ls, and adds new places to g.Step.Places. A place is a set of
// clusters to which local jobs may go, with the resources that the local jobs request there; 0 stands for all clusters
// of the grid job. The place of a local job comes from its part: the storages of its files, and the request of the
// splitter or of plan.Needs. If people requested other resources for all local jobs still to be made, the local job
// gets the place with these resources (plan.DefaultFor). Local jobs whose parts must not be submitted get no place.
func SetPlaces(g *jjm.GridJob, ls []jjm.LocalJob) {
	var last *jjm.Place // most parts have the place of the previous part
	var asked *jjm.Request
	var number int32
	for i := range ls {
		l := &ls[i]
		if l.Part.Failure() != nil {
			continue
		}
		var made int32
		if l.Part.Input != nil {
			at, r := l.Part.Input.Place, split.RequestOf(&l.Part)
			if r == nil && l.Step == jjm.StepWork {
				r = plan.Needs(&g.Spec, l.Part.Input.Estimate)
			}
			if at != last || !alike(r, asked) {
				last, asked = at, r
				g.Step.Places, number = plan.PlaceOf(g.Step.Places, g.Step.Clusters, withRequest(at, r))
			}
			made = number
		}
		g.Step.Places, l.Place = plan.DefaultFor(g.Step.Places, g.Step.Clusters, made)
	}
}

// alike reports whether two requests are equal. nil is equal only to nil.
func alike(a, b *jjm.Request) bool { return a == b || a != nil && b != nil && *a == *b }

// withRequest returns a copy of the place at with the request r. If r is nil, it returns at itself.
func withRequest(at *jjm.Place, r *jjm.Request) *jjm.Place {
	if r == nil {
		return at
	}
	p := jjm.Place{}
	if at != nil {
		p = *at
	}
	p.Request = r
	return &p
}

// RequestAt returns the resources that local jobs of a grid job with the number place request from the batch system.
// For the number 0 or an unknown number, these are the resources that the job file requests.
func RequestAt(g *jjm.GridJob, place int32) jjm.Request {
	if place < 1 || int(place) > len(g.Step.Places) {
		return g.Spec.Request
	}
	return RequestOf(&g.Spec, &g.Step.Places[place-1])
}

// RequestOf returns the resources that local jobs at the place p request: the job file's request, overridden by the
// request of the place, overridden by the resources that people requested.
func RequestOf(spec *jjm.Spec, p *jjm.Place) jjm.Request {
	r := spec.Request.With(p.Request)
	if p.Asked != nil {
		r = r.With(p.Asked.Request())
	}
	return r
}

// PriorityAt returns the priority of the local jobs with the number place: the priority that people set, or 0.
func PriorityAt(g *jjm.GridJob, place int32) int {
	if place < 1 || int(place) > len(g.Step.Places) {
		return 0
	}
	return g.Step.Places[place-1].Priority
}

// AskedAt returns the resources that people requested for local jobs with the number place, nil if nobody requested
// any.
func AskedAt(g *jjm.GridJob, place int32) *jjm.Resources {
	if place < 1 || int(place) > len(g.Step.Places) {
		return nil
	}
	return g.Step.Places[place-1].Asked
}
