package base

import (
	"testing"
	"time"
)

func TestTroubles_AreLoggedOnChangeOnly(t *testing.T) {
	t.Parallel()
	var ts troubles
	now := time.Unix(1_000_000, 0)
	for i, c := range []struct {
		thing, text string
		after       time.Duration
		want        bool
	}{
		{"harvest", "disk full", 0, true},
		{"harvest", "disk full", time.Second, false},
		{"submit", "disk full", time.Second, true},
		{"harvest", "read-only", time.Second, true},
		{"harvest", "disk full", time.Second, true},
		{"harvest", "disk full", again, true},
	} {
		now = now.Add(c.after)
		if got := ts.fresh(c.thing, c.text, now); got != c.want {
			t.Errorf("%d: %s: %s: news %v, want %v", i, c.thing, c.text, got, c.want)
		}
	}
	ts.over("submit")
	if !ts.fresh("submit", "disk full", now) {
		t.Error("after the trouble was over it is no news")
	}
}
