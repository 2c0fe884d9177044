package condor

import (
	"context"
	"fmt"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// List reads the queue, and then, if Config.History is set, the history.
func (a *Adapter) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	at := a.env.Now()
	from := since.Unix()
	// CompletionDate is not used, because a job lacks it for a moment after its completion.
	queue, unread, err := a.query(ctx, queueArgs(fmt.Sprintf("%s && (JobStatus =!= %d || EnteredCurrentStatus >= %d)",
		jjmJobsOf(owner), completed, from)))
	if err != nil {
		return adapters.Listing{}, a.fail("list", err)
	}
	var history []record
	if a.config.History {
		history, err = a.endedInHistory(ctx, owner, from)
		if err != nil {
			return adapters.Listing{}, a.fail("list", err)
		}
	}
	return adapters.Listing{At: at, Reports: merge(queue, history), Unread: unread}, nil
}

// merge makes one report for each job in queue or history. If both have a job, the record in history counts, because it
// was read later.
func merge(queue, history []record) []jjm.Report {
	reports := make([]jjm.Report, 0, len(queue)+len(history))
	type key struct {
		jobID
		tag jjm.Tag
	}
	left := make(map[key]bool, len(history))
	for _, r := range history {
		k := key{r.jobID, r.tag}
		if r.tag.Valid() && !left[k] {
			left[k] = true
			reports = append(reports, report(r, sourceHistory))
		}
	}
	for _, r := range queue {
		if r.tag.Valid() && !left[key{r.jobID, r.tag}] {
			reports = append(reports, report(r, sourceQueue))
		}
	}
	return reports
}
