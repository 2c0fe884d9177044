package control

import (
	"context"
	"log/slog"
	"slices"

	"jjm/adapters"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// AskRelease orders the control loop to release the batch jobs of attempts. The decision to release them is already
// stored.
func (ct *Controller) AskRelease(ids ...jjm.AttemptID) {
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
		fair.Kick(ct.kick)
	}
}

// releaseHeld sends the due releases of one owner, up to the number system.MostNamed with one command, and logs errors.
func (ct *Controller) releaseHeld(ctx context.Context, owner jjm.Owner, jobs []system.Job) {
	for some := range slices.Chunk(jobs, system.MostNamed) {
		if err := ct.sendRelease(ctx, owner, some); err != nil && ctx.Err() == nil {
			ct.b.Complain(slog.LevelWarn, "release/"+ct.sys.Name+"/"+owner.User, "release of held jobs failed, will be repeated",
				"cluster", ct.sys.Name, "jobs", len(some), "error", err)
		}
	}
}

// releasesDue returns the attempts to release now, with their batch jobs, by owner. It forgets the attempts whose
// release is done or that have ended or are to be killed. Accounts whose lane is taken are left for the next call.
func (ct *Controller) releasesDue() map[jjm.Owner][]system.Job {
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
	due := map[jjm.Owner][]system.Job{}
	var over, wait []jjm.AttemptID
	for _, id := range ids { // without mu, because the memory lock must not be taken while mu is held
		l, _, ok := ct.s.AttemptRow(id)
		ref, owner, known := system.RefOf(ct.s, &l)
		switch {
		case !ok || l.Kill || l.Holding == nil || l.Holding.Action != jjm.HoldRelease:
			over = append(over, id)
		case known && ct.controls.Taken(ct.sys.Account(owner)):
			wait = append(wait, id)
		case known:
			due[owner] = append(due[owner], system.Job{ID: id, Ref: ref})
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
func (ct *Controller) sendRelease(ctx context.Context, owner jjm.Owner, jobs []system.Job) error {
	refs := make([]adapters.Ref, len(jobs))
	for i := range jobs {
		refs[i] = jobs[i].Ref
	}
	cmd, cancel := ct.sys.Command(ctx, ct.sys.Account(owner))
	defer cancel()
	results, err := ct.sys.Adapter.Control(cmd, ct.sys.Account(owner), adapters.Release, refs)
	if crashed := ct.b.Crash("hold.acted"); crashed != nil {
		return crashed
	}
	if err == nil {
		err = system.Answered(len(results), len(refs))
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
			ends[j.ID] = "" // the job is gone: its absence will show why
		default:
			ends[j.ID] = textOf(answer)
		}
	}
	if len(ends) == 0 {
		return err
	}
	ct.look()
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
func (ct *Controller) released(ctx context.Context, ends map[jjm.AttemptID]string) error {
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
