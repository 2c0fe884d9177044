package conformance

import (
	"encoding/json"
	"fmt"
	"sync"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/testkit/differ"
)

// planRounds is the number of times that each caller requests all plans. Each request may start a program.
const planRounds = 2

// planned holds a spec and what the type answered when it was asked to plan it: the settings with the plan, or the
// problems, as JSON.
type planned struct {
	spec *jjm.Spec
	was  []byte
}

// planAtOnce checks that a type that plans always returns the same plan for a spec, also while other calls run: first
// one call after the other, then from many goroutines. It returns false if it reported a failure.
func planAtOnce(t TB, h handlers.Handler, site handlers.Site, specs []*jjm.Spec) bool {
	t.Helper()
	if _, plans := h.(handlers.Planner); !plans {
		return true
	}
	var all []planned
	for _, spec := range specs {
		was, err := planOf(h, site, spec)
		if err != nil {
			t.Fatal(err)
		}
		p := planned{spec, was}
		if p.again(h, site) != "" {
			// The first answer depended on the previous request, or each answer differs. The check of the spec finds
			// the latter.
			if p.was, err = planOf(h, site, spec); err != nil {
				t.Fatal(err)
			}
			if p.again(h, site) != "" {
				return true
			}
		}
		all = append(all, p)
	}
	for i := range all {
		if text := all[i].again(h, site); text != "" {
			t.Errorf("asked for the plans of several jobs in turn, the type mixes them up: %s: does it keep anything "+
				"between calls?", text)
			return false
		}
	}
	if text := plansFrom(t, h, site, all); text != "" {
		t.Errorf("asked for the plans of several jobs at once, the type mixes them up: %s: does it keep anything "+
			"between calls?", text)
		return false
	}
	return true
}

// plansFrom requests all plans from many goroutines, each with separate copies of the specs, and returns the first
// difference from the earlier plans.
func plansFrom(t TB, h handlers.Handler, site handlers.Site, all []planned) string {
	t.Helper()
	wrong := make(chan string, callers)
	var group sync.WaitGroup
	for caller := range callers {
		own := make([]planned, len(all))
		for i, p := range all {
			own[i] = planned{clone(t, p.spec), p.was}
		}
		group.Go(func() {
			for round := range planRounds * len(own) {
				if text := own[(caller+round)%len(own)].again(h, site); text != "" {
					wrong <- text
					return
				}
			}
		})
	}
	group.Wait()
	close(wrong)
	return <-wrong
}

// again requests the plan again, and returns the difference, "" if there is none.
func (p *planned) again(h handlers.Handler, site handlers.Site) string {
	now, err := planOf(h, site, p.spec)
	if err != nil {
		return err.Error()
	}
	if string(now) == string(p.was) {
		return ""
	}
	if how := plansDiffer(now, p.was); how != "" {
		return how
	}
	return "the answer " + differ.First(string(now), string(p.was))
}

// planOf returns the planned settings as JSON, or the type's problems.
func planOf(h handlers.Handler, site handlers.Site, spec *jjm.Spec) ([]byte, error) {
	spec, problems := handlers.Planned(h, spec, site)
	answer := any(spec.Params)
	if len(problems) > 0 {
		answer = map[string]any{"problems": problems}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("the plan: %w", err)
	}
	return text, nil
}
