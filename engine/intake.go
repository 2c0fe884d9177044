package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"jjm"
	"jjm/store"
	"jjm/wire"
	"jjm/wire/spool"
)

// intakeEvery is how often the spool is looked at: reading an empty folder costs
// some microseconds.
const intakeEvery = time.Second

// maxRefusal is how much of the reason for a refusal is kept, in bytes.
const maxRefusal = 4096

// intake takes in what gatekeepers left in the spool.
type intake struct {
	mu sync.Mutex // one at a time, for the order
	// left are entries that cannot be taken in nor removed.
	left map[spool.Name]bool
}

// intakeLoop takes in what is left while the daemon runs: it may have been
// frozen, or too busy to answer.
func (e *Engine) intakeLoop(ctx context.Context) {
	for ctx.Err() == nil && e.deps.SpoolDir != "" {
		e.takeIn(ctx)
		pause(ctx, intakeEvery)
	}
}

// TakeIn takes in what gatekeepers left. It belongs before the first answer to
// anybody.
func (e *Engine) TakeIn(ctx context.Context) { e.takeIn(ctx) }

// takeIn acts on the entries of the spool, in order, and removes each once it
// was acted upon: after a crash in between it is acted upon again, which changes
// nothing. What cannot be done just now stays, with all that came later for the
// same grid job.
func (e *Engine) takeIn(ctx context.Context) {
	dir := e.deps.SpoolDir
	if dir == "" {
		return
	}
	e.box.mu.Lock()
	defer e.box.mu.Unlock()
	names, strange, err := spool.List(dir)
	if err != nil {
		e.complain(slog.LevelError, "spool", "what gatekeepers left cannot be read", "dir", dir, "error", err)
		return
	}
	if len(strange) > 0 {
		e.complain(slog.LevelWarn, "spool/strange", "the spool holds what is not jjm's", "dir", dir, "names", strange[:min(len(strange), 10)])
	}
	waits := map[jjm.Handle]bool{}
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		if waits[name.Handle] || e.box.left[name] {
			continue
		}
		done, err := e.takeEntry(ctx, dir, name)
		waits[name.Handle] = !done
		if errors.Is(err, errCrashed) {
			return
		}
		if err != nil && ctx.Err() == nil {
			e.complain(slog.LevelWarn, "spool/"+name.String(), "left by a gatekeeper", "entry", name.String(), "error", err)
		}
	}
}

// waitsInSpool reports whether a gatekeeper left something about a handle.
func (e *Engine) waitsInSpool(h jjm.Handle) bool {
	if e.deps.SpoolDir == "" {
		return false
	}
	names, _, err := spool.List(e.deps.SpoolDir)
	return err == nil && slices.ContainsFunc(names, func(n spool.Name) bool { return n.Handle == h })
}

// takeEntry acts on one entry. It is done once the entry is gone or never will
// be taken in.
func (e *Engine) takeEntry(ctx context.Context, dir string, name spool.Name) (done bool, err error) {
	note, owner, err := spool.Read(dir, name)
	var bad *spool.Strange
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case errors.As(err, &bad):
		if rerr := spool.Remove(dir, name); rerr != nil {
			e.leave(name)
			err = errors.Join(err, rerr)
		}
		return true, fmt.Errorf("not taken in, and removed: %w", err)
	case err != nil:
		return false, err
	}
	if err := e.crash("spool.read"); err != nil {
		return false, err
	}
	caller := e.deps.Caller(owner.UID, owner.GID)
	caller.Spooled = true
	if err := e.act(ctx, caller, note); err != nil {
		return false, err
	}
	if err := e.crash("spool.acted"); err != nil {
		return false, err
	}
	if err := spool.Remove(dir, name); err != nil {
		e.leave(name) // acted upon: what it says is stored
		return true, err
	}
	return true, e.crash("spool.removed")
}

// leave passes an entry over from now on.
func (e *Engine) leave(name spool.Name) {
	if e.box.left == nil {
		e.box.left = map[spool.Name]bool{}
	}
	e.box.left[name] = true
}

// act does what an entry says. An error means that it could not be done just
// now; what is refused for good is done.
func (e *Engine) act(ctx context.Context, caller wire.Caller, n spool.Note) error {
	if n.Verb == wire.VerbKill {
		return e.actKill(ctx, caller, n)
	}
	got, err := e.Submit(ctx, caller, *n.Submit)
	switch {
	case err == nil:
		e.log.Info("taken in from the spool", "job", got.ID, "handle", n.Handle, "user", caller.User, "existed", got.Existed)
		return nil
	case !final(err):
		return err
	}
	e.log.Info("refused from the spool", "handle", n.Handle, "user", caller.User, "error", err)
	return e.refuse(ctx, caller, n.Handle, err)
}

// actKill passes a kill on; one of a grid job that is not there is done.
func (e *Engine) actKill(ctx context.Context, caller wire.Caller, n spool.Note) error {
	named, err := e.store.Handle(ctx, n.Handle)
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
	if err := e.Kill(ctx, caller, []jjm.Ref{ref})[0].Error.Err(); err != nil && !final(err) {
		return err
	}
	e.log.Info("kill taken in from the spool", "job", ref, "user", caller.User)
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
func (e *Engine) refuse(ctx context.Context, caller wire.Caller, h jjm.Handle, why error) error {
	return e.change(ctx, "spool-refuse", func(c *change) error {
		text := why.Error()
		if len(text) > maxRefusal {
			text = text[:maxRefusal] + "..."
		}
		return c.tx.PutHandle(h, store.Handle{UID: caller.UID, Refused: text, Time: c.now})
	})
}
