package await

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// spy is a testing.TB that stores the message of Fatalf instead of ending the test.
type spy struct {
	testing.TB
	said string
}

func (s *spy) Helper() {}

func (s *spy) Fatalf(format string, args ...any) { s.said = fmt.Sprintf(format, args...) }

func TestAwait_ReturnsOnceTheConditionHolds(t *testing.T) {
	looks := 0
	True(t, "three looks", func() bool { looks++; return looks == 3 })
	if looks != 3 {
		t.Errorf("%d looks", looks)
	}
}

func TestAwait_NamesTheConditionThatNeverHeld(t *testing.T) {
	s := &spy{TB: t}
	wait(s, time.Millisecond, "rain", func() error { return errors.New("a clear sky") })
	if !strings.Contains(s.said, "rain: a clear sky") {
		t.Errorf("it said %q", s.said)
	}
}

func TestRest_IsLongerAfterAnExpensiveCheck(t *testing.T) {
	for _, c := range []struct{ every, took, want time.Duration }{
		{100 * time.Millisecond, time.Millisecond, 100 * time.Millisecond},
		{100 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond},
		{100 * time.Millisecond, time.Minute, longestRest},
		{5 * time.Second, time.Minute, 5 * time.Second},
	} {
		if got := Rest(c.every, c.took); got != c.want {
			t.Errorf("after %v, asking every %v: rests %v, want %v", c.took, c.every, got, c.want)
		}
	}
}
