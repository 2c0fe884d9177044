package removal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

const (
	// patience is how long a run of an account's removals keeps its place (see fair.Keyed).
	patience = 2 * time.Second
	// again is the time after which removals that had to wait are looked at again. A removal waits
	// for its grid job to arrive in the history, for accounting, or for an error to go away.
	again = time.Second
	// packagesAgain is the time after which the removal of packages is tried again, if it had to wait for packages
	// being made.
	packagesAgain = 10 * time.Second
)

// round carries out at most atOnce removals of an account, and returns the time after which to continue. It skips data
// that is already gone, and work that was done before a crash, without an error.
func (re *Remover) round(ctx context.Context, uid int) time.Duration {
	todo, full, more := re.todo(uid)
	wait := again
	gone := map[jjm.Owner][]store.Removal{}
	for i := range todo {
		err := re.clear(ctx, &todo[i])
		if ctx.Err() != nil || errors.Is(err, base.ErrCrashed) {
			return 0
		}
		if err != nil {
			re.complain(&todo[i], err)
			more = true
			continue
		}
		gone[todo[i].Owner] = append(gone[todo[i].Owner], todo[i])
	}
	for owner, rs := range gone {
		err := re.finish(ctx, owner, rs)
		if ctx.Err() != nil || errors.Is(err, base.ErrCrashed) {
			return 0
		}
		if err != nil {
			re.complain(&rs[0], err)
			more, wait = true, packagesAgain
		}
	}
	switch {
	case more:
		return wait
	case full:
		return time.Millisecond
	}
	return 0
}

// complain logs why a removal has to wait.
func (re *Remover) complain(r *store.Removal, err error) {
	re.b.Complain(slog.LevelWarn, "remove/"+r.Grid.String(), "grid job is not removed completely, will try again", "job",
		r.Grid, "error", err)
}

// todo returns removals of an account that can be carried out now, in the order of the grid jobs. full is true if there
// are further removals of this kind; more is true if some removals have to wait.
func (re *Remover) todo(uid int) (todo []store.Removal, full, more bool) {
	v := re.s.View()
	defer v.Close()
	for id, r := range v.Removals() {
		if r.Owner.UID != uid {
			continue
		}
		if v.Grid(id) != nil { // on its way to the history
			more = true
			continue
		}
		todo = append(todo, r)
	}
	slices.SortFunc(todo, func(a, b store.Removal) int { return cmp.Compare(a.Grid, b.Grid) })
	if len(todo) > atOnce {
		todo, full = todo[:atOnce], true
	}
	return todo, full, more
}

// clear removes everything of a grid job except its packages, which other grid jobs may use: the
// record, the folder in the work area with all tars, and the rows, a chunk at a time.
func (re *Remover) clear(ctx context.Context, r *store.Removal) error {
	if err := re.accounted(ctx, r.Grid); err != nil {
		return err
	}
	if err := re.b.Deps.Records.Remove(r.Grid); err != nil {
		return err
	}
	if err := re.b.Crash("remove.record"); err != nil {
		return err
	}
	area, err := re.areas.Of(r.Owner)
	if err != nil {
		return err
	}
	foreign, err := re.foreign(ctx, r.Grid, area.CheckUnused)
	if err != nil {
		return err
	}
	if !foreign {
		err = area.RemoveGrid(ctx, r.Grid)
	}
	if err != nil {
		return err
	}
	if err := re.b.Crash("remove.area"); err != nil {
		return err
	}
	for more := true; more; {
		if more, err = re.b.Store.RemoveRows(ctx, r.Grid, re.b.Chunk()); err != nil {
			return err
		}
		if err := re.b.Crash("remove.rows"); err != nil {
			return err
		}
	}
	return nil
}

// foreign reports whether the folder of a grid job contains local jobs although the grid job has made none. They belong
// to another grid job with the same number, of a lost store or of another site. Such a folder is not removed.
func (re *Remover) foreign(ctx context.Context, id jjm.GridID, unused func(jjm.GridID) error) (bool, error) {
	job, _, err := re.b.Store.Kept(ctx, id)
	if err != nil || job.Step.Made > 0 {
		return false, err
	}
	err = unused(id)
	if jjm.KindOf(err) != jjm.Invalid {
		return false, err
	}
	re.b.Log.Warn("the folder of a removed grid job stays, because it has local jobs of another grid job", "job", id,
		"error", err)
	return true, nil
}

// accounted returns an error while the accounting log lacks an attempt of a grid job.
func (re *Remover) accounted(ctx context.Context, id jjm.GridID) error {
	if re.b.Deps.Accounted == nil {
		return nil
	}
	last, err := re.b.Store.LastEvidence(ctx, id)
	if err != nil {
		return err
	}
	done, err := re.b.Deps.Accounted(ctx)
	if err == nil && done < last {
		return jjm.Errorf(jjm.Busy, "the accounting log does not have all of its attempts yet")
	}
	return err
}

// finish removes the packages of an account that no grid job uses any longer, and stores that the
// grid jobs are removed.
func (re *Remover) finish(ctx context.Context, owner jjm.Owner, gone []store.Removal) error {
	area, err := re.areas.Of(owner)
	if err != nil {
		return err
	}
	err = area.RemovePackages(ctx)
	if jjm.KindOf(err) == jjm.Invalid { // the owner damaged a file, and a retry would not help
		re.b.Complain(slog.LevelWarn, "packages/"+owner.User, "packages that are no longer used stay", "owner", owner.User,
			"error", err)
		err = nil
	}
	if err != nil {
		return fmt.Errorf("remove packages of %s: %w", owner.User, err)
	}
	if err := re.b.Crash("remove.packages"); err != nil {
		return err
	}
	err = re.s.Change(ctx, "removed", func(c *state.Change) error {
		for i := range gone {
			if err := c.Removed(&gone[i]); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range gone {
		if err == nil {
			re.b.Log.Info("grid job is removed", "job", gone[i].Grid, "by", gone[i].Actor)
		}
	}
	return err
}
