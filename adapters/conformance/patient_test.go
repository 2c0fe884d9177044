package conformance

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// spent is an adapter that does not send some calls, because its budget has no room for them.
type spent struct {
	adapters.Adapter
	left int
	err  error
}

func (s *spent) Submit(context.Context, adapters.Bulk) (adapters.Receipt, error) {
	if s.left--; s.left >= 0 {
		return adapters.Receipt{}, s.err
	}
	return adapters.Receipt{ID: "7"}, nil
}

func TestPatient_RepeatsOnlySubmissionsThatWereNotStarted(t *testing.T) {
	busy := jjm.Errorf(jjm.Busy, "no port")
	for _, tt := range []struct {
		name string
		err  error
		good bool
	}{
		{"not started", adapters.NotStarted(adapters.NotAsked(busy)), true},
		{"not asked afterwards", jjm.Errorf(jjm.Ambiguous, "qalter: %w", adapters.NotAsked(busy)), false},
		{"busy", busy, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := patient{&spent{left: 3, err: tt.err}, time.Minute}
				if r, err := p.Submit(t.Context(), adapters.Bulk{}); (err == nil) != tt.good || (r.ID == "7") != tt.good {
					t.Errorf("%+v, error %v", r, err)
				}
				p = patient{&spent{left: 1000, err: tt.err}, time.Minute}
				if _, err := p.Submit(t.Context(), adapters.Bulk{}); err == nil {
					t.Error("its patience has no end")
				}
			})
		})
	}
}

func (s *spent) Control(_ context.Context, _ jjm.Owner, _ adapters.Op, refs []adapters.Ref) ([]error, error) {
	answers := make([]error, len(refs))
	if s.left--; s.left >= 0 {
		answers[1] = s.err
	}
	return answers, nil
}

func TestPatient_RepeatsActionsThatWereNotSentForSomeJobs(t *testing.T) {
	busy := jjm.Errorf(jjm.Busy, "no port")
	for name, tt := range map[string]struct {
		err  error
		good bool
	}{"not sent": {jjm.Errorf(jjm.Busy, "it stays held: %w", adapters.NotAsked(busy)), true}, "busy": {busy, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := patient{&spent{left: 3, err: tt.err}, time.Minute}
				answers, err := p.Control(t.Context(), jjm.Owner{}, adapters.Release, make([]adapters.Ref, 2))
				if err != nil || len(answers) != 2 || (answers[1] == nil) != tt.good {
					t.Errorf("answers %v, error %v", answers, err)
				}
			})
		})
	}
}
