package answer

import (
	"context"
	"slices"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// recordsAtOnce is the number of rows of grid jobs read from the store at a time.
const recordsAtOnce = 200

// Records evaluates the XPath query Path on the records of the selected grid jobs that the caller may see, newest
// first, and sends a line for each record in which it finds something. A record that cannot be read is sent with its
// error, and the next records follow. Records returns an error of kind Invalid for a bad query or status, or the error
// of out.
func (an verbs) Records(ctx context.Context, caller wire.Caller, r wire.RecordsRequest,
	out *serve.Stream[wire.RecordsAnswer]) error {
	err := an.recordsOf(ctx, caller, r.Path, r.Of, func(f wire.Found) error {
		return out.Line(wire.RecordsAnswer{Found: &f}, false)
	})
	if err != nil {
		return err
	}
	return out.Line(wire.RecordsAnswer{}, true)
}

func (an *Answers) recordsOf(ctx context.Context, caller wire.Caller, path string, of wire.Selection,
	send func(wire.Found) error) error {
	statuses, err := jjm.GridStatuses(of.Status)
	if err != nil {
		return jjm.Errorf(jjm.Invalid, "status: %w", err)
	}
	f := store.Filter{Statuses: statuses, Type: of.Type, Owner: of.Owner, All: true, Limit: recordsAtOnce,
		Since: of.Since, Until: of.Until}
	if !caller.Admin {
		f.Owner = caller.User
	}
	for {
		jobs, err := an.b.Store.Grids(ctx, f)
		if err != nil {
			return err
		}
		for i := range jobs {
			if err := an.askRecord(ctx, caller, &jobs[i], path, of, send); err != nil {
				return err
			}
		}
		if len(jobs) < recordsAtOnce {
			return nil
		}
		f.Before = jobs[len(jobs)-1].ID
	}
}

// askRecord evaluates the query on the record of one grid job, and sends the results.
func (an *Answers) askRecord(ctx context.Context, caller wire.Caller, job *jjm.GridJob, path string, of wire.Selection,
	send func(wire.Found) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !caller.May(job.Owner.UID) {
		return nil
	}
	an.rooms.Records.PublishNow(ctx, job.ID)
	found := wire.Found{ID: job.ID, Type: job.Spec.Type, Owner: job.Owner.User}
	lines, err := an.queryOn(job.ID, path, of.Cluster)
	switch k := jjm.KindOf(err); {
	case k == jjm.Gone:
		return nil // the record is removed
	case k == jjm.Invalid:
		return err
	case err != nil:
		found.Error = err.Error()
	case len(lines) == 0:
		return nil
	}
	found.Record = lines
	return send(found)
}

// queryOn evaluates the query on the record of a grid job if the grid job has, or had, local
// jobs on the cluster; "" is any cluster. For other grid jobs it returns nothing.
func (an *Answers) queryOn(id jjm.GridID, path, cluster string) ([]string, error) {
	if cluster != "" {
		all, err := an.b.Deps.Records.Query(id, "/gridjob/clusterjobs/clusterjob/@cluster")
		if err != nil || !slices.Contains(all, cluster) {
			return nil, err
		}
	}
	return an.b.Deps.Records.Query(id, path)
}
