package control

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"jjm/adapters"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Halter makes sure that local jobs that are to be killed do not start, on a cluster where a cancel is final: a batch
// job that waited and was cancelled never starts there (adapters.Capabilities.FinalCancel).
type Halter struct {
	sys  *system.System
	s    *state.State
	ends *endings.Endings
	// sending is read-locked while a bulk is being submitted.
	sending sync.RWMutex
}

// NewHalter returns the Halter of a batch system.
func NewHalter(sys *system.System, s *state.State, ends *endings.Endings) *Halter {
	return &Halter{sys: sys, s: s, ends: ends}
}

// All cancels the batch jobs of the local jobs that are to be killed, in the grid jobs for which match returns true.
func (h *Halter) All(ctx context.Context, match func(*state.Grid) bool) {
	if !h.sys.Caps().FinalCancel {
		return
	}
	// Wait for the submissions that began before the kill was stored. Later submissions see the kill.
	h.sending.Lock()
	//lint:ignore SA2001 the lock is only waited for
	h.sending.Unlock()
	for owner, jobs := range h.doomed(match) {
		if err := h.cancel(ctx, owner, jobs); err != nil && ctx.Err() == nil {
			h.s.B.Complain(slog.LevelWarn, "halt/"+h.sys.Name+"/"+owner.User, "cancel failed, will be repeated",
				"cluster", h.sys.Name, "jobs", len(jobs), "error", err)
		}
	}
}

// doomed returns, by owner, the batch jobs on this cluster whose local jobs are to be killed and whose results were not
// read yet. If the batch system's id of a bulk is not stored, the batch job is identified by the tag of the bulk and
// its index.
func (h *Halter) doomed(match func(*state.Grid) bool) map[jjm.Owner][]system.Job {
	v := h.s.View()
	defer v.Close()
	out := map[jjm.Owner][]system.Job{}
	for _, g := range v.Grids() {
		if !match(g) {
			continue
		}
		for i := range g.Locals {
			l := &g.Locals[i]
			if !state.IsToKill(g, l) || v.Current(l.AttemptID()) == nil {
				continue
			}
			b := v.Bulk(l.Tag)
			if b == nil || b.Cluster != h.sys.Name || h.ends.HasResult(l.AttemptID()) {
				continue
			}
			ref, _ := system.RefIn(b, l)
			out[b.Owner] = append(out[b.Owner], system.Job{ID: l.AttemptID(), Ref: ref})
		}
	}
	return out
}

// cancel cancels batch jobs of one owner in one call. It then looks up their ends in accounting and notes the ends of
// those batch jobs that had not started. It returns an error if a cancel or the look-up fails.
func (h *Halter) cancel(ctx context.Context, owner jjm.Owner, jobs []system.Job) error {
	cmd, done := h.sys.Command(ctx, h.sys.Account(owner))
	defer done()
	refs := make([]adapters.Ref, len(jobs))
	ids := map[adapters.Ref]jjm.AttemptID{}
	for i, j := range jobs {
		refs[i] = j.Ref
		ids[adapters.Ref{Tag: j.Ref.Tag, Index: j.Ref.Index}] = j.ID
	}
	results, err := h.sys.Adapter.Control(cmd, h.sys.Account(owner), adapters.Cancel, refs)
	if err == nil {
		err = errors.Join(system.Answered(len(results), len(refs)), errors.Join(results...))
	}
	if err != nil {
		return err
	}
	reports, err := h.sys.Adapter.Account(cmd, h.sys.Account(owner), refs)
	if err != nil {
		return err
	}
	now := jjm.At(h.s.B.Now())
	for _, r := range h.sys.OwnReports(reports, h.sys.Account(owner)) {
		if id, known := ids[adapters.Ref{Tag: r.Tag, Index: r.Index}]; known && h.sys.Proves(&r) {
			h.ends.Withdrawn(id, r, now)
		}
	}
	h.ends.Wake()
	return nil
}

// Submit submits a bulk and returns the answer of the adapter. On a cluster where a cancel is final, it submits nothing
// and returns system.ErrKilled if a member of the bulk is to be killed.
func (h *Halter) Submit(cmd context.Context, b *jjm.Bulk, order adapters.Bulk) (adapters.Receipt, error) {
	if !h.sys.Caps().FinalCancel {
		return h.sys.Adapter.Submit(cmd, order)
	}
	h.sending.RLock()
	defer h.sending.RUnlock()
	if h.kills(b) {
		return adapters.Receipt{}, system.ErrKilled
	}
	return h.sys.Adapter.Submit(cmd, order)
}

// kills reports whether a member of a bulk is to be killed.
func (h *Halter) kills(b *jjm.Bulk) bool {
	v := h.s.View()
	defer v.Close()
	for _, m := range b.Members {
		if l := v.Current(m); l != nil && state.IsToKill(v.Grid(m.Grid), l) {
			return true
		}
	}
	return false
}
