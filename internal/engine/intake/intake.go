package intake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/spool"
	"jjm/internal/storage/store"
)

// intakeEvery is the time between two rounds over all boxes. Boxes that have not changed are skipped.
const intakeEvery = time.Second

// turnEntries is the greatest number of entries that one turn carries out. turnNames is the greatest number of names in
// the spool that a survey reads at a time. turnRefused is the greatest number of refusals that one turn stores for the
// entries beyond an account's limit.
const (
	turnEntries = 64
	turnNames   = 16 << 10
	turnRefused = 64
)

// startEntries is the number of entries that are carried out before the daemon answers the first request. The remaining
// entries are carried out later, box by box. Entries about a handle are always carried out before a request about the
// handle is answered.
const startEntries = 512

// maxRefusal is the greatest number of bytes stored of the reason for a refusal.
const maxRefusal = 4096

// intakeLoop carries out entries of the spool while the daemon runs, because gatekeepers also write entries when a
// running daemon is too busy to answer.
func (it *Intake) intakeLoop(ctx context.Context) {
	for ctx.Err() == nil && it.b.Deps.SpoolDir != "" {
		switch acted, more := it.intakeRound(ctx); {
		case !more:
			fair.Pause(ctx, intakeEvery)
		case acted == 0:
			fair.Pause(ctx, intakeEvery/20) // no valid entries: pause, because the other entries could keep a core busy
		}
	}
}

// TakeIn carries out about startEntries of the requests that gatekeepers left. It is called once, before the daemon
// answers the first request.
func (it *Intake) TakeIn(ctx context.Context) {
	for total := 0; total < startEntries && ctx.Err() == nil && it.b.Deps.SpoolDir != ""; {
		acted, more := it.intakeRound(ctx)
		if !more {
			return
		}
		total += max(acted, 1)
	}
}

// intakeRound takes one turn at each box, and returns the number of entries that were carried out. more is true if
// entries remain because a turn or the survey reached its limit.
func (it *Intake) intakeRound(ctx context.Context) (acted int, more bool) {
	more = !it.survey()
	for _, box := range it.box.all() {
		if ctx.Err() != nil {
			return acted, false
		}
		n, left, err := it.turn(ctx, box, "")
		if errors.Is(err, base.ErrCrashed) {
			return acted, false
		}
		acted += n
		more = more || left
	}
	return acted, more
}

// turn carries out the entries of a box. If only is set, it carries out only the entries about this handle, and returns
// an error of kind Busy if such entries remain. more is true if entries remain because the turn reached its limit.
func (it *Intake) turn(ctx context.Context, in *inbox, only jjm.Handle) (acted int, more bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	box, err := in.open(it.b.Deps.SpoolDir)
	var bad *spool.Rejected
	switch {
	case errors.As(err, &bad), errors.Is(err, fs.ErrNotExist):
		return 0, false, nil // the next survey deals with the box
	case err != nil:
		it.b.Complain(slog.LevelWarn, "spool/"+in.name, "a box of the spool could not be read", "box", in.name, "error", err)
		return 0, false, err
	}
	defer box.Close()
	at, settled := box.Changed()
	if in.clean && at.Equal(in.seen) {
		return 0, false, nil
	}
	in.clean = false
	t := turn{it: it, in: in, box: box, only: only}
	if err := t.run(ctx); err != nil {
		return t.acted, false, err
	}
	if only == "" && !t.more && !t.waits && t.acted == 0 && t.removed == 0 {
		in.clean, in.seen = settled, at
	}
	return t.acted, t.more, t.waiting(only)
}

// turn is the state of one turn at a box, which is one call of Intake.turn.
type turn struct {
	it      *Intake
	in      *inbox
	box     *spool.Box
	only    jjm.Handle          // "" for all handles
	held    map[jjm.Handle]bool // handles with an entry that could not be carried out now
	acted   int                 // entries carried out
	removed int                 // entries removed without being carried out
	more    bool                // entries remain because the turn reached its limit
	waits   bool                // at least one entry could not be carried out now
}

// run carries out the entries in order, and removes each entry afterwards. If the daemon crashes in
// between, the entry is carried out again, which changes nothing. An entry that cannot be carried
// out now stays, with all later entries about its handle.
func (t *turn) run(ctx context.Context) error {
	names, strange, more, err := t.box.List(2 * spool.MaxEntries)
	if err != nil {
		t.it.b.Complain(slog.LevelError, "spool/"+t.in.name, "a box of the spool could not be read", "box", t.in.name,
			"error", err)
		t.waits = true
		return nil
	}
	t.more, t.held = more, map[jjm.Handle]bool{}
	t.tidy(strange)
	fit := t.box.Fit(names)
	t.cut(ctx, names[fit:])
	names = names[:fit]
	for _, name := range names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if t.only != "" && name.Handle != t.only || t.in.left[name] {
			continue
		}
		if t.acted >= turnEntries {
			t.more = true
			return nil
		}
		if err := t.entry(ctx, name); errors.Is(err, base.ErrCrashed) {
			return err
		} else if err != nil && ctx.Err() == nil {
			t.it.b.Complain(slog.LevelWarn, "spool/"+name.String(), "an entry of the spool could not be carried out", "entry",
				name.String(), "error", err)
		}
	}
	return nil
}

// waiting returns an error of kind Busy if entries about the handle remain. It returns nil for the handle "".
func (t *turn) waiting(h jjm.Handle) error {
	if h != "" && (t.more || t.waits) {
		return jjm.Errorf(jjm.Busy, "%s: requests about it in box %s of the spool are not carried out yet: ask again", h, t.in.name)
	}
	return nil
}

// tidy removes the names in a box that are not the name of an entry.
func (t *turn) tidy(strange []string) {
	if len(strange) == 0 {
		return
	}
	stay := 0
	for _, name := range strange {
		if err := t.box.Remove(name); err != nil {
			stay++
			continue
		}
		t.removed++
	}
	t.it.b.Complain(slog.LevelWarn, "spool/strange/"+t.in.name, "the spool held files that are not jjm's: they are removed", "box",
		t.in.name, "account", t.in.uid, "names", strange[:min(len(strange), 3)], "more", stay > 0)
}

// cut removes the latest entries of an account that left more entries than its limit. For some of the removed
// submissions it stores a refusal, which lookups then return.
func (t *turn) cut(ctx context.Context, names []spool.Name) {
	if len(names) == 0 {
		return
	}
	t.it.b.Complain(slog.LevelWarn, "spool/many/"+t.in.name, "an account left too many entries: the latest are removed",
		"box", t.in.name, "account", t.in.uid, "entries", spool.MaxEntries, "bytes", spool.MaxBytes)
	for i, name := range names {
		if i < turnRefused {
			t.refuse(ctx, name)
		}
		if t.box.Remove(name.String()) == nil {
			t.removed++
		}
	}
	t.more = true
}

// refuse stores that a submission was refused because its account left too many entries. If the grid job already
// exists, it stores nothing.
func (t *turn) refuse(ctx context.Context, name spool.Name) {
	note, owner, err := t.box.Read(name)
	if err != nil || note.Verb != spool.VerbSubmit {
		return
	}
	if _, err := t.it.b.Store.Handle(ctx, note.Handle); jjm.KindOf(err) != jjm.Gone {
		return
	}
	why := jjm.Errorf(jjm.Denied, "more than %d entries, or %d MB, of account %d waited in the spool",
		spool.MaxEntries, spool.MaxBytes>>20, owner.UID)
	if err := t.it.refuse(ctx, t.it.b.Deps.Caller(owner.UID, owner.GID), note.Handle, why); err != nil {
		t.it.b.Complain(slog.LevelWarn, "spool/refuse", "refusal could not be stored", "handle", note.Handle, "error", err)
	}
}

// entry carries out one entry and removes it, unless an earlier entry about the same handle waits. An invalid entry is
// removed without being carried out. If too many entries that were carried out could not be removed, no further entry
// is carried out.
func (t *turn) entry(ctx context.Context, name spool.Name) error {
	note, owner, err := t.box.Read(name)
	var bad *spool.Rejected
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &bad):
		t.acted++
		if rerr := t.box.Remove(name.String()); rerr != nil {
			t.in.leave(name)
			err = errors.Join(err, rerr)
		}
		return fmt.Errorf("not carried out, and removed: %w", err)
	case err != nil:
		t.waits = true
		return err
	case t.held[name.Handle]:
		return nil
	case t.in.full():
		t.waits = true
		return fmt.Errorf("box %s: entries that were carried out cannot be removed: make it writable for the daemon",
			t.in.name)
	}
	t.acted++
	if err := t.it.b.Crash("spool.read"); err != nil {
		return err
	}
	caller := t.it.b.Deps.Caller(owner.UID, owner.GID)
	caller.Spooled = true
	if err := t.it.act(ctx, caller, note); err != nil {
		t.held[name.Handle], t.waits = true, true
		return err
	}
	if err := t.it.b.Crash("spool.acted"); err != nil {
		return err
	}
	if err := t.box.Remove(name.String()); err != nil {
		t.in.leave(name) // the request is stored, so the entry must not be carried out again
		return err
	}
	return t.it.b.Crash("spool.removed")
}

// recorded reports whether clients can find a grid job by its handle while the daemon is down. Until then the entry
// must stay in the spool, because clients also search the spool.
func (it *Intake) recorded(id jjm.GridID) bool {
	v := it.s.View()
	defer v.Close()
	g := v.Grid(id)
	return g == nil || g.Pointed()
}

// act carries out an entry. It returns an error only if the entry could not be carried out now. A request that is
// refused permanently counts as carried out.
func (it *Intake) act(ctx context.Context, caller wire.Caller, n spool.Note) error {
	if n.Verb == spool.VerbKill {
		return it.actKill(ctx, caller, n)
	}
	made, err := it.rooms.Submit(ctx, caller, wire.SubmitRequest{Submit: n.Submit})
	got := made.Submit
	switch {
	case err == nil && got.Existed && !it.recorded(got.ID):
		return jjm.Errorf(jjm.Busy, "the record of grid job %s is not written yet", got.ID)
	case err == nil:
		it.b.Log.Info("submission in the spool carried out", "job", got.ID, "handle", n.Handle, "user", caller.User,
			"existed", got.Existed)
		return nil
	case !final(err):
		return err
	}
	it.b.Log.Info("submission in the spool refused", "handle", n.Handle, "user", caller.User, "error", err)
	return it.refuse(ctx, caller, n.Handle, err)
}

// actKill carries out a kill. If the grid job does not exist, its submission was refused, or the caller may not kill
// it, there is nothing to do.
func (it *Intake) actKill(ctx context.Context, caller wire.Caller, n spool.Note) error {
	named, err := it.b.Store.Handle(ctx, n.Handle)
	if jjm.KindOf(err) == jjm.Gone || err == nil && (named.Refused != "" || !caller.May(named.UID)) {
		return nil
	}
	if err != nil {
		return err
	}
	ref, err := jjm.ParseRef(named.Grid.String() + n.Rest)
	if err != nil {
		return nil
	}
	killed, err := it.rooms.Kill(ctx, caller, wire.KillRequest{Many: wire.Many{Jobs: []jjm.Ref{ref}},
		KillHow: wire.KillHow{First: true}})
	if err != nil {
		return err
	}
	if err := killed.Kill[0].Error.Err(); err != nil && !final(err) {
		return err
	}
	it.b.Log.Info("kill in the spool carried out", "job", ref, "user", caller.User)
	return nil
}

// final reports whether err is a permanent answer to a request, so that a retry cannot help.
func final(err error) bool {
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Denied, jjm.Conflict, jjm.Gone:
		return true
	}
	return false
}

// refuse stores why a submission in the spool was refused. The gatekeeper was told that the submission is accepted; its
// lookups must therefore report that the submission failed, and why.
func (it *Intake) refuse(ctx context.Context, caller wire.Caller, h jjm.Handle, why error) error {
	return it.s.Change(ctx, "spool-refuse", func(c *state.Change) error {
		text := why.Error()
		if len(text) > maxRefusal {
			text = text[:maxRefusal] + "..."
		}
		return c.Tx.PutHandle(h, store.Handle{UID: caller.UID, Refused: text, Time: c.Now})
	})
}
