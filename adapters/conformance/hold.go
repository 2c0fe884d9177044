package conformance

import (
	"cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func holdChecks() []Check {
	return []Check{
		{Name: "a held job waits for its release", Alone: true, lacks: tooBig, test: (*suite).hold,
			Proves: "a waiting job that is held is reported HELD and does not run while others do; after its release it runs"},
		{Name: "a held bulk never runs before its release", Bearable: true, lacks: onePhase, test: (*suite).heldBulk,
			Part:   "[submit], [release] and [states]",
			Proves: "on a two-phase system a bulk is there, and does not run while a later one runs to its end"},
		{Name: "a hold by the batch system is reported", Alone: true, lacks: noSystemHold, test: (*suite).systemHold,
			Proves: "a job that the batch system or an operator holds is reported HELD with a reason"},
	}
}

func held(r jjm.Report) bool { return r.State == jjm.BatchHold }

func (s *suite) hold() {
	blocker, br := s.fill()
	b := s.shell(2, "exit 0")
	r := s.submit(b)
	s.until("waiting", b.Tag, 2, waiting)
	one := refs(b, r)[0]
	s.control(adapters.HoldJobs, one)
	s.control(adapters.HoldJobs, one)
	s.until("held", b.Tag, 1, held)
	s.control(adapters.Cancel, refs(blocker, br)...)
	s.until("over", b.Tag, 1, func(r jjm.Report) bool { return r.Index == 1 && r.State == jjm.BatchEndedOK })
	if r := s.list(b.Tag)[0]; r.State != jjm.BatchHold {
		s.Errorf("the held job: %+v", r)
	}
	s.control(adapters.Release, one)
	if r := s.wait(b)[0]; r.State != jjm.BatchEndedOK {
		s.Errorf("after its release: %+v", r)
	}
	s.control(adapters.Release, one)
	s.control(adapters.HoldJobs, one)
}

func onePhase(s *suite) string {
	return unless(s.Adapter.Capabilities().TwoPhase, "bulks are not received held here")
}

func (s *suite) heldBulk() {
	first := s.shell(s.fit(2), "echo x > ran")
	r := s.submitOnly(first)
	later := s.shell(1, "exit 0")
	s.submit(later)
	s.wait(later) // meanwhile the scheduler could have started the held job
	s.until("waiting", first.Tag, first.N, waiting)
	s.absent("ran")
	s.isThere(s.search(first.Tag)[0], r.ID)
	if first.N == 1 {
		s.control(adapters.Release, refs(first, r)...)
		if r := s.wait(first)[0]; r.State != jjm.BatchEndedOK {
			s.Errorf("after its release, want OK: %+v", r)
		}
		return
	}
	s.control(adapters.Cancel, refs(first, r)[0])
	s.control(adapters.Release, refs(first, r)...)
	s.until("over", first.Tag, 1, func(r jjm.Report) bool { return r.Index == 1 && ended(r) })
	for i, r := range s.waitCancelled(first) {
		if (i == 0) != (r.State == jjm.BatchCancelled) {
			s.Errorf("job %d, of which the first was cancelled: %+v", i, r)
		}
	}
}

func noSystemHold(s *suite) string {
	return cmp.Or(unless(s.SystemHold != nil, "the test cannot hold jobs as the batch system does"), tooBig(s))
}

func (s *suite) systemHold() {
	s.fill()
	b := s.shell(1, "exit 0")
	s.submit(b)
	is := s.until("waiting", b.Tag, 1, waiting)[0]
	s.SystemHold(s.TB, is.ID)
	is = s.until("held", b.Tag, 1, func(r jjm.Report) bool { return held(r) && (r.Reason != "" || r.Hold != "") })[0]
	s.Logf("held: %q (%s)", is.Reason, is.Hold)
}
