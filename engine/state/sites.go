package state

import (
	"jjm"
	"jjm/plan"
	"jjm/split"
)

// Readers are the clusters that a grid job may use, with what their workers can
// read. One that the site has no more is taken to read all: its local jobs wait
// for it, as any others.
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

// Locate tells a splitter which of the clusters can read the files, and gives the
// settings that it is to heed.
func Locate(work *split.Work, readers []plan.Reader, p split.Params) split.Params {
	work.Sites = plan.Sites(readers, &p, work.Files)
	return plan.Heeded(p, readers)
}

// Bind sets where local jobs that are being made may go.
func Bind(g *jjm.GridJob, ls []jjm.LocalJob) {
	var last *jjm.Place // most parts are where the one before is
	var asked *jjm.Request
	var number int32
	for i := range ls {
		l := &ls[i]
		if l.Part.Input == nil || l.Part.Failure() != nil {
			continue
		}
		at, r := l.Part.Input.Place, split.RequestOf(&l.Part)
		if r == nil && l.Step == jjm.StepWork {
			r = plan.Needs(&g.Spec, l.Part.Input.Estimate)
		}
		if at != last || !alike(r, asked) {
			last, asked = at, r
			g.Step.Places, number = plan.PlaceOf(g.Step.Places, g.Step.Clusters, asking(at, r))
		}
		l.Place = number
	}
}

func alike(a, b *jjm.Request) bool { return a == b || a != nil && b != nil && *a == *b }

// asking returns a place whose local jobs ask for r.
func asking(at *jjm.Place, r *jjm.Request) *jjm.Place {
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

// RequestAt is what local jobs of a place ask their batch system for.
func RequestAt(g *jjm.GridJob, place int32) jjm.Request {
	if place < 1 || int(place) > len(g.Step.Places) {
		return g.Spec.Request
	}
	return g.Spec.Request.With(g.Step.Places[place-1].Request)
}
