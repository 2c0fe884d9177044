package needs

import (
	"testing"
)

// skips is a test that only notes that it was to be skipped. A real skip would be counted in the report of the test
// run.
type skips struct {
	testing.TB
	was bool
}

func (s *skips) Helper() {}

func (s *skips) Skip(...any) { s.was = true }

func TestTier_EachTestRunsWhereItBelongs(t *testing.T) {
	campaign := func(t testing.TB) { Campaign(t, Faults) }
	slurm := func(t testing.TB) { System(t, "slurm") }
	none := func(t testing.TB) { NoSystem(t) }
	end := func(t testing.TB) { EndToEnd(t) }
	for _, c := range []struct {
		name, tier, systems string
		do                  func(testing.TB)
		skipped             bool
	}{
		{"a campaign in unit", "unit", "", campaign, true},
		{"a campaign in test", "test", "", campaign, true},
		{"a campaign by default", "", "", campaign, true},
		{"a campaign in its own", "faults", "", campaign, false},
		{"a campaign in another", "hostile", "", campaign, true},
		{"a campaign beside another", "hostile,faults", "", campaign, false},
		{"a campaign in all", "campaign", "", campaign, false},
		{"end to end in unit", "unit", "", end, true},
		{"end to end in test", "test", "", end, false},
		{"end to end by default", "", "", end, false},
		{"end to end in a campaign", "faults", "", end, false},
		{"a system in unit", "unit", "slurm", slurm, true},
		{"a system in its step", "test", "arc slurm", slurm, false},
		{"a system in another step", "test", "sge", slurm, true},
		{"a system in a step without any", "test", "", slurm, true},
		{"no system in the step of one", "test", "slurm", none, true},
		{"no system in the step without", "test", "", none, false},
		{"no system by default", "", "", none, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(tierVar, c.tier)
			t.Setenv(systemsVar, c.systems)
			in := &skips{TB: t}
			if c.do(in); in.was != c.skipped {
				t.Errorf("skipped: %v, want %v", in.was, c.skipped)
			}
		})
	}
}
