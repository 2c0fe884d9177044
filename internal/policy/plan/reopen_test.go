package plan_test

import (
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

func TestResubmitHelps_OnlyWhereAResubmissionIsAccepted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failed int
		change func(*jjm.GridJob)
		want   bool
	}{
		"it failed":            {1, func(*jjm.GridJob) {}, true},
		"nothing failed":       {0, func(j *jjm.GridJob) { j.Status = jjm.Done }, false},
		"it runs":              {1, func(j *jjm.GridJob) { j.Status = jjm.GridRunning }, true},
		"it runs well":         {0, func(j *jjm.GridJob) { j.Status = jjm.GridRunning }, false},
		"it is being killed":   {1, func(j *jjm.GridJob) { j.Status, j.Kill = jjm.GridRunning, true }, false},
		"its tar is made":      {1, func(j *jjm.GridJob) { j.Status = jjm.Prepared }, false},
		"it merges":            {1, func(j *jjm.GridJob) { j.Spec.Merge = &jjm.Merge{} }, false},
		"it runs and merges":   {1, func(j *jjm.GridJob) { j.Status, j.Spec.Merge = jjm.GridRunning, &jjm.Merge{} }, false},
		"its credentials":      {1, func(j *jjm.GridJob) { j.Spec.Credentials = []string{jjm.ProxyKind} }, false},
		"it recovers":          {1, func(j *jjm.GridJob) { j.Spec.Recovers = 4 }, false},
		"it has no local jobs": {1, func(j *jjm.GridJob) { j.Step.Made = 0 }, false},
	} {
		job := jjm.GridJob{ID: 7, Status: jjm.GridFailed}
		job.Step.Made = 2
		test.change(&job)
		if got := plan.ResubmitHelps(&job, test.failed); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
