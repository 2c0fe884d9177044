package await

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestGuard_IsLongerOnASlowMachine(t *testing.T) {
	for _, c := range []struct {
		slowness string
		want     time.Duration
	}{
		{"", 2 * time.Minute}, {"1", 2 * time.Minute}, {"2.5", 6 * time.Minute}, {"20", 40 * time.Minute},
		{"0.1", 2 * time.Minute}, {"-3", 2 * time.Minute}, {"1e9", 40 * time.Minute}, {"+Inf", 40 * time.Minute},
		{"NaN", 2 * time.Minute}, {"slow", 2 * time.Minute}, {"2,5", 2 * time.Minute},
	} {
		t.Setenv(Slowness, c.slowness)
		if got := Guard(2 * time.Minute); got != c.want {
			t.Errorf("slowness %q: %v, want %v", c.slowness, got, c.want)
		}
	}
}

func TestGuard_RefusesLessThanAMinute(t *testing.T) {
	t.Setenv(Slowness, "20") // the slowness does not make a short guard long
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "59s") {
			t.Errorf("it said %q", said)
		}
	}()
	Guard(59 * time.Second)
	t.Error("59 s is a guard")
}

func TestContext_EndsWithItsGuardOrWithTheTest(t *testing.T) {
	ctx := t.Context()
	t.Run("inner", func(t *testing.T) {
		t.Setenv(Slowness, "3")
		before := time.Now()
		ctx = Context(t, time.Minute)
		if end, ok := ctx.Deadline(); !ok || end.Before(before.Add(3*time.Minute)) {
			t.Errorf("it ends at %v, begun at %v", end, before)
		}
		if err := ctx.Err(); err != nil {
			t.Error(err)
		}
	})
	if ctx.Err() == nil {
		t.Error("the context outlives its test")
	}
}

func TestReceive_ReturnsTheValue(t *testing.T) {
	ch := make(chan string, 2)
	ch <- "rain"
	if got := Receive(t, "weather", ch); got != "rain" {
		t.Errorf("it returned %q", got)
	}
	ch <- "snow"
	Closed(t, "weather", ch)
	close(ch)
	Closed(t, "the end", ch)
	s := &spy{TB: t}
	if Receive(s, "weather", ch); !strings.Contains(s.said, "weather") {
		t.Errorf("a closed channel: it said %q", s.said)
	}
}

func TestReceive_NamesWhatDidNotCome(t *testing.T) {
	s := &spy{TB: t}
	receive(s, time.Millisecond, "rain", make(chan bool))
	if !strings.Contains(s.said, "rain") {
		t.Errorf("it said %q", s.said)
	}
}
