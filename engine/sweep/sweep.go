package sweep

import (
	"context"

	"jjm"
	"jjm/engine/state"
)

// SweepUnused removes the folders of an account's bulks that are not needed any
// more. What cannot be removed is found again by the next start.
func (sw *Sweeper) SweepUnused(ctx context.Context, uid int) {
	var unused []state.UnusedBulk
	sw.s.Mark(func(m *state.Marks) { unused = m.TakeUnused(uid) })
	for _, u := range unused {
		ar, err := sw.areas.Of(u.Owner)
		if err == nil {
			err = ar.RemoveBulk(ctx, u.Tag)
		}
		if err != nil {
			sw.b.Log.Warn("folder of a closed bulk stays", "tag", u.Tag, "error", err)
		}
	}
}

// SweepOrphans removes, once after a start, the folders of an account's bulks that
// nothing points to any more: one whose intent was never stored, or whose removal
// was cut short.
func (sw *Sweeper) SweepOrphans(ctx context.Context, uid int) {
	var owners map[jjm.Owner]bool
	sw.s.Mark(func(m *state.Marks) { owners = m.TakeUnswept(uid) })
	for owner := range owners {
		ar, err := sw.areas.Of(owner)
		if err != nil {
			sw.b.Log.Warn("work area", "owner", owner.User, "error", err)
			continue
		}
		tags, err := ar.Bulks()
		if err != nil {
			sw.b.Log.Warn("work area", "owner", owner.User, "error", err)
		}
		for _, tag := range tags {
			if sw.inUse(tag) {
				continue
			}
			if err := ar.RemoveBulk(ctx, tag); err != nil {
				sw.b.Log.Warn("folder of a forgotten bulk stays", "tag", tag, "error", err)
			}
		}
	}
}

// inUse reports whether something points to a bulk, or will: it may just be formed.
func (sw *Sweeper) inUse(tag jjm.Tag) bool {
	v := sw.s.View()
	defer v.Close()
	return v.InUse(tag)
}
