package answer

import (
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// An attempt keeps its end if its local job ends later without a further attempt: a person killed the local job while
// it waited for the next attempt, or after its cluster had refused it.
func TestAttempt_KeepsItsEndIfItsLocalJobIsKilledLater(t *testing.T) {
	t.Parallel()
	id := jjm.LocalID{Grid: 1, N: 2}
	over := store.Attempt{ID: jjm.AttemptID{LocalID: id}, Ended: 1100,
		Evidence: &jjm.Evidence{Result: &jjm.Result{Exit: 3}}}
	byBatch := over
	byBatch.Evidence = &jjm.Evidence{Batch: jjm.Report{Ended: 1050}}
	between := jjm.LocalJob{ID: id, Attempt: 1, NotBefore: 5000, State: jjm.Killed, Phase: jjm.ByPerson, Ended: 7000}
	refused := jjm.LocalJob{ID: id, State: jjm.Killed, Phase: jjm.ByPerson, Ended: 7000}
	failed := jjm.LocalJob{ID: id, State: jjm.Failed, Phase: jjm.ByApp, Ended: 1080}
	for name, test := range map[string]struct {
		attempt store.Attempt
		local   jjm.LocalJob
		want    jjm.Time
	}{
		"between attempts":                    {over, between, 1100},
		"between attempts, by batch system":   {byBatch, between, 1050},
		"after a refusal":                     {over, refused, 1100},
		"the end of the local job is its own": {over, failed, 1080},
	} {
		if got := attemptOf(&test.attempt, &jjm.GridJob{}, &test.local).Ended; got != test.want {
			t.Errorf("%s: the attempt ended at %d, want %d", name, got, test.want)
		}
	}
}
