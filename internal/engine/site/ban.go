package site

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/api/wire"
	"jjm/internal/credential"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Ban stores or lifts a ban, and returns the ban with the grid jobs that it kills. Without a ban in the request it
// lists the bans in force. The error is of kind Denied if the caller is not an administrator, and of kind Invalid for a
// ban of root or of the caller.
//
// The ban and the kills are one transaction, and no acceptance runs at the same time. Therefore no grid job of the
// person is accepted after the ban, and no grid job accepted before the ban is overlooked.
func (si *Site) Ban(ctx context.Context, caller wire.Caller, r wire.BanRequest) (wire.BanAnswer, error) {
	out, err := si.ban(ctx, caller, r.Ban)
	return wire.BanAnswer{Banned: &out}, err
}

func (si *Site) ban(ctx context.Context, caller wire.Caller, b *wire.Ban) (wire.Banned, error) {
	if !caller.Admin {
		return wire.Banned{}, jjm.Errorf(jjm.Denied,
			"ban: %s is no administrator: want root or one of gate.admins (with gate.mode 0600 the daemon's account too)",
			caller.User)
	}
	if b == nil {
		v := si.s.View()
		defer v.Close()
		return wire.Banned{Bans: slices.Clone(v.Bans())}, nil
	}
	given := jjm.Ban{Kind: jjm.BanKind(b.Name), Name: b.Name, Reason: strings.TrimSpace(b.Reason),
		By: caller.User, UID: caller.UID, Since: jjm.At(si.b.Now())}
	err := si.resolveBan(ctx, &given)
	if b.Lift {
		return si.unban(ctx, given) // even after an error: the ban of an account that no longer exists is lifted by name
	}
	if err != nil {
		return wire.Banned{}, fmt.Errorf("ban %s: %w", b.Name, err)
	}
	if given.Account != nil && (*given.Account == 0 || *given.Account == caller.UID) {
		return wire.Banned{}, jjm.Errorf(jjm.Invalid, "ban %s: root and the administrator who bans cannot be banned: name another account",
			b.Name)
	}
	var out wire.Banned
	err = si.s.Change(ctx, "ban", func(c *state.Change) error {
		out.Bans, out.NoChange, out.Notes = []jjm.Ban{given}, false, nil
		out.Killed = killOf(c, given)
		at := slices.IndexFunc(c.Live.Bans(), func(b jjm.Ban) bool {
			return credential.SameBan(b, given) && b.Reason == given.Reason
		})
		if at >= 0 && len(out.Killed) == 0 {
			old := c.Live.Bans()[at]
			out.Bans, out.NoChange, out.Notes = []jjm.Ban{old}, true, []string{old.String()}
			return nil
		}
		c.Journal = append(c.Journal, banEntry(given, "banned", given.By, given.UID, given.Reason, c.Now))
		c.Orders = func(a *state.Memo) { a.Ban(given) }
		return c.Tx.PutBan(given)
	})
	if err != nil {
		return wire.Banned{}, fmt.Errorf("ban %s: %w", given.Whom(), err)
	}
	if out.NoChange {
		return out, nil
	}
	si.b.Log.Info("ban", "whom", given.Whom(), "by", given.By, "uid", given.UID, "reason", given.Reason, "kills",
		len(out.Killed))
	for _, id := range out.Killed {
		si.halt(context.WithoutCancel(ctx), id)
	}
	return out, nil
}

// resolveBan sets the name and uid of the account if a ban is about a user; other bans are not changed. It accepts a
// uid without an account, because a removed account may still have processes.
func (si *Site) resolveBan(ctx context.Context, b *jjm.Ban) error {
	if b.Kind != jjm.BanUser {
		return nil
	}
	owner, err := si.b.Deps.Find(ctx, b.Name)
	if uid, notNumber := strconv.ParseUint(b.Name, 10, 31); jjm.KindOf(err) == jjm.Invalid && notNumber == nil {
		owner, err = jjm.Owner{User: b.Name, UID: int(uid)}, nil
	}
	if err != nil {
		return err
	}
	b.Name, b.Account = owner.User, &owner.UID
	return nil
}

// LoadBans loads the bans in force into memory.
func (si *Site) LoadBans(ctx context.Context) error {
	all, err := si.b.Store.Bans(ctx)
	if err != nil {
		return fmt.Errorf("load bans: %w", err)
	}
	for _, b := range all {
		si.s.Adjust(func(a *state.Memo) { a.Ban(b) })
	}
	return nil
}

// killOf marks all live grid jobs of a banned person as to be killed, and returns the ids of these grid jobs.
func killOf(c *state.Change, b jjm.Ban) []jjm.GridID {
	var killed []jjm.GridID
	for id, live := range c.Live.InOrder() {
		job := &live.Job
		if job.Status.Final() || job.Kill || !credential.Excludes(b, state.WhomOf(job)) {
			continue
		}
		g := c.Grid(id)
		g.Kill, g.KillBy = true, b.By
		g.Reason = "its owner is banned: " + b.Reason
		c.Status(g, jjm.Aborting, g.Reason, jjm.ActorOf(b.By, b.UID))
		killed = append(killed, id)
	}
	return killed
}

// unban lifts a ban and returns the lifted ban. If there is no such ban, it succeeds without a change. Grid jobs that
// the ban killed stay killed.
func (si *Site) unban(ctx context.Context, by jjm.Ban) (wire.Banned, error) {
	var out wire.Banned
	err := si.s.Change(ctx, "ban", func(c *state.Change) error {
		out.Bans = nil
		for _, b := range c.Live.Bans() {
			if credential.SameBan(b, by) {
				out.Bans = append(out.Bans, b)
				c.Journal = append(c.Journal, banEntry(b, "admitted", by.By, by.UID, by.Reason, c.Now))
			}
		}
		c.Orders = func(a *state.Memo) { a.Lift(by) }
		return c.Tx.DropBan(by)
	})
	if err != nil {
		return wire.Banned{}, fmt.Errorf("unban %s: %w", by.Whom(), err)
	}
	if out.NoChange = len(out.Bans) == 0; out.NoChange {
		out.Notes = []string{by.Whom() + " is not banned"}
	} else {
		si.b.Log.Info("ban", "lifted", true, "whom", by.Whom(), "by", by.By, "uid", by.UID, "reason", by.Reason)
	}
	return out, nil
}

// banEntry returns the journal entry of a ban, which belongs to no grid job.
func banEntry(b jjm.Ban, became, by string, uid int, reason string, now jjm.Time) jjm.JournalEntry {
	text := b.Whom()
	if reason != "" {
		text += ": " + reason
	}
	return jjm.JournalEntry{Time: now, First: -1, Last: -1, To: became, Cause: text, Source: "ban",
		Actor: jjm.ActorOf(by, uid)}
}
