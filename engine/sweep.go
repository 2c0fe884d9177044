package engine

import (
	"context"
	"jjm"
)

// sweepUnused removes the folders of an account's bulks that are not needed any
// more. What cannot be removed is found again by the next start.
func (e *Engine) sweepUnused(ctx context.Context, uid int) {
	e.mem.Lock()
	unused := e.unused[uid]
	delete(e.unused, uid)
	e.mem.Unlock()
	for _, u := range unused {
		ar, err := e.areas.of(u.owner)
		if err == nil {
			err = ar.RemoveBulk(ctx, u.tag)
		}
		if err != nil {
			e.log.Warn("folder of a closed bulk stays", "tag", u.tag, "error", err)
		}
	}
}

// sweepOrphans removes, once after a start, the folders of an account's bulks that
// nothing points to any more: one whose intent was never stored, or whose removal
// was cut short.
func (e *Engine) sweepOrphans(ctx context.Context, uid int) {
	e.mem.Lock()
	owners := map[jjm.Owner]bool{}
	for _, owner := range e.unswept[uid] {
		owners[owner] = true
	}
	delete(e.unswept, uid)
	e.mem.Unlock()
	for owner := range owners {
		ar, err := e.areas.of(owner)
		if err != nil {
			e.log.Warn("work area", "owner", owner.User, "error", err)
			continue
		}
		tags, err := ar.Bulks()
		if err != nil {
			e.log.Warn("work area", "owner", owner.User, "error", err)
		}
		for _, tag := range tags {
			if e.inUse(tag) {
				continue
			}
			if err := ar.RemoveBulk(ctx, tag); err != nil {
				e.log.Warn("folder of a forgotten bulk stays", "tag", tag, "error", err)
			}
		}
	}
}

// inUse reports whether something points to a bulk, or will: it may just be formed.
func (e *Engine) inUse(tag jjm.Tag) bool {
	e.mem.RLock()
	defer e.mem.RUnlock()
	return e.bulks[tag] != nil || e.uses[tag] > 0 || e.forming[tag] != nil
}
