package conformance

import (
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func troubleChecks() []Check {
	return []Check{
		{Name: "a rerun is counted", Alone: true, lacks: noRequeue, test: (*suite).requeue,
			Proves: "a job that the batch system runs again counts a restart under the same id, or is reported ABORTED"},
		{Name: "a lost node is reported", Alone: true, lacks: noKillNode, test: (*suite).lostNode,
			Proves: "a job whose node is lost counts a restart or is reported ABORTED, and never OK or FAILED"},
		{Name: "a job that history forgot is left out", lacks: noLoseHistory, test: (*suite).lostHistory,
			Proves: "a vanished job is neither listed nor accounted, its cancel succeeds, its tag is not present, and nothing fails"},
	}
}

// outlast is a script that writes that it started, and then runs longer than the check. If the job is run again, the
// second run must also last, because a batch system may forget a job that ended before a listing can show it.
const outlast = `echo up >> runs; exec sleep 600`

func noRequeue(s *suite) string {
	return unless(s.Requeue != nil, "the test cannot make the batch system run a job again")
}

func noKillNode(s *suite) string {
	return unless(s.KillNode != nil, "the test cannot take a node away")
}

func noLoseHistory(s *suite) string {
	return unless(s.LoseHistory != nil, "the test cannot make the batch system forget a job")
}

func (s *suite) requeue() {
	b := s.shell(1, outlast)
	s.submit(b)
	was := s.until("running", b.Tag, 1, running)[0]
	s.file("runs")
	s.Requeue(s.TB, was.ID)
	s.rerun(b, was)
}

func (s *suite) lostNode() {
	b := s.shell(1, outlast)
	s.submit(b)
	was := s.until("running", b.Tag, 1, running)[0]
	s.file("runs")
	s.KillNode(s.TB, was.Host)
	s.Patience *= 2
	s.rerun(b, was)
}

// rerun waits until a job that lost its node has more restarts than before or has ended. It fails the check if the job
// ended without a further restart in another state than ABORTED, or if its id changed.
func (s *suite) rerun(b adapters.Bulk, was jjm.Report) {
	s.Helper()
	is := s.until("counted as a rerun or over", b.Tag, 1, func(r jjm.Report) bool {
		return r.Restarts > was.Restarts || r.State.Ended()
	})[0]
	if is.State.Ended() && is.Restarts == was.Restarts && is.State != jjm.BatchAborted {
		s.Errorf("it was taken off its node, and is %+v", is)
	}
	if is.ID != was.ID {
		s.Errorf("its id was %s, and is %s", was.ID, is.ID)
	}
}

func (s *suite) lostHistory() {
	b := s.shell(1, "exit 0")
	r := s.submit(b)
	is := s.wait(b)[0]
	s.LoseHistory(s.TB, is.ID)
	for end := time.Now().Add(s.Patience); len(s.list(b.Tag)) > 0; s.pause() {
		if time.Now().After(end) {
			s.Fatalf("it is still listed: %s", some(s.list(b.Tag)))
		}
	}
	got, err := s.Adapter.Account(s.Context(), s.Owner, []adapters.Ref{jobRef(is)})
	if err != nil || len(got) != 0 {
		s.Errorf("accounted %+v, error %v", got, err)
	}
	s.notThere(b.Tag)
	for _, err := range s.answers(adapters.Cancel, refs(b, r)) {
		if err != nil {
			s.wantKind("cancel", err, jjm.Gone)
		}
	}
}
