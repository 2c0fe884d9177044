package intake

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"jjm/internal/engine/floor/fair"
	"jjm/internal/jjm"
	"jjm/xmldb"
)

// dropRescan is the time between two scans of the drop folder, in addition to the kernel's notifications.
const dropRescan = 10 * time.Second

// dropPatience is the longest time that a fragment may wait for a record that does not exist yet.
const dropPatience = time.Hour

// dropLoop adds fragments that programs outside jjm leave in the drop folder to records. If the folder is removed or
// replaced, dropLoop opens the folder again, and creates it if it is missing.
func (it *Intake) dropLoop(ctx context.Context) {
	for ctx.Err() == nil && it.b.Deps.DropDir != "" {
		d, err := xmldb.OpenDrop(it.b.Deps.DropDir, it.warnDrop)
		if err != nil {
			it.b.Complain(slog.LevelError, "drop", "drop folder cannot be used, no fragments of records are accepted",
				"error", err)
			fair.Pause(ctx, dropRescan)
			continue
		}
		it.watchDrop(ctx, d)
		_ = d.Close()
	}
}

// watchDrop takes fragments from an open drop folder until the folder is removed or replaced.
func (it *Intake) watchDrop(ctx context.Context, d *xmldb.Drop) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var hint <-chan struct{}
	if it.b.Deps.Notify {
		hint = d.Watch(ctx)
	}
	for ctx.Err() == nil {
		if d.Replaced() {
			it.b.Log.Warn("the drop folder was removed or replaced, and is opened again", "dir", it.b.Deps.DropDir)
			return
		}
		if err := it.takeDropped(ctx, d); err != nil && ctx.Err() == nil {
			it.b.Log.Warn("drop folder could not be scanned", "error", err)
		}
		fair.WaitKick(ctx, hint, dropRescan)
	}
}

// warnDrop logs an error with the drop folder only if the error changes, because accounts can cause an error at every
// scan.
func (it *Intake) warnDrop(msg string, args ...any) {
	it.b.Complain(slog.LevelWarn, "drop/"+msg+fmt.Sprint(args...), msg, args...)
}

// takeDropped adds the fragments in the folder to records. It accepts a fragment only from root, or from the owner of
// the job that the fragment is about.
func (it *Intake) takeDropped(ctx context.Context, d *xmldb.Drop) error {
	found, err := d.Scan(ctx)
	if err != nil {
		return err
	}
	var left fragments
	defer func() { it.fragments.Store(&left) }()
	for _, f := range found {
		err := it.mayDrop(f)
		if err == nil {
			err = it.rooms.AddFragment(ctx, f.Fragment)
		}
		switch {
		case jjm.KindOf(err) == jjm.Busy && it.b.Now().Sub(f.Modified) < dropPatience:
			left.add(jjm.At(f.Modified)) // the next scan finds the fragment again
		case err != nil:
			f.Refuse(err)
		default:
			if err := f.Accept(); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayDrop returns an error of kind Denied if the writer of a fragment may not add to the record of the job, and of kind
// Gone if the job does not exist or is not live.
func (it *Intake) mayDrop(f xmldb.Dropped) error {
	v := it.s.View()
	defer v.Close()
	g := v.Grid(f.Fragment.Grid)
	if g == nil {
		return jjm.Errorf(jjm.Gone, "%s: no such live grid job", f.Fragment.Ref())
	}
	if f.UID != g.Job.Owner.UID && f.UID != 0 {
		return jjm.Errorf(jjm.Denied, "%s belongs to %s (uid %d), the file to uid %d",
			f.Fragment.Ref(), g.Job.Owner.User, g.Job.Owner.UID, f.UID)
	}
	if int(f.Fragment.Local) >= len(g.Locals) {
		return jjm.Errorf(jjm.Gone, "%s: the grid job has %s, numbered from 0", f.Fragment.Ref(),
			jjm.Count(len(g.Locals), "local job"))
	}
	return nil
}

// fragments holds the number of fragments that wait for a record, and the time when the oldest was written.
type fragments struct {
	n      int
	oldest jjm.Time
}

func (f *fragments) add(written jjm.Time) {
	if f.n == 0 || written < f.oldest {
		f.oldest = written
	}
	f.n++
}

// Fragments returns the number of fragments in the drop folder that wait for a record, and the time when the oldest was
// written.
func (it *Intake) Fragments() (n int, oldest jjm.Time) {
	if f := it.fragments.Load(); f != nil {
		return f.n, f.oldest
	}
	return 0, 0
}
