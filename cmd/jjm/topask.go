package main

import (
	"context"
	"slices"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

const (
	// mostTop is the greatest number of grid jobs that jjm top shows. mostEnds is the greatest number of grid jobs whose
	// expected end is requested in one update.
	mostTop  = 500
	mostEnds = 50
)

// topData is the data of one update of jjm top, and the JSON object that --json prints.
type topData struct {
	At       jjm.Time       `json:"at"`
	Clusters []wire.Cluster `json:"clusters"`
	// Jobs are the newest grid jobs that are not over. More is set if there are more such grid jobs.
	Jobs   []topJob    `json:"jobs"`
	More   bool        `json:"more,omitempty"`
	Counts wire.Counts `json:"counts"` // the sums over Jobs
	// PerMinute is nil until jjm top has watched the grid jobs for at least leastPace.
	PerMinute *topRates `json:"per_minute,omitempty"`
}

// topJob is a grid job with the number of its local jobs that end per minute, 0 if that is not known.
type topJob struct {
	wire.Status
	PerMinute float64 `json:"per_minute,omitempty"`
}

// topRates are rates in local jobs per minute, or numbers of local jobs.
type topRates struct {
	Submitted float64 `json:"submitted"`
	Ended     float64 `json:"ended"`
	Failed    float64 `json:"failed"` // including killed local jobs
}

// topAsker requests the data of jjm top from the daemon. Only one goroutine at a time may use it.
type topAsker struct {
	daemon *client.Client
	meter  topMeter
	last   []jjm.GridID // the grid jobs of the last answer
}

// next requests the data of the next update. shown are the grid jobs on the screen, whose expected ends are needed; nil
// stands for the first grid jobs of the list. Grid jobs that are no longer in the list are requested once more, for the
// rates.
func (a *topAsker) next(ctx context.Context, shown []jjm.GridID) (d topData, err error) {
	clusters, err := client.Call(ctx, a.daemon, wire.VerbClusters(), wire.ClustersRequest{})
	if err != nil {
		return d, err
	}
	list, err := client.Call(ctx, a.daemon, wire.VerbList(), wire.ListRequest{List: &wire.List{Limit: mostTop + 1}})
	if err != nil {
		return d, err
	}
	all := list.Status
	d = topData{At: jjm.At(time.Now()), Clusters: clusters.Clusters, More: len(all) > mostTop, Jobs: []topJob{}}
	all = all[:min(len(all), mostTop)]
	ids := make([]jjm.GridID, len(all))
	for i := range all {
		ids[i] = all[i].Lookup.ID
	}
	if shown == nil {
		shown = ids
	}
	gone := without(a.last, ids)
	asked, err := a.details(ctx, slices.Concat(gone[:min(len(gone), mostEnds)], shown[:min(len(shown), mostEnds)]))
	if err != nil {
		return d, err
	}
	a.last = ids
	d.PerMinute = a.meter.add(d.At, slices.Concat(all, pick(asked, gone)))
	for _, st := range all {
		if detail, ok := asked[st.Lookup.ID]; ok {
			st.ExpectedEnd = detail.ExpectedEnd
		}
		d.Jobs = append(d.Jobs, topJob{st, a.meter.perMinute(&st)})
		d.Counts = sumCounts(d.Counts, st.Lookup.Counts)
	}
	return d, nil
}

// details requests the statuses of grid jobs, and returns them by id. It leaves out grid jobs that were removed.
func (a *topAsker) details(ctx context.Context, ids []jjm.GridID) (map[jjm.GridID]wire.Status, error) {
	found := map[jjm.GridID]wire.Status{}
	if len(ids) == 0 {
		return found, nil
	}
	refs := make([]string, len(ids))
	for i, id := range ids {
		refs[i] = id.String()
	}
	answer, err := client.Call(ctx, a.daemon, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(refs...)})
	for _, st := range answer.Status {
		if st.Lookup.Error == nil {
			found[st.Lookup.ID] = st
		}
	}
	return found, err
}

// without returns those ids that are not among others.
func without(ids, others []jjm.GridID) (rest []jjm.GridID) {
	for _, id := range ids {
		if !slices.Contains(others, id) {
			rest = append(rest, id)
		}
	}
	return rest
}

// pick returns the statuses of the ids that all contains, in the order of ids.
func pick(all map[jjm.GridID]wire.Status, ids []jjm.GridID) (picked []wire.Status) {
	for _, id := range ids {
		if st, ok := all[id]; ok {
			picked = append(picked, st)
		}
	}
	return picked
}

// sumCounts returns the sums of two counts of local jobs.
func sumCounts(a, b wire.Counts) wire.Counts {
	return wire.Counts{Expected: a.Expected + max(b.Expected, b.Total), Total: a.Total + b.Total, New: a.New + b.New,
		Submitting: a.Submitting + b.Submitting, Submitted: a.Submitted + b.Submitted, Running: a.Running + b.Running,
		Completing: a.Completing + b.Completing, Completed: a.Completed + b.Completed, Failed: a.Failed + b.Failed,
		Killed: a.Killed + b.Killed, Held: a.Held + b.Held, GivenBack: a.GivenBack + b.GivenBack,
		CompletedFrozen: a.CompletedFrozen + b.CompletedFrozen, FailedFrozen: a.FailedFrozen + b.FailedFrozen}
}
