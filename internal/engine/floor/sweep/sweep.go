package sweep

import (
	"context"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// SweepUnused removes the folders of an account's bulks that are no longer needed. If a folder
// cannot be removed, SweepOrphans finds it after the next start at which the owner has a live
// grid job.
func (sw *Sweeper) SweepUnused(ctx context.Context, uid int) {
	var unused []state.UnusedBulk
	sw.s.Mark(func(m *state.Marks) { unused = m.TakeUnused(uid) })
	for _, u := range unused {
		ar, err := sw.areas.Of(u.Owner)
		if err == nil {
			err = ar.RemoveBulk(ctx, u.Tag)
		}
		if err != nil {
			sw.b.Log.Warn("folder of a closed bulk could not be removed", "tag", u.Tag, "error", err)
		}
	}
}

// SweepOrphans removes, once after each start of the daemon, the folders of an account's bulks
// that no row points to: the bulk was never stored, or its removal was interrupted.
func (sw *Sweeper) SweepOrphans(ctx context.Context, uid int) {
	var owners map[jjm.Owner]bool
	sw.s.Mark(func(m *state.Marks) { owners = m.TakeUnswept(uid) })
	for owner := range owners {
		ar, err := sw.areas.Of(owner)
		if err != nil {
			sw.b.Log.Warn("work area could not be swept", "owner", owner.User, "error", err)
			continue
		}
		tags, err := ar.Bulks()
		if err != nil {
			sw.b.Log.Warn("work area could not be swept", "owner", owner.User, "error", err)
		}
		for _, tag := range tags {
			if sw.inUse(tag) {
				continue
			}
			if err := ar.RemoveBulk(ctx, tag); err != nil {
				sw.b.Log.Warn("folder of an unknown bulk could not be removed", "tag", tag, "error", err)
			}
		}
	}
}

// SweepLate removes the folder of a bulk that is no longer in use. A function that writes below the folder of a stored
// bulk, and makes a missing folder again, must call SweepLate afterwards. If the folder was swept before the write, no
// other sweep might find the new folder. If the bulk is still in use here, a later sweep removes the folder. late is
// true if the bulk is no longer in use; the error is about the removal.
func (sw *Sweeper) SweepLate(owner jjm.Owner, tag jjm.Tag) (late bool, err error) {
	if sw.inUse(tag) {
		return false, nil
	}
	ar, err := sw.areas.Of(owner)
	if err != nil {
		return true, err
	}
	return true, ar.RemoveBulk(context.Background(), tag) // not interrupted when the daemon stops
}

// inUse reports whether the folder of a bulk is needed; see state.Memory.InUse.
func (sw *Sweeper) inUse(tag jjm.Tag) bool {
	v := sw.s.View()
	defer v.Close()
	return v.InUse(tag)
}
