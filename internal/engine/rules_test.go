package engine_test

import (
	"strings"
	"testing"
	"time"

	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse/rule"
	"jjm/internal/testkit/adaptertest"
)

// Rules decide whether a failed attempt is repeated. A rule of the site takes precedence over the rules that jjm ships.
// The name of the rule is stored with the decision.
func TestRules_OfTheSiteDecideBeforeThoseOfJJM(t *testing.T) {
	t.Parallel()
	for _, site := range []bool{false, true} {
		config := with(func(c *engine.Config) {
			if site {
				c.Rule = []rule.Rule{{Name: "quota", Exit: []int{9}, Type: "montecarlo", Do: rule.Fail}}
			}
		})
		play := always(adaptertest.Play{Exit: 9, Life: time.Hour})
		inWorld(t, options{config: config, play: play}, func(t *testing.T, w *world) {
			id := w.submit(alice, mc(1))
			w.until(3*time.Hour, "the first attempt is judged", func() bool {
				attempts, err := w.store.Attempts(t.Context(), jjm.LocalID{Grid: id})
				w.must(err)
				return len(attempts) > 0 && attempts[0].Verdict != nil
			})
			attempts, err := w.store.Attempts(t.Context(), jjm.LocalID{Grid: id})
			w.must(err)
			v := attempts[0].Verdict
			want := map[bool]jjm.Verdict{false: {Rule: "log", Action: jjm.Retry}, true: {Rule: "quota", Action: jjm.Fail}}[site]
			if v.Rule != want.Rule || v.Action != want.Action ||
				site != strings.Contains(v.Text, "; by rule quota of the site") {
				t.Errorf("with a rule of the site %t: %+v", site, v)
			}
		})
	}
}
