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
	var number int32
	for i := range ls {
		l := &ls[i]
		if l.Part.Input == nil || l.Part.Failure() != nil {
			continue
		}
		if at := l.Part.Input.Place; at != last {
			last = at
			g.Step.Places, number = plan.PlaceOf(g.Step.Places, g.Step.Clusters, at)
		}
		l.Place = number
	}
}
