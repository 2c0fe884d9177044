package local

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"time"

	"jjm"
	"jjm/adapters"
)

// Submit spools a bulk in one durable act. The same tag again gives the same
// id, whatever else the bulk says: a tag names one bulk.
//
// It writes to local disk and is not interrupted once it has begun; a context
// that ended before gives Busy, because certainly nothing was done.
func (a *Adapter) Submit(ctx context.Context, bulk adapters.Bulk) (adapters.Receipt, error) {
	fail := func(err error) (adapters.Receipt, error) {
		return adapters.Receipt{}, fmt.Errorf("%s: submit bulk of tag %.20s: %w", a.name, bulk.Tag, err)
	}
	if err := a.allowed(bulk.Owner); err != nil {
		return fail(err)
	}
	if bulk.Request.Cores > a.config.Slots {
		return fail(jjm.Errorf(jjm.Invalid, "cores: %d: this cluster has %d", bulk.Request.Cores, a.config.Slots))
	}
	e := newEntry(0, jjm.At(a.env.Now()), bulk)
	if err := e.check(); err != nil {
		return fail(err)
	}
	select {
	case a.submitting <- struct{}{}:
		defer func() { <-a.submitting }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return fail(jjm.Errorf(jjm.Busy, "nothing was written: %w", err))
	}

	a.mu.Lock()
	err := a.gone()
	old := a.tags[bulk.Tag]
	e.ID = a.next
	a.mu.Unlock()
	switch {
	case err != nil:
		return fail(err)
	case old != nil && old.Owner.UID != bulk.Owner.UID:
		return fail(jjm.Errorf(jjm.Conflict, "the tag is that of a bulk of another owner"))
	case old != nil:
		return adapters.Receipt{ID: strconv.FormatInt(old.ID, 10)}, nil
	}

	err = a.store(&e)
	if err != nil && jjm.KindOf(err) != jjm.Ambiguous {
		return fail(err)
	}
	a.point("local.spooled")
	a.mu.Lock()
	a.next = e.ID + 1
	a.add(newBulk(e, a.folder(e.ID), a.boot))
	a.mu.Unlock()
	poke(a.wake)
	poke(a.changed)
	if err != nil {
		return fail(err)
	}
	return adapters.Receipt{ID: strconv.FormatInt(e.ID, 10)}, nil
}

// allowed reports whether this daemon can run jobs of the owner.
func (a *Adapter) allowed(o jjm.Owner) error {
	if a.uid != 0 && o.UID != a.uid {
		return jjm.Errorf(jjm.Denied, "jobs of user %d (%s): this jjm runs as user %d, and only root can run jobs of others",
			o.UID, o.User, a.uid)
	}
	return nil
}

// enqueue puts a bulk with queued jobs among those that wait, in order. The
// caller holds a.mu, or is New.
func (a *Adapter) enqueue(b *bulk) {
	if b.waitsFor || b.queued == 0 {
		return
	}
	b.waitsFor = true
	i := sort.Search(len(a.waiting), func(i int) bool { return a.waiting[i].ID > b.ID })
	a.waiting = append(a.waiting, nil)
	copy(a.waiting[i+1:], a.waiting[i:])
	a.waiting[i] = b
}

// turn is the bulk whose job starts next, or nil. The caller holds a.mu.
func (a *Adapter) turn(now time.Time) *bulk {
	for len(a.waiting) > 0 && a.waiting[0].queued == 0 {
		a.waiting[0].waitsFor = false
		a.waiting[0] = nil
		a.waiting = a.waiting[1:]
	}
	for _, b := range a.waiting {
		if b.queued > 0 && !now.Before(a.rests[b.Owner.UID]) {
			return b
		}
	}
	return nil
}
