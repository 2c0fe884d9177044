package handlers_test

import (
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/handlers/montecarlo"
	"jjm/internal/jjm"
)

// The key on_exit has no meaning for a job that reports by its GBS log file. Ready refuses the key instead of ignoring
// it.
func TestReady_RefusesExitCodesOfAJobThatReportsByItsLog(t *testing.T) {
	spec := jjm.Spec{Type: "montecarlo", Retry: jjm.Retries{OnExit: []int{75}},
		Params: map[string]any{"command": []string{"mc"}, "events": 10}}
	_, problems := handlers.Ready(montecarlo.Handler{}, &spec, handlers.Site{})
	if !strings.Contains(problems.Error(), "retry.on_exit: the job reports by its GBS log file") {
		t.Errorf("problems: %v", problems)
	}
	spec.Result = jjm.ResultExit
	if _, problems := handlers.Ready(montecarlo.Handler{}, &spec, handlers.Site{}); len(problems) > 0 {
		t.Errorf("of one that reports by its exit code: %v", problems)
	}
}
