package answer

import (
	"fmt"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// showGenerations adds the ends of past generations, and the open request for another generation, to a status.
func (an *Answers) showGenerations(job *jjm.GridJob, s *wire.Status) {
	v := an.s.View()
	defer v.Close()
	if r, open := v.Reopening(job.ID); open {
		s.Reopening = &wire.Reopening{Generation: r.Generation, By: r.Actor, Why: r.Why, Since: r.Time}
		s.Lookup.Message = fmt.Sprintf("%s; generation %d is about to begin: %s", s.Lookup.Message, r.Generation, r.Why)
	}
	if job.Generation < 2 {
		return
	}
	s.Generation = job.Generation
	s.Lookup.Message = fmt.Sprintf("generation %d: %s", job.Generation, s.Lookup.Message)
	for i := range job.Endings {
		e := &job.Endings[i]
		was, _ := job.AtEnd(e.Generation)
		then := an.answer(v.Memory, state.NewGrid(was))
		s.Endings = append(s.Endings, wire.EndingOf(e, then.Message, then.Tar))
	}
}
