package answer

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/publish/report"
)

// mostRetried is the greatest number of local jobs with several attempts of which addHosts reads all attempts. Of
// further local jobs it counts only the last attempt.
const mostRetried = 200

// addHosts adds the figures of hosts to the status of a grid job. It adds nothing if the local jobs are not in memory.
func addHosts(ctx context.Context, an *Answers, s *wire.Status) error {
	var hosts report.Hosts
	now := jjm.At(an.b.Now())
	job, retried := countHosts(an.s, s.Lookup.ID, &hosts, now)
	for i := range retried {
		attempts, err := attemptsOf(ctx, an.b.Store, &job, &retried[i])
		if err != nil {
			return err
		}
		hosts.AddAttempts(&retried[i], attempts, now)
	}
	s.Hosts, s.MoreHosts = hosts.Figures()
	return nil
}

// countHosts counts the attempts of a grid job in memory by host. It returns the grid job, and copies of at most
// mostRetried local jobs with several attempts, which it does not count.
func countHosts(st *state.State, id jjm.GridID, hosts *report.Hosts, now jjm.Time) (job jjm.GridJob,
	retried []jjm.LocalJob) {
	v := st.View()
	defer v.Close()
	g := v.Grid(id)
	if g == nil {
		return job, nil
	}
	for i := range g.Locals {
		l := &g.Locals[i]
		if several := l.Attempt > 0 || l.Phase == jjm.RetryWait; several && len(retried) < mostRetried {
			retried = append(retried, *l)
		} else {
			hosts.AddLocal(l, now)
		}
	}
	return g.Job, retried
}
