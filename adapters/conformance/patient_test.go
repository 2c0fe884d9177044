package conformance

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// spent is an adapter whose budget has no room for some calls.
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
