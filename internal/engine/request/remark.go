package request

import (
	"context"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// remarkBy is the source of remarks in the journal. lastRemarks is how many of a grid
// job's last entries are searched for its last remark.
const (
	remarkBy    = "remark"
	lastRemarks = 1000
)

// Remark adds a text of a gatekeeper to the journal of a grid job. It adds nothing if the grid job has ended, or if the
// last remark has the same text, because gatekeepers report the same finding repeatedly. News reports whether the text
// was added. The error is of kind Denied if the caller is not an administrator.
func (ws *Requests) Remark(ctx context.Context, caller wire.Caller, r wire.RemarkRequest) (a wire.RemarkAnswer,
	err error) {
	id := r.Grid()
	if !caller.Admin {
		return a, jjm.Errorf(jjm.Denied, "%s is no administrator: only one may make remarks about grid jobs",
			caller.User)
	}
	job, _, err := ws.s.Kept(ctx, caller, id) // a removed grid job counts as ended
	if err != nil || job.Status.Final() {
		return a, err
	}
	past, err := ws.b.Store.History(ctx, jjm.Ref{Grid: id}, lastRemarks)
	if err != nil {
		return a, err
	}
	said := ""
	for _, entry := range past { // oldest first
		if entry.Source == remarkBy {
			said = entry.Cause
		}
	}
	if said == r.Remark {
		return a, nil
	}
	err = ws.s.Change(ctx, remarkBy, func(c *state.Change) error {
		g := c.Live.Grid(id) // the grid job may have ended since Kept
		if g == nil {
			return nil
		}
		word := g.Job.Status.String()
		c.Note(id, word, word, r.Remark, caller.User)
		a.News = true
		return nil
	})
	if err != nil {
		a.News = false
	}
	return a, err
}
