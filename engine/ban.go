package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"jjm"
	"jjm/wire"
)

// Ban keeps somebody out, or lets them in again, and tells which grid jobs end
// because of it; nil lists the bans in force.
//
// The ban and the wish to kill are one transaction, ordered with acceptances:
// no grid job of theirs is accepted after it, and none that was accepted before
// is overlooked.
func (e *Engine) Ban(ctx context.Context, caller wire.Caller, b *wire.Ban) (wire.Banned, error) {
	if !caller.Admin {
		return wire.Banned{}, jjm.Errorf(jjm.Denied, "ban: %s is no administrator: want root or one of gate.admins (with gate.mode 0600 the daemon's account too)", caller.User)
	}
	if b == nil {
		e.mem.RLock()
		defer e.mem.RUnlock()
		return wire.Banned{Bans: slices.Clone(e.bans)}, nil
	}
	given := jjm.Ban{Kind: jjm.BanKind(b.Name), Name: b.Name, Reason: strings.TrimSpace(b.Reason),
		By: caller.User, UID: caller.UID, Since: jjm.At(e.now())}
	if b.Lift {
		return e.unban(ctx, given)
	}
	if given.Kind == jjm.BanUser && (given.Name == "root" || given.Name == caller.User) {
		return wire.Banned{}, jjm.Errorf(jjm.Invalid, "ban %s: who bans and root cannot be kept out: root may do everything", given.Name)
	}
	out := wire.Banned{Bans: []jjm.Ban{given}}
	err := e.change(ctx, "ban", func(c *change) error {
		out.Killed = c.killOf(given)
		c.journal = append(c.journal, banEntry(given, "banned", given.By, given.UID, given.Reason, c.now))
		c.orders = func() { e.bans = append(without(e.bans, given), given) }
		return c.tx.PutBan(given)
	})
	if err != nil {
		return wire.Banned{}, fmt.Errorf("ban %s %s: %w", given.Kind, given.Name, err)
	}
	e.log.Info("ban", "kind", given.Kind, "name", given.Name, "by", given.By, "uid", given.UID, "reason", given.Reason, "kills", len(out.Killed))
	return out, nil
}

// killOf wishes the end of all live grid jobs that a ban is about.
func (c *change) killOf(b jjm.Ban) []jjm.GridID {
	var killed []jjm.GridID
	for _, id := range slices.Sorted(maps.Keys(c.e.grids)) {
		job := &c.e.grids[id].job
		if job.Status.Final() || job.Kill || !b.Concerns(whomOf(job)) {
			continue
		}
		g := c.grid(id)
		g.Kill, g.KillBy = true, b.By
		c.status(g, jjm.Aborting, "its owner is banned: "+b.Reason, jjm.ActorOf(b.By, b.UID))
		killed = append(killed, id)
	}
	return killed
}

// unban lifts a ban; that there is none is a success. What was killed stays so.
func (e *Engine) unban(ctx context.Context, by jjm.Ban) (wire.Banned, error) {
	var out wire.Banned
	err := e.change(ctx, "ban", func(c *change) error {
		out.Bans = nil
		for _, b := range e.bans {
			if b.Same(by) {
				out.Bans = append(out.Bans, b)
				c.journal = append(c.journal, banEntry(b, "admitted", by.By, by.UID, by.Reason, c.now))
			}
		}
		c.orders = func() { e.bans = without(e.bans, by) }
		return c.tx.DropBan(by)
	})
	if err != nil {
		return wire.Banned{}, fmt.Errorf("unban %s %s: %w", by.Kind, by.Name, err)
	}
	if len(out.Bans) > 0 {
		e.log.Info("ban", "lifted", true, "kind", by.Kind, "name", by.Name, "by", by.By, "uid", by.UID, "reason", by.Reason)
	}
	return out, nil
}

// without gives the bans but those of the same person, in a list of its own:
// the old one may be in use.
func without(bans []jjm.Ban, b jjm.Ban) []jjm.Ban {
	return slices.DeleteFunc(slices.Clone(bans), b.Same)
}

// banEntry journals a ban; it belongs to no grid job.
func banEntry(b jjm.Ban, became, by string, uid int, reason string, now jjm.Time) jjm.JournalEntry {
	text := b.Kind + " " + b.Name
	if reason != "" {
		text += ": " + reason
	}
	return jjm.JournalEntry{Time: now, First: -1, Last: -1, To: became, Cause: text, Source: "ban", Actor: jjm.ActorOf(by, uid)}
}

// whomOf is whose a grid job is.
func whomOf(job *jjm.GridJob) jjm.Whom { return whom(job.Owner.User, job.Origin) }

// whom joins a local account with who its gatekeeper says it stands for.
func whom(user string, origin *jjm.Origin) jjm.Whom {
	if origin == nil {
		return jjm.Whom{User: user}
	}
	return jjm.Whom{User: user, DN: origin.Subject}
}

// admitted refuses who is banned. A lock of the engine is held.
func (e *Engine) admitted(w jjm.Whom) error {
	for _, b := range e.bans {
		if b.Concerns(w) {
			return jjm.Errorf(jjm.Denied, "no grid jobs are taken: %s", b)
		}
	}
	return nil
}
