package engine

import (
	"context"
	"log/slog"
	"sync"
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

// workUses is which accounts have more in their work areas than they may.
type workUses struct {
	mu sync.Mutex
	of map[int]*workUse
}

type workUse struct {
	owner jjm.Owner
	next  time.Time
	why   string // what there is too much of, "" if nothing
}

// over says what an account has too much of, "" if nothing.
func (w *workUses) over(uid int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.of[uid]; u != nil {
		return u.why
	}
	return ""
}

// due gives the accounts whose areas are to be counted: of those that have live grid
// jobs, and those that had too much.
func (w *workUses) due(live map[int]jjm.Owner, now time.Time) (uids []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uid, owner := range live {
		if w.of[uid] == nil {
			w.of[uid] = &workUse{owner: owner}
		}
	}
	for uid, u := range w.of {
		if _, lives := live[uid]; !lives && u.why == "" {
			delete(w.of, uid)
		} else if !now.Before(u.next) {
			uids = append(uids, uid)
		}
	}
	return uids
}

// set notes a count; changed is true if the account has too much now, or had.
func (w *workUses) set(uid int, why string, next time.Time) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.of[uid]
	if u == nil {
		return false
	}
	changed = (u.why == "") != (why == "")
	u.why, u.next = why, next
	return changed
}

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
		for _, c := range e.clusters {
			kick(c.submitKick)
		}
	}
	return 0
}
