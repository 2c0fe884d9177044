package answer

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/publish/report"
)

// Reports makes the reports of grid jobs for their output tars. Its methods may be called from many goroutines.
type Reports struct{ an *Answers }

// NewReports returns the Reports of the grid jobs that an describes.
func NewReports(an *Answers) Reports { return Reports{an} }

// Page returns the report of a live grid job as an HTML page. job is the row of the grid job as it will be stored. The
// report shows only the orders that the owner of the grid job may see. It lacks the last lines of standard error,
// because the tar has these files. The error is of kind Gone if the grid job is not live.
func (r Reports) Page(ctx context.Context, job *jjm.GridJob) ([]byte, error) {
	d, err := r.facts(job)
	if err != nil {
		return nil, err
	}
	r.an.showGenerations(job, &d.Status)
	if err := r.an.showSteps(ctx, job, &d.Status); err != nil {
		return nil, err
	}
	st := r.an.b.Store
	attempts := func(l *jjm.LocalJob) ([]wire.Attempt, error) { return attemptsOf(ctx, st, job, l) }
	if err := d.SetAttempts(attempts); err != nil {
		return nil, err
	}
	history, err := st.History(ctx, jjm.Ref{Grid: job.ID}, report.MostJournal)
	if err != nil {
		return nil, err
	}
	owner := wire.Caller{UID: job.Owner.UID, User: job.Owner.User}
	orders, err := ordersSince(ctx, r.an, owner, job.Accepted, report.MostJournal)
	if err != nil {
		return nil, err
	}
	d.SetJournal(history, orders)
	var page bytes.Buffer
	err = d.WritePage(&page)
	return page.Bytes(), err
}

// facts returns the facts about a live grid job that are in memory.
func (r Reports) facts(job *jjm.GridJob) (*report.Data, error) {
	v := r.an.s.View()
	defer v.Close()
	live := v.Grid(job.ID)
	if live == nil {
		return nil, jjm.Errorf(jjm.Gone, "grid job %s is not live", job.ID)
	}
	g := *live
	g.Job = *job
	return &report.Data{Status: r.an.statusOf(v.Memory, &g), Locals: slices.Clone(g.Locals),
		Now: cmp.Or(job.Ended, jjm.At(r.an.b.Now()))}, nil
}
