package idealize_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/adapters/idealize"
)

// lineOf returns what prevents the next submission under ctx from starting.
func lineOf(ctx context.Context, a adapters.Adapter) idealize.Line {
	return a.(interface {
		Line(ctx context.Context) idealize.Line
	}).Line(ctx)
}

// While commands hang and take all places, the line has the number of running commands, the setting and the time since
// which a submission waits. It is empty when there is room again.
func TestLine_HangingCommandsTakeAllPlaces(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := idealize.Wrap(&scripted{play: always(time.Hour, nil)},
			settings(func(c *idealize.Config) { c.ParallelCommands, c.BreakerFailures = 3, 0 }), idealize.Deps{})
		if got := lineOf(t.Context(), a); got != (idealize.Line{}) {
			t.Errorf("without commands: %+v", got)
		}
		var full time.Time
		for range 2 {
			full = time.Now()
			go func() { _ = ask(t.Context(), a, idealize.List, "") }()
			time.Sleep(time.Second)
		}
		want := idealize.Line{Full: idealize.Parallel, Used: 2, Setting: 3, Kept: 1, Since: full}
		if diff := cmp.Diff(want, lineOf(t.Context(), a)); diff != "" {
			t.Errorf("two hang (-want +got):\n%s", diff)
		}
		want.Waits, want.Since = true, time.Now()
		go func() { _ = ask(t.Context(), a, idealize.Submit, "t") }()
		synctest.Wait()
		if diff := cmp.Diff(want, lineOf(t.Context(), a)); diff != "" {
			t.Errorf("a submission waits (-want +got):\n%s", diff)
		}
		time.Sleep(time.Hour)
		if got := lineOf(t.Context(), a); got != (idealize.Line{}) {
			t.Errorf("after the commands: %+v", got)
		}
	})
}

// If as many commands began within a minute as may, the line has the time at which the next one may begin. An account
// may use half.
func TestLine_TheCommandsOfAMinuteAreUsed(t *testing.T) {
	const mallory = 7
	for name, test := range map[string]struct {
		own  bool
		ask  int
		want idealize.Line
	}{
		"the daemon": {false, 18, idealize.Line{Full: idealize.PerMinute, Used: 18, Setting: 20, Kept: 2}},
		"an account": {true, 10,
			idealize.Line{Full: idealize.PerMinute, Used: 10, Setting: 20, Own: true}},
	} {
		inBubble(t, func(t *testing.T) {
			a := idealize.Wrap(&scripted{play: always(0, nil)}, settings(func(c *idealize.Config) { c.CommandsPerMinute = 20 }),
				idealize.Deps{})
			ctx := t.Context()
			if test.own {
				ctx = by(ctx, as(mallory))
			}
			test.want.Since, test.want.Until = time.Now(), time.Now().Add(time.Minute)
			for range test.ask {
				_ = ask(ctx, a, idealize.List, "")
			}
			if diff := cmp.Diff(test.want, lineOf(ctx, a)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}
