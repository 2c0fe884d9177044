package wish

import (
	"context"

	"jjm"
	"jjm/engine/state"
	"jjm/wire"
)

// remarkBy is the source of remarks in the journal, and lastRemarks how many entries
// of a grid job are looked through for the last one.
const (
	remarkBy    = "remark"
	lastRemarks = 1000
)

// Remark journals what a gatekeeper noticed about a grid job, unless its last remark
// said so: a gatekeeper looks again and again.
func (ws *Wishes) Remark(ctx context.Context, caller wire.Caller, id jjm.GridID, text string) (news bool, err error) {
	if !caller.Admin {
		return false, jjm.Errorf(jjm.Denied, "%s is no administrator: only one may make remarks about grid jobs", caller.User)
	}
	job, err := ws.s.Find(ctx, caller, id)
	if err != nil || job.Status.Final() {
		return false, err
	}
	past, err := ws.b.Store.History(ctx, jjm.Ref{Grid: id}, lastRemarks)
	if err != nil {
		return false, err
	}
	for _, entry := range past { // oldest first: the last one decides
		if entry.Source == remarkBy {
			news = entry.Cause == text
		}
	}
	if news = !news; !news {
		return false, nil
	}
	err = ws.s.Change(ctx, remarkBy, func(c *state.Change) error {
		g := c.Live.Grid(id) // as it is now, which is not as it was found
		if g == nil {
			return nil
		}
		word := g.Job.Status.String()
		c.Note(id, word, word, text, caller.User)
		return nil
	})
	return err == nil, err
}
