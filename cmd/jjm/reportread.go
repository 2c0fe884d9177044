package main

import (
	"context"
	"fmt"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/publish/report"
)

// read requests the data of a report from the daemon, in several requests.
func (r *reportJob) read(c *cli, id string) (*report.Data, error) {
	a, err := ask(c, r.place, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(id, id+".*")})
	switch {
	case err != nil:
		return nil, err
	case len(a.Status) != 2:
		return nil, jjm.Errorf(jjm.Internal, "report: %d answers for 2 references", len(a.Status))
	case a.Status[0].Lookup.Error != nil:
		return nil, a.Status[0].Lookup.Error.Err()
	}
	d := &report.Data{Status: a.Status[0], Locals: a.Status[1].Locals, Now: jjm.At(time.Now())}
	d.Words = lastWords(r.client(c), d.Status.Causes)
	if err := d.SetAttempts(r.attempts(c)); err != nil {
		return nil, err
	}
	journal, err := ask(c, r.place, wire.VerbHistory(), wire.HistoryRequest{Many: wire.Refs(id),
		Limit: report.MostJournal})
	if err != nil {
		return nil, err
	}
	orders, err := ask(c, r.place, wire.VerbHistory(), wire.HistoryRequest{Orders: true, Limit: report.MostJournal})
	if err != nil {
		return nil, err
	}
	d.SetJournal(journal.History, orders.History)
	return d, nil
}

// attempts returns a function that requests the attempts of a local job from the daemon.
func (r *reportJob) attempts(c *cli) func(*jjm.LocalJob) ([]wire.Attempt, error) {
	return func(l *jjm.LocalJob) ([]wire.Attempt, error) {
		req := wire.HistoryRequest{Many: wire.Refs(l.ID.String()), Limit: 1}
		a, err := client.Call(context.Background(), r.client(c), wire.VerbHistory(), req)
		if err != nil {
			return nil, fmt.Errorf("the attempts of %s: %w", l.ID, err)
		}
		return a.Attempts, nil
	}
}
