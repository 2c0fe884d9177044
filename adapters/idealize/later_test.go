package idealize

import (
	"context"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func TestRetry_AnErrorForLaterIsNotRepeated(t *testing.T) {
	for _, mark := range []func(error) error{adapters.Later, adapters.NotAsked, adapters.TooMany} {
		calls := 0
		once := func(ctx context.Context, _ Verb, do func(context.Context) error) error { return do(ctx) }
		call := withRetry(time.Hour, once)
		err := call(t.Context(), List, func(context.Context) error {
			calls++
			return jjm.Errorf(jjm.Busy, "list: %w", mark(jjm.Errorf(jjm.Busy, "no port")))
		})
		if calls != 1 || jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%d calls, error %v", calls, err)
		}
	}
}

func TestHealth_ACallThatAskedNothingShowsNothing(t *testing.T) {
	busy := jjm.Errorf(jjm.Busy, "no port")
	list := jjm.Errorf(jjm.Busy, "list: %w", adapters.NotAsked(busy))
	if got := healthOf(t.Context(), List, list); got != healthUnknown {
		t.Errorf("not asked: %v", got)
	}
	if got := healthOf(t.Context(), List, adapters.Later(busy)); got != noResponse {
		t.Errorf("asked: %v", got)
	}
}
