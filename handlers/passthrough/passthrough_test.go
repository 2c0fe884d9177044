package passthrough

import (
	"slices"
	"testing"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/testkit/handlertest"
)

func TestConformance(t *testing.T) {
	handlertest.Run(t, New(), handlers.Site{},
		handlertest.Good{Spec: &jjm.Spec{Type: "passthrough", Params: map[string]any{"command": []string{"run"}}},
			Parts: 1, Units: 1})
}

func TestCommand_PassesTheWordsAsTheyAre(t *testing.T) {
	words := []string{"runner", "{serial}", "{{", "", "a b"}
	spec := &jjm.Spec{Type: "passthrough", Params: map[string]any{"command": words}}
	if problems := New().Check(spec, handlers.Site{}); problems != nil {
		t.Fatal(problems)
	}
	c, err := New().Command(spec, &jjm.LocalJob{})
	if err != nil || !slices.Equal(c.Argv, words) {
		t.Errorf("%q, %v", c.Argv, err)
	}
	spec.Params["command"] = []string{""}
	if problems := New().Check(spec, handlers.Site{}); len(problems) != 1 {
		t.Error(problems)
	}
}
