package state

import (
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/work/split"
)

// Readers returns the clusters that a grid job may use, with the storages that their
// workers can read. A cluster that the site no longer has counts as able to read all
// storages.
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

// Locate sets work.Sites to the clusters that can read each file, and returns the settings
// for the splitter.
func Locate(work *split.Work, readers []plan.Reader, p split.Params) split.Params {
	work.Sites = plan.Sites(readers, &p, work.Files)
	return plan.Heeded(p, readers)
}

// SetPlaces sets the places of new local jobs, and adds new places to the grid job. Local jobs get the resources that
// people requested for all local jobs still to be made.
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

func alike(a, b *jjm.Request) bool { return a == b || a != nil && b != nil && *a == *b }

// withRequest returns a copy of a place with the request r; with r nil, the place itself.
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

// RequestAt returns the resources that local jobs of a place request from their batch system.
func RequestAt(g *jjm.GridJob, place int32) jjm.Request {
	if place < 1 || int(place) > len(g.Step.Places) {
		return g.Spec.Request
	}
	return RequestOf(&g.Spec, &g.Step.Places[place-1])
}

// RequestOf returns the resources that local jobs of a grid job request at a place.
func RequestOf(spec *jjm.Spec, p *jjm.Place) jjm.Request {
	r := spec.Request.With(p.Request)
	if p.Asked != nil {
		r = r.With(p.Asked.Request())
	}
	return r
}

// PriorityAt returns the priority of local jobs of a place, 0 unless people set another priority.
func PriorityAt(g *jjm.GridJob, place int32) int {
	if place < 1 || int(place) > len(g.Step.Places) {
		return 0
	}
	return g.Step.Places[place-1].Priority
}

// AskedAt returns the resources that people request for local jobs of a place, nil if nobody did.
func AskedAt(g *jjm.GridJob, place int32) *jjm.Resources {
	if place < 1 || int(place) > len(g.Step.Places) {
		return nil
	}
	return g.Step.Places[place-1].Asked
}
