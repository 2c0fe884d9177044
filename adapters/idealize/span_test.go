package idealize

import (
	"context"
	"testing"
	"time"
)

// A clock that is up at once may ring before newSpan is over: the race detector
// watches what both touch.
func TestSpan_ThatIsOverAtOnceEndsByItsDeadline(t *testing.T) {
	for range 1000 {
		s, end := newSpan(context.Background(), time.Nanosecond)
		<-s.Done()
		if s.Err() != context.DeadlineExceeded {
			t.Fatalf("the call ended by %v: want its deadline", s.Err())
		}
		end()
	}
}
