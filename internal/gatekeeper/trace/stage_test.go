package trace

import (
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
)

// at returns what the daemon reports about grid job 7, which has one local job. cause is the reason why the local job
// waits.
func at(status jjm.GridStatus, local jjm.LocalJob, cause why.Code) *seen {
	s := &seen{cause: wire.Cause{Code: string(cause), Text: "the evidence", Remedy: "the remedy"}}
	s.Lookup = wire.Lookup{ID: 7, Status: status.String(), Message: "the message", Counts: wire.Counts{Total: 1}}
	s.Locals = []jjm.LocalJob{local}
	return s
}

func TestStage_IsWhatTheFactsProve(t *testing.T) {
	bare := func(total int) *seen {
		s := &seen{}
		s.Lookup = wire.Lookup{ID: 7, Status: jjm.Ready.String(), Counts: wire.Counts{Total: total}}
		return s
	}
	for name, c := range map[string]struct {
		s    *seen
		want stage
	}{
		"no grid job":           {&seen{}, unknown},
		"not cut":               {bare(0), accepted},
		"cut, not looked at":    {bare(1), cut},
		"new":                   {at(jjm.Pending, jjm.LocalJob{}, why.Next), cut},
		"new, and refused":      {at(jjm.Pending, jjm.LocalJob{}, why.SubmitFailing), given},
		"submitting":            {at(jjm.Pending, jjm.LocalJob{State: jjm.Submitting}, why.Submitting), given},
		"queued":                {at(jjm.GridRunning, jjm.LocalJob{State: jjm.Submitted}, why.Queued), queued},
		"runs":                  {at(jjm.GridRunning, jjm.LocalJob{State: jjm.Running}, why.Running), running},
		"done":                  {at(jjm.Done, jjm.LocalJob{State: jjm.Completed}, ""), ended},
		"failed before a batch": {at(jjm.GridFailed, jjm.LocalJob{State: jjm.Failed}, ""), cut},
		"refused":               {at(jjm.GridFailed, jjm.LocalJob{State: jjm.Failed, Cluster: "slurm"}, ""), given},
		"failed in the queue":   {at(jjm.GridFailed, jjm.LocalJob{State: jjm.Failed, BatchID: "4711"}, ""), queued},
		"failed after a start":  {at(jjm.GridFailed, jjm.LocalJob{State: jjm.Failed, Started: 1}, ""), running},
	} {
		if got := c.s.stage(); got != c.want {
			t.Errorf("%s: stage %d, want %d", name, got, c.want)
		}
	}
}

// A trace continues at a cause that can pass without help from a person. Any other cause stops the trace, and the error
// of the trace then quotes the cause.
func TestStops_AtCausesThatNeedAPerson(t *testing.T) {
	passing := map[why.Code]bool{why.Killing: true, why.BackOff: true, why.Limit: true, why.Next: true, why.Unknown: true,
		why.Doubtful: true, why.Ceiling: true, why.Submitting: true, why.Queued: true, why.Starting: true,
		why.Running: true, why.Suspended: true, why.Merging: true, why.Collecting: true}
	for _, code := range why.Codes() {
		f := at(jjm.Pending, jjm.LocalJob{Cluster: "slurm"}, code).stops()
		if (f == nil) != passing[code] {
			t.Errorf("%s: fault %v", code, f)
		}
		if f != nil && (f.Text != string(code)+": the evidence" || f.Remedy != "the remedy" || f.On != "cluster slurm") {
			t.Errorf("%s: %+v", code, f)
		}
	}
}

func TestStops_AtAnEndThatIsNotGood(t *testing.T) {
	f := at(jjm.GridFailed, jjm.LocalJob{State: jjm.Failed, Cluster: "slurm", BatchID: "4711", Host: "node7", Started: 1},
		"").stops()
	if f == nil || f.Text != "the grid job is failed: the message" || f.Tried != "run the local job to its end" ||
		f.On != "cluster slurm, batch id 4711, host node7" {
		t.Errorf("%+v", f)
	}
	if f := at(jjm.GridRunning, jjm.LocalJob{State: jjm.Running}, why.Running).stops(); f != nil {
		t.Errorf("a running job stops the trace: %+v", f)
	}
}
