package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"jjm/adapters"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// errKilled is the error for a bulk that was not submitted because a member is to be killed.
var errKilled = errors.New("a member of the bulk is to be killed")

// halter makes sure that local jobs that are to be killed do not start, on a cluster where a cancel is final: a batch
// job that waited and was cancelled never starts there (adapters.Capabilities.FinalCancel).
type halter struct {
	c *Cluster
	// sending is read-locked while a bulk is being submitted.
	sending sync.RWMutex
}

// Halting returns a function that cancels the batch jobs of a grid job's local jobs that are to be killed, on the
// clusters where a cancel is final. After the function has returned, none of the cancelled jobs starts. If a cancel
// fails, the function logs the error, and the control loop sends the cancel again. On other clusters the function does
// nothing: there, the claims of the daemon prevent wrappers from starting the application.
func Halting(cs *Clusters) func(context.Context, jjm.GridID) {
	return func(ctx context.Context, id jjm.GridID) {
		for _, name := range cs.s.Names {
			cs.all[name].halter.all(ctx, func(g *state.Grid) bool { return g.Job.ID == id })
		}
	}
}

// all cancels the batch jobs of the local jobs that are to be killed, in the grid jobs for which match returns true.
func (h *halter) all(ctx context.Context, match func(*state.Grid) bool) {
	c := h.c
	if !c.caps().FinalCancel {
		return
	}
	// Wait for the submissions that began before the kill was stored. Later submissions see the kill.
	h.sending.Lock()
	//lint:ignore SA2001 the lock is only waited for
	h.sending.Unlock()
	for owner, jobs := range h.doomed(match) {
		if err := h.cancel(ctx, owner, jobs); err != nil && ctx.Err() == nil {
			c.b.Complain(slog.LevelWarn, "halt/"+c.name+"/"+owner.User, "cancel failed, will be repeated", "cluster", c.name,
				"jobs", len(jobs), "error", err)
		}
	}
}

// doomed returns, by owner, the batch jobs on this cluster whose local jobs are to be killed and whose results were not
// read yet. If the batch system's id of a bulk is not stored, the batch job is identified by the tag of the bulk and
// its index.
func (h *halter) doomed(match func(*state.Grid) bool) map[jjm.Owner][]absentee {
	c := h.c
	v := c.s.View()
	defer v.Close()
	out := map[jjm.Owner][]absentee{}
	for _, g := range v.Grids() {
		if !match(g) {
			continue
		}
		for i := range g.Locals {
			l := &g.Locals[i]
			if !g.Job.Kill && !l.Kill || v.Current(l.AttemptID()) == nil {
				continue
			}
			b := v.Bulk(l.Tag)
			if b == nil || b.Cluster != c.name || c.cs.ends.HasResult(l.AttemptID()) {
				continue
			}
			ref, _ := refIn(b, l)
			out[b.Owner] = append(out[b.Owner], absentee{l.AttemptID(), ref})
		}
	}
	return out
}

// cancel cancels batch jobs of one owner in one call. It then looks up their ends in accounting and notes the ends of
// those batch jobs that had not started. It returns an error if a cancel or the look-up fails.
func (h *halter) cancel(ctx context.Context, owner jjm.Owner, jobs []absentee) error {
	c := h.c
	cmd, done := c.command(ctx, c.account(owner))
	defer done()
	refs := make([]adapters.Ref, len(jobs))
	ids := map[adapters.Ref]jjm.AttemptID{}
	for i, j := range jobs {
		refs[i] = j.ref
		ids[adapters.Ref{Tag: j.ref.Tag, Index: j.ref.Index}] = j.id
	}
	results, err := c.adapter.Control(cmd, c.account(owner), adapters.Cancel, refs)
	if err == nil {
		err = errors.Join(answered(len(results), len(refs)), errors.Join(results...))
	}
	if err != nil {
		return err
	}
	reports, err := c.adapter.Account(cmd, c.account(owner), refs)
	if err != nil {
		return err
	}
	now := jjm.At(c.b.Now())
	for _, r := range c.ownReports(reports, c.account(owner)) {
		if id, known := ids[adapters.Ref{Tag: r.Tag, Index: r.Index}]; known && h.proves(&r) {
			c.cs.ends.Withdrawn(id, r, now)
		}
	}
	c.cs.ends.Wake()
	return nil
}

// proves reports whether a report proves that no process of the batch job was or will be started.
func (h *halter) proves(r *jjm.Report) bool { return r.NeverStarted() && h.c.caps().FinalCancel }

// submit submits a bulk and returns the answer of the adapter. On a cluster where a cancel is final, it submits nothing
// and returns errKilled if a member of the bulk is to be killed.
func (h *halter) submit(cmd context.Context, b *jjm.Bulk, order adapters.Bulk) (adapters.Receipt, error) {
	if !h.c.caps().FinalCancel {
		return h.c.adapter.Submit(cmd, order)
	}
	h.sending.RLock()
	defer h.sending.RUnlock()
	if h.kills(b) {
		return adapters.Receipt{}, errKilled
	}
	return h.c.adapter.Submit(cmd, order)
}

// kills reports whether a member of a bulk is to be killed.
func (h *halter) kills(b *jjm.Bulk) bool {
	v := h.c.s.View()
	defer v.Close()
	for _, m := range b.Members {
		if l := v.Current(m); l != nil && (l.Kill || v.Grid(m.Grid).Job.Kill) {
			return true
		}
	}
	return false
}

// takeBack takes back a bulk that was not submitted because some of its members are to be killed. These members are
// killed, and the other members get another attempt.
func (h *halter) takeBack(ctx context.Context, tag jjm.Tag) error {
	return h.c.s.Change(ctx, "submit-again", func(ch *state.Change) error {
		if b := ch.Bulk(tag); b != nil {
			b.Error = errKilled.Error()
			h.c.submitter.takeBack(ch, b, "not submitted: "+b.Error, triesAgain)
		}
		return nil
	})
}
