package site

import (
	"context"
	"log/slog"
	"time"

	"jjm/internal/engine/floor/fair"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/sys/diskuse"
)

const (
	// useEvery is the shortest time between two counts of a work area, useTime the longest time of one count. After a
	// count that took t, the next count of the area waits for at least useShare times t.
	useEvery = 5 * time.Second
	useTime  = 10 * time.Second
	useShare = 20
	// usesAtOnce is the number of areas counted at the same time. A count that lasts longer than usePatience no longer
	// delays other counts.
	usesAtOnce  = 2
	usePatience = 250 * time.Millisecond
)

// useLoop counts the work areas of accounts, if the site bounds their size.
func (si *Site) useLoop(ctx context.Context) {
	for ctx.Err() == nil {
		if most := si.mostWork(); most != (diskuse.Most{}) {
			for _, uid := range si.s.WorkUses.Due(si.owners(), si.b.Now()) {
				si.counts.Kick(uid)
			}
		}
		fair.Pause(ctx, useEvery)
	}
}

// mostWork returns how much the work area of an account may hold.
func (si *Site) mostWork() diskuse.Most {
	return diskuse.Most{Bytes: si.b.Conf().MaxWorkBytesPerUser, Files: si.b.Conf().MaxWorkFilesPerUser}
}

// owners returns the owners of live grid jobs, by uid.
func (si *Site) owners() map[int]jjm.Owner {
	v := si.s.View()
	defer v.Close()
	owners := map[int]jjm.Owner{}
	for _, g := range v.Grids() {
		owners[g.Job.Owner.UID] = g.Job.Owner
	}
	return owners
}

// countWork counts the work area of one account and stores whether the area is too large. It returns 0, because only
// useLoop starts counts.
func (si *Site) countWork(_ context.Context, uid int) time.Duration {
	si.s.WorkUses.Mu.Lock()
	u := si.s.WorkUses.Of[uid]
	si.s.WorkUses.Mu.Unlock()
	if u == nil {
		return 0
	}
	began := si.b.Now()
	most := si.mostWork()
	why := ""
	ar, err := si.areas.Of(u.Owner)
	if err == nil {
		var use diskuse.Use
		bounded := most
		bounded.Time = useTime
		use, err = ar.Usage(".", bounded)
		why = plan.ExcessOfWork(use.Bytes, most.Bytes, use.Files, most.Files)
	}
	took := max(si.b.Now().Sub(began), 0)
	next := si.b.Now().Add(max(useEvery, useShare*took))
	if err != nil { // the last count stays valid
		si.b.Complain(slog.LevelWarn, "usage/"+u.Owner.User, "work area could not be counted", "user", u.Owner.User,
			"error", err)
		si.s.WorkUses.Set(uid, si.s.WorkUses.Excess(uid), next)
		return 0
	}
	if si.s.WorkUses.Set(uid, why, next) {
		si.b.Log.Info("work area", "user", u.Owner.User, "uid", uid, "too much", why)
		si.s.WakeSubmit()
	}
	return 0
}
