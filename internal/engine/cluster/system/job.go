package system

import (
	"jjm/adapters"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Job is an attempt together with its batch job. The attempt is missing from listings, or a command is to release or
// cancel its batch job.
type Job struct {
	ID  jjm.AttemptID
	Ref adapters.Ref
}

// MostNamed is the greatest number of batch jobs that one command names. With more, the command line or the output of
// the command could become too long.
const MostNamed = 500

// RefIn returns the batch job of the current attempt of l, which is a member of the bulk b. known is false if the batch
// system's id is not known.
func RefIn(b *state.Bulk, l *jjm.LocalJob) (ref adapters.Ref, known bool) {
	if l.BatchID != "" && !state.PartOf(l.BatchID, b.ID) { // l points to a duplicate, or the bulk's id is unknown
		return adapters.Ref{Tag: l.Tag, ID: l.BatchID, Index: -1}, true
	}
	return adapters.Ref{Tag: l.Tag, ID: b.ID, Index: l.Pos}, b.ID != ""
}

// RefOf returns the batch job of the current attempt of l, and the owner of its bulk. ok is false if the bulk is
// closed, or if the batch system's id is not known.
func RefOf(s *state.State, l *jjm.LocalJob) (ref adapters.Ref, owner jjm.Owner, ok bool) {
	v := s.View()
	defer v.Close()
	b := v.Bulk(l.Tag)
	if b == nil {
		return adapters.Ref{}, jjm.Owner{}, false
	}
	ref, known := RefIn(b, l)
	return ref, b.Owner, known
}

// Proves reports whether a report proves that no process of the batch job was or will be started.
func (sys *System) Proves(r *jjm.Report) bool { return r.NeverStarted() && sys.Caps().FinalCancel }

// Answered returns an error of kind Internal unless an adapter has returned exactly one answer for each job.
func Answered(answers, jobs int) error {
	if answers != jobs {
		return jjm.Errorf(jjm.Internal, "%d answers for %d jobs", answers, jobs)
	}
	return nil
}
