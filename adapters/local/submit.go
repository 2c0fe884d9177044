package local

import (
	"context"
	"fmt"
	"strconv"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Submit spools a bulk in one durable act. A second Submit with the same tag returns the id of the first bulk and
// ignores its other arguments, because a tag names one bulk.
//
// Submit writes to local disk and is not interrupted after it has begun. If ctx has ended before that, the error is of
// kind Busy, because certainly nothing was done.
func (a *Adapter) Submit(ctx context.Context, bulk adapters.Bulk) (adapters.Receipt, error) {
	fail := func(err error) (adapters.Receipt, error) {
		err = fmt.Errorf("%s: submit bulk of tag %.20s: %w", a.name, bulk.Tag, err)
		return adapters.Receipt{}, adapters.NotStarted(err) // an error of kind Busy means that nothing was spooled
	}
	if err := a.allowed(bulk.Owner); err != nil {
		return fail(err)
	}
	if bulk.Request.Cores > a.config.Slots {
		return fail(jjm.Errorf(jjm.Invalid, "cores: %d: this cluster has %d", bulk.Request.Cores, a.config.Slots))
	}
	if err := a.Check(bulk.Request); err != nil {
		return fail(err)
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
	err := a.errClosed()
	old := a.tags[bulk.Tag]
	e.ID = a.next
	a.mu.Unlock()
	switch {
	case err != nil:
		return fail(err)
	case old != nil && old.Owner.UID != bulk.Owner.UID:
		return fail(jjm.Errorf(jjm.Conflict, "the tag belongs to a bulk of another owner"))
	case old != nil:
		return adapters.Receipt{ID: strconv.FormatInt(old.ID, 10)}, nil
	}

	err = a.store(&e)
	if err != nil && jjm.KindOf(err) != jjm.Ambiguous {
		return fail(err)
	}
	a.crashPoint("local.spooled")
	a.mu.Lock()
	a.next = e.ID + 1
	a.load(newBulk(e, a.folder(e.ID), a.boot))
	a.mu.Unlock()
	notify(a.wake)
	notify(a.changed)
	if err != nil {
		return fail(err)
	}
	return adapters.Receipt{ID: strconv.FormatInt(e.ID, 10)}, nil
}

// allowed returns an error if this daemon cannot run jobs of the owner.
func (a *Adapter) allowed(o jjm.Owner) error {
	if a.uid != 0 && o.UID != a.uid {
		return jjm.Errorf(jjm.Denied, "jobs of user %d (%s): this jjm runs as user %d, and only root can run jobs of others",
			o.UID, o.User, a.uid)
	}
	return nil
}
