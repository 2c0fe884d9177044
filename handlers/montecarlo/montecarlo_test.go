package montecarlo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/testkit/handlertest"
)

func spec(params map[string]any) *jjm.Spec {
	if _, ok := params["command"]; !ok {
		params["command"] = []any{"mc.sh"}
	}
	return &jjm.Spec{Type: "montecarlo", Params: params}
}

func TestConformance(t *testing.T) {
	site := handlers.Site{RecommendedCPU: 3600, MaxCPU: 7200}
	handlertest.Run(t, Handler{}, site,
		handlertest.Good{Spec: spec(map[string]any{"events": 1}), Parts: 1, Units: 1},
		handlertest.Good{Spec: spec(map[string]any{"events": 2001, "first_event": 0}), Parts: 9, Units: 2001},
		handlertest.Good{Spec: spec(map[string]any{"events": 25_000_000, "events_per_job": 250}),
			Parts: 100_000, Units: 25_000_000},
		handlertest.Good{
			Spec: spec(map[string]any{"events": 1000, "first_event": 9_000_000_000_000_000,
				"cpu_per_event": 60, "seed_offset": 5}),
			Parts: 17, Units: 1000},
		handlertest.Good{
			Spec: spec(map[string]any{"events": 1000, "events_per_job": 30, "outputs_per_phase": "many",
				"max_events_per_output": 7}),
			Parts: 34, Units: 1000},
		handlertest.Good{
			Spec:  spec(map[string]any{"events": 10, "command": []any{"run", "{first_event}-{last_event}", "{seed}", "{{x}"}}),
			Parts: 1, Units: 10},
	)
}

// The number of local jobs and its reasons must follow decision R20.
func TestSplit_NumberOfLocalJobs(t *testing.T) {
	type params = map[string]any
	tests := map[string]struct {
		params           params
		recommended, max float64
		size             int64
		jobs             int
		why              []string
	}{
		"nothing known": {params{"events": 2000}, 0, 0, 250, 8, []string{
			"250 events per local job: the rule of thumb, because cpu_per_event is not set",
			"2000 events: 8 local jobs"}},
		"no CPU per event": {params{"events": 2001}, 3600, 7200, 250, 9, []string{
			"250 events per local job: the rule of thumb, because cpu_per_event is not set",
			"2001 events: 9 local jobs, the last with 1 event"}},
		"no recommendation": {params{"events": 1000, "cpu_per_event": 10}, 0, 0, 250, 4, []string{
			"250 events per local job: the rule of thumb, because the site recommends no CPU time per local job " +
				"(engine.recommended_cpu, see docs/JOB-TYPES.md)",
			"1000 events: 4 local jobs"}},
		"no recommendation, but a maximum": {params{"events": 1000, "cpu_per_event": 10}, 0, 1000, 100, 10, []string{
			"250 events per local job: the rule of thumb, because the site recommends no CPU time per local job " +
				"(engine.recommended_cpu, see docs/JOB-TYPES.md)",
			"at most 100 events per local job: the site allows 1000 s of CPU per local job",
			"1000 events: 10 local jobs"}},
		"recommended": {params{"events": 1000, "cpu_per_event": 14.4}, 3600, 0, 250, 4, []string{
			"250 events per local job: the site recommends 3600 s of CPU per local job, and an event takes 14.4 s",
			"1000 events: 4 local jobs"}},
		"rounded down": {params{"events": 100, "cpu_per_event": 1000}, 3999, 0, 3, 34, []string{
			"3 events per local job: the site recommends 3999 s of CPU per local job, and an event takes 1000 s",
			"100 events: 34 local jobs, the last with 1 event"}},
		"maximum below the recommendation": {params{"events": 100, "cpu_per_event": 100}, 3600, 1800, 18, 6, []string{
			"36 events per local job: the site recommends 3600 s of CPU per local job, and an event takes 100 s",
			"at most 18 events per local job: the site allows 1800 s of CPU per local job",
			"100 events: 6 local jobs, the last with 10 events"}},
		"at least one": {params{"events": 3, "cpu_per_event": 5000}, 3600, 7200, 1, 3, []string{
			"1 event per local job: the site recommends 3600 s of CPU per local job, and an event takes 5000 s",
			"3 events: 3 local jobs"}},
		"an event larger than the maximum": {params{"events": 3, "cpu_per_event": 10000}, 3600, 7200, 1, 3, []string{
			"1 event per local job: the site recommends 3600 s of CPU per local job, and an event takes 10000 s",
			"an event takes 10000 s of CPU, more than the 7200 s that the site allows per local job: such jobs may be stopped",
			"3 events: 3 local jobs"}},
		"own size": {params{"events": 1000, "events_per_job": 100, "cpu_per_event": 1}, 3600, 7200, 100, 10, []string{
			"100 events per local job: events_per_job says so",
			"1000 events: 10 local jobs"}},
		"one output file": {params{"events": 1000, "max_events_per_output": 50}, 0, 0, 50, 20, []string{
			"250 events per local job: the rule of thumb, because cpu_per_event is not set",
			"at most 50 events per local job: each phase writes one file, which holds at most so many",
			"1000 events: 20 local jobs"}},
		"many output files": {params{"events": 1000, "max_events_per_output": 50, "outputs_per_phase": "many"}, 0, 0, 250, 4,
			[]string{
				"250 events per local job: the rule of thumb, because cpu_per_event is not set",
				"each phase writes several files, because a file holds at most 50 events",
				"1000 events: 4 local jobs"}},
		"fewer events than a job takes": {params{"events": 7}, 0, 0, 250, 1, []string{
			"250 events per local job: the rule of thumb, because cpu_per_event is not set",
			"7 events: 1 local job"}},
		"next to no CPU": {params{"events": 1 << 50, "cpu_per_event": 0.000001}, 1e300, 0, 1 << 53, 1, []string{
			"9007199254740992 events per local job: the site recommends 1e+300 s of CPU per local job, and an event takes 1e-06 s",
			"1125899906842624 events: 1 local job"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			site := handlers.Site{RecommendedCPU: test.recommended, MaxCPU: test.max}
			if problems := (Handler{}).Check(spec(test.params), site); problems != nil {
				t.Fatal(problems)
			}
			c, err := Handler{}.Split(spec(test.params), site)
			if err != nil {
				t.Fatal(err)
			}
			if c.Params.EventsPerJob != test.size || c.Jobs != test.jobs {
				t.Errorf("%d jobs of %d events, want %d of %d", c.Jobs, c.Params.EventsPerJob, test.jobs, test.size)
			}
			if diff := cmp.Diff(test.why, c.Why); diff != "" {
				t.Errorf("why (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheck_RefusesAndSaysWhatToChange(t *testing.T) {
	tests := map[string]struct {
		params map[string]any
		want   string
	}{
		"no events": {map[string]any{}, "params.events: is missing: how many events to make in all"},
		"absurd number": {map[string]any{"events": 1_000_000_000},
			"params.events: would make 4000000 local jobs, and this site allows 100000 per grid job: with 250 events each; ask for fewer events or set events_per_job higher"},
		"beyond any number": {map[string]any{"events": 1 << 50},
			"params.events: split by events: 1125899906842624 units in parts of 250 would make 4503599627371 parts: at most 10000000: with 250 events each"},
		"events beyond 2^53": {map[string]any{"events": 10, "first_event": 9007199254740990},
			"params.events: split by events: 10 events from event 9007199254740990 on"},
		"own size too long": {map[string]any{"events": 10, "events_per_job": 100, "cpu_per_event": 100},
			"params.events_per_job: 100 events of 100 s need more than the 7200 s of CPU that the site allows per local job: at most 72"},
		"own size beyond the file": {map[string]any{"events": 10, "events_per_job": 100, "max_events_per_output": 7},
			`params.events_per_job: 100 is more than max_events_per_output = 7, and outputs_per_phase = "one": lower it, or set outputs_per_phase = "many"`},
		"placeholder": {map[string]any{"events": 10, "command": []any{"x", "{evts}"}},
			`params.command[1]: unknown placeholder "{evts}": did you mean {events}? known are {serial}`},
		"misspelt": {map[string]any{"events": 10, "cpu_per_evnt": 1},
			`params.cpu_per_evnt: unknown key "cpu_per_evnt": did you mean "cpu_per_event"?`},
		"negative CPU": {map[string]any{"events": 10, "cpu_per_event": -1},
			"params.cpu_per_event: -1 is out of range: want 0.000001 to 1e9 seconds"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			problems := Handler{}.Check(spec(test.params), handlers.Site{MaxCPU: 7200})
			if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), test.want) {
				t.Errorf("problems are %v, want %s", problems, test.want)
			}
		})
	}
}

func TestSplit_RefusesWhatCheckRefuses(t *testing.T) {
	for _, params := range []map[string]any{{}, {"events": 1_000_000_000}} {
		if _, err := (Handler{}).Split(spec(params), handlers.Site{}); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("Split of %v: %v", params, err)
		}
	}
	if _, err := (Handler{}).Command(spec(map[string]any{}), &jjm.LocalJob{}); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("Command: %v", err)
	}
}

func TestSplit_NeverExceedsTheSitesMaximum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		site := handlers.Site{
			RecommendedCPU: rapid.Float64Range(0, 1e6).Draw(t, "recommended"),
			MaxCPU:         rapid.Float64Range(1, 1e6).Draw(t, "max"),
			MaxLocalJobs:   10_000_000,
		}
		cpu := rapid.Float64Range(0.001, 1e5).Draw(t, "cpu")
		s := spec(map[string]any{"events": rapid.IntRange(1, 1_000_000).Draw(t, "events"), "cpu_per_event": cpu})
		c, err := Handler{}.Split(s, site)
		if err != nil {
			t.Fatal(err)
		}
		if n := float64(c.Params.EventsPerJob); n > 1 && n*cpu > site.MaxCPU*(1+1e-12) {
			t.Errorf("%v events of %v s are more than %v s", n, cpu, site.MaxCPU)
		}
	})
}

func TestCommand_SeedBelongsToTheSerial(t *testing.T) {
	s := spec(map[string]any{"events": 10, "seed_offset": 100, "command": []any{"mc", "{seed}", "{job}"}})
	job := &jjm.LocalJob{ID: jjm.LocalID{Grid: 5, N: 6}, Attempt: 2,
		Part: jjm.Part{Unit: jjm.UnitEvent, First: 1, Count: 10, Serial: 7}}
	c, err := Handler{}.Command(s, job)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"mc", "107", "5.6"}, c.Argv); diff != "" {
		t.Errorf("argv (-want +got):\n%s", diff)
	}
}
