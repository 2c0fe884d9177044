package jjm_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func TestCount_OneIsOne(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{jjm.Count(1, "check"), "1 check"}, {jjm.Count(0, "check"), "0 checks"}, {jjm.Count(18, "check"), "18 checks"},
		{jjm.Count(1, "entry", "entries"), "1 entry"}, {jjm.Count(2, "entry", "entries"), "2 entries"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestAnyOf_ReadsAsASentence(t *testing.T) {
	for want, words := range map[string][]string{
		"": nil, "stdout": {"stdout"}, "stdout or glf": {"stdout", "glf"}, "a, b or c": {"a", "b", "c"},
	} {
		if got := jjm.AnyOf(words); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

func TestHowLong_HasTwoUnitsAtMost(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0 ms"}, {400 * time.Microsecond, "0 ms"}, {250 * time.Millisecond, "250 ms"},
		{999_600 * time.Microsecond, "1 s"},
		{time.Second, "1 s"}, {1500 * time.Millisecond, "1.5 s"}, {1040 * time.Millisecond, "1 s"},
		{9960 * time.Millisecond, "10 s"}, {12_400 * time.Millisecond, "12 s"}, {59_700 * time.Millisecond, "1 min"},
		{90 * time.Second, "1 min 30 s"}, {5 * time.Minute, "5 min"}, {time.Hour - 400*time.Millisecond, "1 h"},
		{2 * time.Hour, "2 h"}, {7384 * time.Second, "2 h 3 min"}, {47 * time.Hour, "47 h"}, {48 * time.Hour, "2 d"},
		{100*time.Hour + 31*time.Minute, "4 d 5 h"}, {-90 * time.Second, "-1 min 30 s"},
	} {
		if got := jjm.HowLong(c.d); got != c.want {
			t.Errorf("%v: %q, want %q", c.d, got, c.want)
		}
	}
}

// A duration is printed in the notation of the configuration: one number with its unit.
func TestDuration_IsShownAsItIsWritten(t *testing.T) {
	for want, d := range map[string]jjm.Duration{
		"2h": jjm.Duration(2 * time.Hour), "90m": jjm.Duration(90 * time.Minute), "90s": jjm.Duration(90 * time.Second),
		"1500ms": jjm.Duration(1500 * time.Millisecond), "0s": 0, "7us": jjm.Duration(7 * time.Microsecond), "3ns": 3,
	} {
		if got := d.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := jjm.Duration(rapid.Int64Range(0, 1<<62).Draw(t, "d"))
		var back jjm.Duration
		if err := back.UnmarshalText([]byte(d.String())); err != nil || back != d || strings.ContainsAny(d.String(), ".µ") {
			t.Fatalf("%d is shown as %s, which is read as %d, %v", d, d, back, err)
		}
	})
}
