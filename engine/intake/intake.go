package intake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"jjm"
	"jjm/engine/base"
	"jjm/engine/fair"
	"jjm/engine/state"
	"jjm/store"
	"jjm/wire"
	"jjm/wire/spool"
)

// intakeEvery is how often the spool is looked at: what did not change since is
// passed over.
const intakeEvery = time.Second

// The budget of one turn of an account: how many entries are acted upon, how many
// names of the folder of boxes are looked at, and how many of the entries beyond
// an account's limit are answered with a refusal.
const (
	turnEntries = 64
	turnNames   = 16 << 10
	turnRefused = 64
)

// startEntries is how much is taken in before the first answer to anybody; the
// rest follows account by account, and before an answer about its handle.
const startEntries = 512

// maxRefusal is how much of the reason for a refusal is kept, in bytes.
const maxRefusal = 4096

// intakeLoop takes in what is left while the daemon runs: it may have been
// frozen, or too busy to answer.
func (it *Intake) intakeLoop(ctx context.Context) {
	for ctx.Err() == nil && it.b.Deps.SpoolDir != "" {
		switch acted, more := it.intakeRound(ctx); {
		case !more:
			fair.Pause(ctx, intakeEvery)
		case acted == 0:
			fair.Pause(ctx, intakeEvery/20) // a flood of what is nothing gets no core of its own
		}
	}
}

// TakeIn takes in what gatekeepers left. It belongs before the first answer to
// anybody. Where very much was left the rest is taken in later: what an account
// asks about by its handle waits for that account's entries about it.
func (it *Intake) TakeIn(ctx context.Context) {
	for total := 0; total < startEntries && ctx.Err() == nil && it.b.Deps.SpoolDir != ""; {
		acted, more := it.intakeRound(ctx)
		if !more {
			return
		}
		total += max(acted, 1)
	}
}

// intakeRound gives each account its turn. more reports that somebody's budget was
// too small.
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

// turn takes in what lies in a box, or what it has about one handle. more reports
// that the budget was too small for it.
func (it *Intake) turn(ctx context.Context, in *inbox, only jjm.Handle) (acted int, more bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	box, err := in.open(it.b.Deps.SpoolDir)
	var bad *spool.Strange
	switch {
	case errors.As(err, &bad), errors.Is(err, fs.ErrNotExist):
		return 0, false, nil // the next survey sees who has the name
	case err != nil:
		it.b.Complain(slog.LevelWarn, "spool/"+in.name, "what a gatekeeper left cannot be read", "box", in.name, "error", err)
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

// turn is one look into a box.
type turn struct {
	it      *Intake
	in      *inbox
	box     *spool.Box
	only    jjm.Handle
	held    map[waiter]bool // what waits for an earlier entry about it
	acted   int
	removed int
	more    bool // the budget was too small
	waits   bool // something could not be done just now
}

// waiter is what entries must not overtake each other about. Only in the folder
// of before can the owners of one box differ.
type waiter struct {
	uid    int
	handle jjm.Handle
}

// run acts on the entries, in order, and removes each once it was acted upon:
// after a crash in between it is acted upon again, which changes nothing. What
// cannot be done just now stays, with all that came later for the same grid job.
func (t *turn) run(ctx context.Context) error {
	limit := 2 * spool.MaxEntries
	if t.box.UID < 0 {
		limit = maxOld
	}
	names, strange, more, err := t.box.List(limit)
	if err != nil {
		t.it.b.Complain(slog.LevelError, "spool/"+t.in.name, "what a gatekeeper left cannot be read", "box", t.in.name,
			"error", err)
		t.waits = true
		return nil
	}
	t.more, t.held = more, map[waiter]bool{}
	t.tidy(strange)
	if t.box.UID >= 0 {
		fit := t.box.Fit(names)
		t.cut(ctx, names[fit:])
		names = names[:fit]
	}
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
			t.it.b.Complain(slog.LevelWarn, "spool/"+name.String(), "left by a gatekeeper", "entry", name.String(), "error", err)
		}
	}
	return nil
}

// waiting is the error of a handle about which not all is taken in.
func (t *turn) waiting(h jjm.Handle) error {
	if h != "" && (t.more || t.waits) {
		return jjm.Errorf(jjm.Busy, "%s: what a gatekeeper left about it in %s is not taken in yet: ask again", h, t.in.name)
	}
	return nil
}

// tidy removes what is no entry.
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
	t.it.b.Complain(slog.LevelWarn, "spool/strange/"+t.in.name, "the spool holds what is not jjm's: removed", "box",
		t.in.name,
		"account", t.in.uid, "names", strange[:min(len(strange), 3)], "more", stay > 0)
}

// cut removes the latest entries of an account that left too many, or too much. Some
// of them are answered with a refusal, which lookups show.
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

// refuse says of a submission that it was removed, unless its grid job is there.
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
		t.it.b.Complain(slog.LevelWarn, "spool/refuse", "refusal is not kept", "handle", note.Handle, "error", err)
	}
}

// entry acts on one entry, unless an earlier one about the same waits.
func (t *turn) entry(ctx context.Context, name spool.Name) error {
	note, owner, err := t.box.Read(name)
	who := waiter{owner.UID, name.Handle}
	var bad *spool.Strange
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &bad):
		t.acted++
		if rerr := t.box.Remove(name.String()); rerr != nil {
			t.in.leave(name)
			err = errors.Join(err, rerr)
		}
		return fmt.Errorf("not taken in, and removed: %w", err)
	case err != nil:
		t.waits = true
		return err
	case t.held[who]:
		return nil
	case t.in.full():
		t.waits = true
		return fmt.Errorf("box %s: entries that were acted upon cannot be removed: make it writable for the daemon",
			t.in.name)
	}
	t.acted++
	if err := t.it.b.Crash("spool.read"); err != nil {
		return err
	}
	caller := t.it.b.Deps.Caller(owner.UID, owner.GID)
	caller.Spooled = true
	if err := t.it.act(ctx, caller, note); err != nil {
		t.held[who], t.waits = true, true
		return err
	}
	if err := t.it.b.Crash("spool.acted"); err != nil {
		return err
	}
	if err := t.box.Remove(name.String()); err != nil {
		t.in.leave(name) // acted upon: what it says is stored
		return err
	}
	return t.it.b.Crash("spool.removed")
}

// recorded reports whether a grid job can be found by its handle while the daemon is
// away: what a gatekeeper left about it must not go before.
func (it *Intake) recorded(id jjm.GridID) bool {
	v := it.s.View()
	defer v.Close()
	g := v.Grid(id)
	return g == nil || g.Pointed()
}

// act does what an entry says. An error means that it could not be done just
// now; what is refused for good is done.
func (it *Intake) act(ctx context.Context, caller wire.Caller, n spool.Note) error {
	if n.Verb == spool.VerbKill {
		return it.actKill(ctx, caller, n)
	}
	got, err := it.rooms.Submit(ctx, caller, *n.Submit)
	switch {
	case err == nil && got.Existed && !it.recorded(got.ID):
		return jjm.Errorf(jjm.Busy, "the record of grid job %s is not written yet", got.ID)
	case err == nil:
		it.b.Log.Info("taken in from the spool", "job", got.ID, "handle", n.Handle, "user", caller.User, "existed",
			got.Existed)
		return nil
	case !final(err):
		return err
	}
	it.b.Log.Info("refused from the spool", "handle", n.Handle, "user", caller.User, "error", err)
	return it.refuse(ctx, caller, n.Handle, err)
}

// actKill passes a kill on; one of a grid job that is not there is done.
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
	if err := it.rooms.Kill(ctx, caller, []jjm.Ref{ref})[0].Error.Err(); err != nil && !final(err) {
		return err
	}
	it.b.Log.Info("kill taken in from the spool", "job", ref, "user", caller.User)
	return nil
}

// final reports whether an error answers a request for good.
func final(err error) bool {
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Denied, jjm.Conflict, jjm.Gone:
		return true
	}
	return false
}

// refuse keeps the reason why no grid job was made of what a gatekeeper was told
// is accepted: its lookups say that it failed, and why.
func (it *Intake) refuse(ctx context.Context, caller wire.Caller, h jjm.Handle, why error) error {
	return it.s.Change(ctx, "spool-refuse", func(c *state.Change) error {
		text := why.Error()
		if len(text) > maxRefusal {
			text = text[:maxRefusal] + "..."
		}
		return c.Tx.PutHandle(h, store.Handle{UID: caller.UID, Refused: text, Time: c.Now})
	})
}
