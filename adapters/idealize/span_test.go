package idealize

import (
	"context"
	"testing"
	"time"
)

// A clock with a tiny limit may fire before newSpan returns; the race detector watches the
// fields that both use.
func TestSpan_WithATinyLimitEndsByItsDeadline(t *testing.T) {
	for range 1000 {
		s, end := newSpan(context.Background(), time.Nanosecond)
		<-s.Done()
		if s.Err() != context.DeadlineExceeded {
			t.Fatalf("the call ended by %v: want its deadline", s.Err())
		}
		end()
	}
}
