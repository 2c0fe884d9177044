package cdfmc

import (
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/testkit/handlertest"
)

func spec(params map[string]any) *jjm.Spec {
	params["command"] = []string{"cdfsim", "{section}", "{first_event}", "{events}", "{seed}"}
	return &jjm.Spec{Type: "cdfmc", Params: params}
}

func TestConformance(t *testing.T) {
	recovery := spec(map[string]any{"sections": 20, "events_per_section": 500})
	recovery.Only = []jjm.Span{{First: 501, Count: 500}, {First: 9501, Count: 500}}
	handlertest.Run(t, New(), handlers.Site{},
		handlertest.Good{Spec: spec(map[string]any{"sections": 1, "events_per_section": 1}), Parts: 1, Units: 1},
		handlertest.Good{
			Spec:  spec(map[string]any{"sections": 300, "events_per_section": 500, "first_section": 0, "seed_offset": 7}),
			Parts: 300, Units: 150_000},
		handlertest.Good{Spec: recovery, Parts: 2, Units: 1000})
}

func TestCommand_ARecoveryHasTheSameSectionsAndOtherSeeds(t *testing.T) {
	s := spec(map[string]any{"sections": 20, "events_per_section": 500, "first_section": 100})
	job := &jjm.LocalJob{Part: jjm.Part{Unit: jjm.UnitEvent, First: 501, Count: 500, Serial: 21}}
	c, err := New().Command(s, job)
	if got := strings.Join(c.Argv, " "); err != nil || got != "cdfsim 101 501 500 21" {
		t.Errorf("%s, %v", got, err)
	}
	s.Only = []jjm.Span{{First: 502, Count: 10}}
	if problems := New().Check(s, handlers.Site{}); len(problems) != 1 ||
		!strings.Contains(problems[0].Text, "in the middle of a section") {
		t.Error(problems)
	}
}
