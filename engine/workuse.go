package engine

import (
	"context"
	"log/slog"
	"time"

	"jjm"
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
func (e *Engine) useLoop(ctx context.Context) {
	for ctx.Err() == nil {
		if most := e.mostWork(); most != (diskuse.Most{}) {
			for _, uid := range e.workUses.due(e.owners(), e.now()) {
				e.counts.kick(uid)
			}
		}
		pause(ctx, useEvery)
	}
}

// mostWork is what an account may have.
func (e *Engine) mostWork() diskuse.Most {
	return diskuse.Most{Bytes: e.conf().MaxWorkBytesPerUser, Files: e.conf().MaxWorkFilesPerUser}
}

// owners are those of live grid jobs, by account.
func (e *Engine) owners() map[int]jjm.Owner {
	e.mem.RLock()
	defer e.mem.RUnlock()
	owners := map[int]jjm.Owner{}
	for _, g := range e.grids {
		owners[g.job.Owner.UID] = g.job.Owner
	}
	return owners
}

// countWork counts the area of one account.
func (e *Engine) countWork(_ context.Context, uid int) time.Duration {
	e.workUses.mu.Lock()
	u := e.workUses.of[uid]
	e.workUses.mu.Unlock()
	if u == nil {
		return 0
	}
	began := e.now()
	most := e.mostWork()
	why := ""
	ar, err := e.areas.of(u.owner)
	if err == nil {
		var use diskuse.Use
		bounded := most
		bounded.Time = useTime
		use, err = ar.Usage(bounded)
		why = plan.ExcessOfWork(use.Bytes, most.Bytes, use.Files, most.Files)
	}
	took := max(e.now().Sub(began), 0)
	next := e.now().Add(max(useEvery, useShare*took))
	if err != nil { // an area that cannot be counted is as it was
		e.complain(slog.LevelWarn, "usage/"+u.owner.User, "what lies in a work area is not known", "user", u.owner.User, "error", err)
		e.workUses.set(uid, e.workUses.over(uid), next)
		return 0
	}
	if e.workUses.set(uid, why, next) {
		e.log.Info("work area", "user", u.owner.User, "uid", uid, "too much", why)
		e.wakeSubmit()
	}
	return 0
}
