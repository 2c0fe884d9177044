package local_test

import (
	"context"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// If the caller's context has ended, the error is of kind Busy, and jobs do not count as gone. A closed adapter also
// returns errors of kind Busy.
func TestUnanswered_NoAnswerIsBusyNotGone(t *testing.T) {
	a := open(t, t.TempDir(), config(1))
	b := shell(t, 1, "exit 0")
	ref := []adapters.Ref{{Tag: b.Tag, ID: submit(t, a, b).ID, Index: 0}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	nothing := func(why string, ctx context.Context) {
		t.Helper()
		if got, err := a.List(ctx, self(), time.Time{}); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: listed %+v, error %v", why, got, err)
		}
		if got, err := a.Find(ctx, self(), []jjm.Tag{b.Tag}); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: found %+v, error %v", why, got, err)
		}
		if got, err := a.Account(ctx, self(), ref); ctx.Err() != nil && jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: accounted %+v, error %v", why, got, err)
		}
		if got, err := a.Control(ctx, self(), adapters.Cancel, ref); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: cancelled %+v, error %v", why, got, err)
		}
	}
	nothing("its time is over", ended)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	nothing("it is closed", t.Context())
}
