package intake

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"jjm"
	"jjm/wire"
	"jjm/wire/spool"
)

// maxOld is how many entries of the folder of before are read at once: all that a
// jjm without boxes read.
const maxOld = 1_000_000

// boxes are what is known of the boxes in the spool.
type boxes struct {
	mu    sync.Mutex
	known map[string]*inbox // by name
	in    *spool.In         // of the survey that is under way
	began time.Time         // when the folder had last changed before it
	whole time.Time         // the same of the last survey that came to its end
}

// inbox is one box as the daemon knows it.
type inbox struct {
	mu   sync.Mutex // one turn at a time, for the order
	name string     // "" is the spool itself
	uid  int
	// seen is when the box had last changed when nothing was to be done there.
	seen  time.Time
	clean bool
	// left are entries that were acted upon and cannot be removed.
	left map[spool.Name]bool
}

func (in *inbox) open(dir string) (*spool.Box, error) {
	if in.name == "" {
		return spool.Old(dir)
	}
	folder, err := spool.Open(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.Named(in.name, in.uid)
}

// leave passes an entry over from now on.
func (in *inbox) leave(name spool.Name) {
	if in.left == nil {
		in.left = map[spool.Name]bool{}
	}
	in.left[name] = true
}

// full reports whether no more can be passed over.
func (in *inbox) full() bool { return len(in.left) >= spool.MaxEntries }

// maxBoxes bounds the boxes of one account.
const maxBoxes = 9

// know notes a box.
func (b *boxes) know(name string, uid int) *inbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.note(name, uid)
}

func (b *boxes) note(name string, uid int) *inbox {
	if b.known == nil {
		b.known = map[string]*inbox{"": {uid: -1}}
	}
	if b.known[name] == nil {
		b.known[name] = &inbox{name: name, uid: uid}
	}
	return b.known[name]
}

// all are the boxes, in no order.
func (b *boxes) all() []*inbox { return b.of(nil) }

// of are the boxes of an account and the spool itself, the box of its name first;
// nil: all.
func (b *boxes) of(uid *int) []*inbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note("", -1)
	var out []*inbox
	for _, in := range b.known {
		if uid == nil || in.uid == *uid || in.uid < 0 {
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(x, y *inbox) int { return cmp.Or(len(x.name)-len(y.name), cmp.Compare(x.name, y.name)) })
	return out
}

// survey goes on with looking for boxes, and reports whether all are known. What
// is no box is removed on the way.
func (it *Intake) survey() bool {
	b := &it.box
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.in == nil {
		in, err := spool.Open(it.b.Deps.SpoolDir)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				it.b.Complain(slog.LevelError, "spool", "what gatekeepers left cannot be read", "dir", it.b.Deps.SpoolDir, "error",
					err)
			}
			return true
		}
		at, settled := in.Changed()
		if settled && at.Equal(b.whole) {
			_ = in.Close()
			return true
		}
		b.in, b.began = in, at
		if !settled {
			b.began = time.Time{} // a box may come with the same time
		}
	}
	strange := ""
	done, err := b.in.Survey(turnNames, b.found, func(name string, _ error) { strange = name })
	if strange != "" { // said once: a flood of them gets no log of its own
		it.b.Complain(slog.LevelWarn, "spool/strange",
			"the spool holds what is not jjm's and cannot be removed: remove it by hand",
			"dir", it.b.Deps.SpoolDir)
	}
	if !done && err == nil {
		return false
	}
	if err != nil {
		it.b.Complain(slog.LevelError, "spool", "what gatekeepers left cannot be read", "dir", it.b.Deps.SpoolDir, "error",
			err)
		b.began = time.Time{}
	}
	_ = b.in.Close()
	b.in, b.whole = nil, b.began
	return true
}

// found notes a box that lies there.
func (b *boxes) found(f spool.Found) {
	if b.known[f.Name] != nil {
		return
	}
	n := 0
	if f.Name != "u"+strconv.Itoa(f.UID) {
		for _, in := range b.known {
			if in.uid == f.UID {
				n++
			}
		}
	}
	if n < maxBoxes {
		b.note(f.Name, f.UID)
	}
}

// Settle takes in what was left about a handle, before an answer about it: by the
// caller, or for an administrator by anybody. The error is of kind Busy if it
// cannot be told just now whether that is all.
func (it *Intake) Settle(ctx context.Context, caller wire.Caller, h jjm.Handle) error {
	if it.b.Deps.SpoolDir == "" {
		return nil
	}
	uid := caller.UID
	if named, err := it.b.Store.Handle(ctx, h); err == nil && caller.May(named.UID) {
		uid = named.UID
	} else if caller.Admin {
		it.survey()
		return it.settleIn(ctx, it.box.all(), h)
	}
	if err := it.ensure(uid); err != nil {
		return err
	}
	return it.settleIn(ctx, it.box.of(&uid), h)
}

func (it *Intake) settleIn(ctx context.Context, boxes []*inbox, h jjm.Handle) error {
	for _, in := range boxes {
		if _, _, err := it.turn(ctx, in, h); err != nil {
			return err
		}
	}
	return nil
}

// ensure has the boxes of an account be known. One that has its plain box has no
// other; for one that has not the folder is looked through, unless that was done
// since it changed.
func (it *Intake) ensure(uid int) error {
	in, err := spool.Open(it.b.Deps.SpoolDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return jjm.Errorf(jjm.Busy, "%w", err)
	}
	defer in.Close()
	box, err := in.Box(uid)
	var bad *spool.Strange
	switch {
	case err == nil:
		it.box.know("u"+strconv.Itoa(uid), uid)
		return box.Close()
	case errors.As(err, &bad):
		if err := in.Free(uid); err != nil {
			it.b.Complain(slog.LevelWarn, "spool/strange", "the name of a box is taken by somebody else", "uid", uid, "error",
				err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return jjm.Errorf(jjm.Busy, "spool: %w", err)
	}
	for range 2 { // the first may have begun before the box was made
		if !it.survey() {
			return jjm.Errorf(jjm.Busy, "spool: what gatekeepers left is still being looked through: ask again")
		}
	}
	return nil
}
