package site

import (
	"context"
	"log/slog"
	"time"

	"jjm"
	"jjm/engine/fair"
	"jjm/internal/diskuse"
	"jjm/plan"
)

const (
	// useEvery is how often the work areas may be counted, useTime how long one
	// count lasts at most. A count that took long rests twenty times as long.
	useEvery = 5 * time.Second
	useTime  = 10 * time.Second
	useShare = 20
	// usesAtOnce is how many are counted at once, usePatience how long one of them
	// holds up the others.
	usesAtOnce  = 2
	usePatience = 250 * time.Millisecond
)

// useLoop counts what lies in the work areas of accounts, where the site bounds that.
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

// mostWork is what an account may have.
func (si *Site) mostWork() diskuse.Most {
	return diskuse.Most{Bytes: si.b.Conf().MaxWorkBytesPerUser, Files: si.b.Conf().MaxWorkFilesPerUser}
}

// owners are those of live grid jobs, by account.
func (si *Site) owners() map[int]jjm.Owner {
	v := si.s.View()
	defer v.Close()
	owners := map[int]jjm.Owner{}
	for _, g := range v.Grids() {
		owners[g.Job.Owner.UID] = g.Job.Owner
	}
	return owners
}

// countWork counts the area of one account.
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
		use, err = ar.Usage(bounded)
		why = plan.ExcessOfWork(use.Bytes, most.Bytes, use.Files, most.Files)
	}
	took := max(si.b.Now().Sub(began), 0)
	next := si.b.Now().Add(max(useEvery, useShare*took))
	if err != nil { // an area that cannot be counted is as it was
		si.b.Complain(slog.LevelWarn, "usage/"+u.Owner.User, "what lies in a work area is not known", "user", u.Owner.User,
			"error", err)
		si.s.WorkUses.Set(uid, si.s.WorkUses.Over(uid), next)
		return 0
	}
	if si.s.WorkUses.Set(uid, why, next) {
		si.b.Log.Info("work area", "user", u.Owner.User, "uid", uid, "too much", why)
		si.s.WakeSubmit()
	}
	return 0
}
