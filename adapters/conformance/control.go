package conformance

import (
	"fmt"
	"sync"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func controlChecks() []Check {
	return []Check{
		{Name: "a waiting job can be cancelled", Alone: true, lacks: tooBig, test: (*suite).cancelWaiting,
			Proves: "a job cancelled before its start never runs, and is reported CANCELLED unless the batch system forgets it"},
		{Name: "a running job can be cancelled, twice", Bearable: true, files: true, test: (*suite).cancelRunning,
			Part:   "[cancel] and [states]",
			Proves: "a job that ignores TERM, and its children, are gone; cancelling again is a success",
			Remedy: "see that the batch system ends whole jobs: cgroups, or tracking by process group or session"},
		{Name: "an ended job can be cancelled without change", Bearable: true, test: (*suite).cancelEnded,
			Part:   "[cancel]",
			Proves: "cancelling an ended job is a success and changes no fact"},
		{Name: "one job of a bulk can be cancelled", Bearable: true, files: true, lacks: oneJob, test: (*suite).cancelOne,
			Part:   "[cancel] and [ids]",
			Proves: "the others of its bulk run to their end, and it is gone"},
		{Name: "two cancels at once", Bearable: true, test: (*suite).cancelTogether,
			Part:   "[cancel]",
			Proves: "two calls that cancel the same jobs at the same time both succeed, and the jobs are gone"},
		{Name: "a thousand ids in one call", test: (*suite).thousand,
			Proves: "one Control of 1000 jobs, most of them unknown, answers for each, in order, and cancels each"},
	}
}

func (s *suite) cancelWaiting() {
	s.fill()
	b := s.shell(2, "echo x > ran")
	r := s.submit(b)
	s.until("waiting", b.Tag, 2, waiting)
	s.control(adapters.Cancel, refs(b, r)...)
	for i, r := range s.waitCancelled(b) {
		if r.State != jjm.BatchCancelled || r.Started != 0 {
			s.Errorf("job %d, want CANCELLED only if it was cancelled: %+v", i, r)
		}
	}
	s.absent("ran")
}

func (s *suite) cancelRunning() {
	// The cancel must end both the child and the shell that ignores TERM.
	b := s.shell(1, `trap '' TERM; (`+lasting(s)+`) & wait`)
	r := s.submit(b)
	s.file("beats.0")
	s.until("running", b.Tag, 1, running)
	s.control(adapters.Cancel, refs(b, r)...)
	s.control(adapters.Cancel, refs(b, r)...)
	if r := s.waitCancelled(b)[0]; r.State != jjm.BatchCancelled || r.Started == 0 && s.lists("started") {
		s.Errorf("cancelled while it ran, want CANCELLED with the time of its start: %+v", r)
	}
	s.control(adapters.Cancel, refs(b, r)...)
	nothingBeats(s)
}

func (s *suite) cancelEnded() {
	b := s.shell(1, "exit 4")
	r := s.submit(b)
	was := s.wait(b)[0]
	s.control(adapters.Cancel, refs(b, r)...)
	is := s.wait(b)[0]
	if is.State != was.State || is.Exit != was.Exit || is.ID != was.ID || is.Ended != was.Ended {
		s.Errorf("it was %+v, and is %+v", was, is)
	}
}

// untilCancelled is the script of those jobs of a bulk that are not cancelled. They run until the cancel is answered,
// so that a cancel that wrongly ends the whole bulk would end them too. They wait for at most 20 s, because the job
// that is cancelled may get a slot only after they end.
const untilCancelled = `i=0; while [ ! -e go ] && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.2; done; exit 0`

func (s *suite) cancelOne() {
	b := s.shell(3, `[ $JJM_INDEX = 1 ] || { `+untilCancelled+`; }; `+lasting(s))
	r := s.submit(b)
	s.file("beats.1") // beating reads this file
	s.control(adapters.Cancel, refs(b, r)[1])
	s.write("go")
	s.until("over", b.Tag, 2, func(r jjm.Report) bool { return r.Index != 1 && ended(r) })
	for i, r := range s.waitCancelled(b) {
		if (i == 1) != (r.State == jjm.BatchCancelled) {
			s.Errorf("job %d, want CANCELLED only if it was cancelled: %+v", i, r)
		}
	}
	nothingBeats(s)
}

func (s *suite) cancelTogether() {
	b := s.shell(s.fit(2), lasting(s))
	r := s.submit(b)
	s.beating(b.N)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			answers, err := s.Adapter.Control(s.Context(), s.Owner, adapters.Cancel, refs(b, r))
			for _, one := range answers {
				if one != nil {
					err = one
				}
			}
			if err != nil {
				s.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	for i, r := range s.waitCancelled(b) {
		if r.State != jjm.BatchCancelled {
			s.Errorf("job %d, want CANCELLED only if it was cancelled: %+v", i, r)
		}
	}
	nothingBeats(s)
}

func (s *suite) thousand() {
	b := s.shell(s.fit(200), "exec sleep 600")
	jobs := refs(b, s.submitOnly(b))
	for i := len(jobs); i < 1000; i++ {
		jobs = append(jobs, adapters.Ref{Tag: s.newTag(), ID: fmt.Sprint(987654000 + i), Index: int32(i % 7)})
	}
	for i := range b.N { // known and unknown jobs alternate
		if other := 999 - 2*i; i%2 == 1 && other >= b.N {
			jobs[i], jobs[other] = jobs[other], jobs[i]
		}
	}
	for i, err := range s.answers(adapters.Cancel, jobs) {
		if err != nil && (jobs[i].Tag == b.Tag || jjm.KindOf(err) != jjm.Gone) {
			s.Errorf("cancel %+v: %v", jobs[i], err)
		}
	}
	for i, r := range s.waitCancelled(b) {
		if r.State != jjm.BatchCancelled {
			s.Errorf("job %d, want CANCELLED only if it was cancelled: %+v", i, r)
		}
	}
}
