package cluster

import (
	"context"
	"log/slog"
	"slices"

	"jjm/adapters"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// askRelease orders the control loop to release the batch jobs of attempts. The decision to release them is already
// stored.
func (ct *controller) askRelease(ids ...jjm.AttemptID) {
	if len(ids) == 0 {
		return
	}
	fresh := false
	ct.mu.Lock()
	for _, id := range ids {
		if _, known := ct.releases[id]; !known {
			ct.releases[id] = ct.b.Now().Add(-ct.b.Conf().CancelAgain.D())
			fresh = true
		}
	}
	ct.mu.Unlock()
	if fresh {
		fair.Kick(ct.controlKick)
	}
}

// releaseHeld sends the due releases of one owner, up to the number absentees with one command, and logs errors.
func (ct *controller) releaseHeld(ctx context.Context, owner jjm.Owner, jobs []absentee) {
	for some := range slices.Chunk(jobs, absentees) {
		if err := ct.sendRelease(ctx, owner, some); err != nil && ctx.Err() == nil {
			ct.b.Complain(slog.LevelWarn, "release/"+ct.name+"/"+owner.User, "release of held jobs failed, will be repeated",
				"cluster", ct.name, "jobs", len(some), "error", err)
		}
	}
}

// releasesDue returns the attempts to release now, with their batch jobs, by owner. It forgets the attempts whose
// release is done or that have ended or are to be killed. Accounts whose lane is taken are left for the next call.
func (ct *controller) releasesDue() map[jjm.Owner][]absentee {
	now, again := ct.b.Now(), ct.b.Conf().CancelAgain.D()
	ct.mu.Lock()
	var ids []jjm.AttemptID
	for id, last := range ct.releases {
		if gone := now.Sub(last); gone >= again || gone < 0 { // < 0: the clock was set back
			ids = append(ids, id)
			ct.releases[id] = now
		}
	}
	ct.mu.Unlock()
	due := map[jjm.Owner][]absentee{}
	var over, wait []jjm.AttemptID
	for _, id := range ids { // without mu, because the memory lock must not be taken while mu is held
		l, _, ok := ct.s.AttemptRow(id)
		ref, owner, known := ct.c.cs.RefOf(&l)
		switch {
		case !ok || l.Kill || l.Holding == nil || l.Holding.Action != jjm.HoldRelease:
			over = append(over, id)
		case known && ct.controls.Taken(ct.c.account(owner)):
			wait = append(wait, id)
		case known:
			due[owner] = append(due[owner], absentee{id, ref})
		}
	}
	ct.mu.Lock()
	for _, id := range over {
		delete(ct.releases, id)
	}
	for _, id := range wait { // due again immediately
		ct.releases[id] = now.Add(-again)
	}
	ct.mu.Unlock()
	return due
}

// sendRelease runs one command that releases batch jobs of an owner, and stores the outcomes. A success, the answer
// that the job is gone and a permanent refusal settle a release; a refusal is stored with its reason. An error that a
// retry can cure (Busy, Ambiguous, Internal) does not: sendRelease returns that error, and the control loop sends the
// release again.
func (ct *controller) sendRelease(ctx context.Context, owner jjm.Owner, jobs []absentee) error {
	refs := make([]adapters.Ref, len(jobs))
	for i := range jobs {
		refs[i] = jobs[i].ref
	}
	cmd, cancel := ct.c.command(ctx, ct.c.account(owner))
	defer cancel()
	results, err := ct.c.adapter.Control(cmd, ct.c.account(owner), adapters.Release, refs)
	if crashed := ct.b.Crash("hold.acted"); crashed != nil {
		return crashed
	}
	if err == nil {
		err = answered(len(results), len(refs))
	}
	ends := map[jjm.AttemptID]string{} // the settled releases, each with the reason of a refusal or ""
	for i, j := range jobs {
		answer := err
		if err == nil {
			answer = results[i]
		}
		switch jjm.KindOf(answer) {
		case jjm.Busy, jjm.Ambiguous, jjm.Internal:
			err = answer
		case jjm.Gone:
			ends[j.id] = "" // the job is gone: its absence will show why
		default:
			ends[j.id] = textOf(answer)
		}
	}
	if len(ends) == 0 {
		return err
	}
	ct.c.watcher.wakeWatch()
	if stored := ct.released(ctx, ends); stored != nil {
		return stored
	}
	return err
}

// textOf returns the text of an error, "" for nil.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// released stores the settled releases, each with the reason of a refusal or "".
func (ct *controller) released(ctx context.Context, ends map[jjm.AttemptID]string) error {
	return ct.s.Change(ctx, "hold-done", func(ch *state.Change) error {
		for id, trouble := range ends {
			live := ch.Live.Current(id)
			if live == nil || live.Holding == nil || live.Holding.Action != jjm.HoldRelease {
				continue
			}
			h := plan.Released(*live.Holding, trouble)
			l := ch.Local(id.LocalID)
			l.Holding = &h
			if trouble != "" {
				ch.Aside(l, "not released: "+trouble, "")
			}
		}
		return nil
	})
}

// WakeReleases orders the control loops to carry out the releases that a change stored.
func (cs *Clusters) WakeReleases(c *state.Change) {
	for _, id := range c.Releases {
		if cl := cs.all[c.Locals[id.LocalID].Cluster]; cl != nil {
			cl.controller.askRelease(id)
		}
	}
}
