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

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/spool"
)

// boxes are the known boxes in the spool. A box is an account's own folder in the spool.
type boxes struct {
	mu    sync.Mutex
	known map[string]*inbox // by name
	in    *spool.In         // the survey in progress, nil if there is none
	began time.Time         // the spool's time stamp when the survey started, zero if too fresh to rely on
	whole time.Time         // the spool's time stamp when the last complete survey started; zero as for began
}

// inbox is the state of one account's box between turns. A turn carries out entries of one box; see Intake.turn.
type inbox struct {
	mu   sync.Mutex // held during a turn, so that entries are carried out in order
	name string     // the folder's name
	uid  int
	// seen is the time stamp of the box at a turn that found nothing to do, valid if
	// clean.
	seen  time.Time
	clean bool
	// left are entries that were carried out and could not be removed.
	left map[spool.Name]bool
}

func (in *inbox) open(dir string) (*spool.Box, error) {
	folder, err := spool.Open(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.Named(in.name, in.uid)
}

// leave makes later turns skip an entry that was carried out.
func (in *inbox) leave(name spool.Name) {
	if in.left == nil {
		in.left = map[spool.Name]bool{}
	}
	in.left[name] = true
}

// full reports whether no further entry can be remembered in left.
func (in *inbox) full() bool { return len(in.left) >= spool.MaxEntries }

// maxBoxes is the greatest number of known boxes of one account.
const maxBoxes = 9

// know adds a box to the known boxes, and returns it.
func (b *boxes) know(name string, uid int) *inbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.note(name, uid)
}

func (b *boxes) note(name string, uid int) *inbox {
	if b.known == nil {
		b.known = map[string]*inbox{}
	}
	if b.known[name] == nil {
		b.known[name] = &inbox{name: name, uid: uid}
	}
	return b.known[name]
}

// all returns all known boxes.
func (b *boxes) all() []*inbox { return b.of(nil) }

// of returns the boxes of an account, the shortest name first: the box with the plain name comes first. If uid is nil,
// it returns all boxes.
func (b *boxes) of(uid *int) []*inbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []*inbox
	for _, in := range b.known {
		if uid == nil || in.uid == *uid {
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(x, y *inbox) int { return cmp.Or(len(x.name)-len(y.name), cmp.Compare(x.name, y.name)) })
	return out
}

// survey continues to look through the spool for boxes. It returns true if it has looked through the whole spool, or if
// the spool cannot be read; then no further call is needed now. It removes names that are not the name of a box.
func (it *Intake) survey() bool {
	b := &it.box
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.in == nil {
		in, err := spool.Open(it.b.Deps.SpoolDir)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				it.b.Complain(slog.LevelError, "spool", "the spool could not be read", "dir", it.b.Deps.SpoolDir, "error",
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
			b.began = time.Time{} // another box may still be made with the same time stamp
		}
	}
	strange := ""
	done, err := b.in.Survey(turnNames, b.found, func(name string, _ error) { strange = name })
	if strange != "" { // only one line in the log, however many names there are
		it.b.Complain(slog.LevelWarn, "spool/strange",
			"the spool holds files that are not jjm's and cannot be removed: remove them by hand", "dir", it.b.Deps.SpoolDir)
	}
	if !done && err == nil {
		return false
	}
	if err != nil {
		it.b.Complain(slog.LevelError, "spool", "the spool could not be read", "dir", it.b.Deps.SpoolDir, "error",
			err)
		b.began = time.Time{}
	}
	_ = b.in.Close()
	b.in, b.whole = nil, b.began
	return true
}

// found notes a box that the survey found, unless its account has maxBoxes already.
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

// Settle carries out the entries about a handle before a request about the handle is answered. It carries out the
// entries of the account that has the handle, if the caller may see the handle. Otherwise it carries out the caller's
// entries, or for an administrator the entries of all accounts. The error is of kind Busy if an entry could not be
// carried out now.
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

// ensure makes the boxes of an account known. If the account has the box with its plain name, it has no other box.
// Otherwise ensure surveys the whole spool, unless the spool has not changed since the last survey. The error is of
// kind Busy if the spool cannot be read, or if the survey is not complete yet.
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
	var bad *spool.Rejected
	switch {
	case err == nil:
		it.box.know("u"+strconv.Itoa(uid), uid)
		return box.Close()
	case errors.As(err, &bad):
		if err := in.Free(uid); err != nil {
			it.b.Complain(slog.LevelWarn, "spool/strange", "the name of a box is used by somebody else", "uid", uid, "error",
				err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return jjm.Errorf(jjm.Busy, "spool: %w", err)
	}
	for range 2 { // the first survey may have started before the box was made
		if !it.survey() {
			return jjm.Errorf(jjm.Busy, "spool: what gatekeepers left is still being looked through: ask again")
		}
	}
	return nil
}
