package app

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/publish/notify"
	"jjm/internal/storage/store"
	"jjm/internal/sys/fetch"
)

// noticeMark is the key of the store's meta value that holds the number of the last entry of the journal for which
// notices are stored.
const noticeMark = "notify.journal"

// The failpoints of the outbox: before the notices about new changes are stored, after the notices are stored, after a
// notice is delivered and before its end is stored, and after its end is stored.
const (
	noticesFound  = "notify.found"
	noticesStored = "notify.stored"
	noticeSent    = "notify.sent"
	noticeEnded   = "notify.ended"
)

// outbox implements [notify.Outbox] with the store of the daemon.
type outbox struct {
	store  *store.Store
	config notify.Config
	now    func() time.Time
	// crash is called at every failpoint; nil outside of tests.
	crash func(point string) error
}

// at calls the hook of tests for a failpoint, if there is a hook. An error ends the calling function.
func (o outbox) at(point string) error {
	if o.crash == nil {
		return nil
	}
	return o.crash(point)
}

// runNotices delivers notices until ctx ends. If the site sends no notices, runNotices removes the mark in the journal.
// When notices are switched on later, they begin with the next change instead of old ones.
func (a *App) runNotices(ctx context.Context) {
	if !a.config.Notify.On() {
		if err := a.store.SetMeta(ctx, noticeMark, ""); err != nil && ctx.Err() == nil {
			a.log.Error("the mark of notices could not be removed", "error", err)
		}
		return
	}
	s := notify.Sender{Config: a.config.Notify, Log: a.log, Now: time.Now,
		Outbox: outbox{store: a.store, config: a.config.Notify, now: time.Now, crash: a.failpoint()}, Post: a.post}
	s.Run(ctx)
}

// post implements [notify.Post].
func (a *App) post(ctx context.Context, id jjm.GridID, key string, body []byte) (fetch.Report, error) {
	job, removed, err := a.store.Kept(ctx, id)
	switch {
	case err != nil:
		return fetch.Report{}, err
	case removed != nil || job.Spec.Callback == nil:
		return fetch.Report{Trouble: "the grid job is removed"}, nil
	}
	return a.engine.Call(ctx, &job, key, body)
}

// Fill implements [notify.Outbox]. If the store has no mark yet, Fill only sets the mark to the end of the journal, so
// that notices begin with the next change.
func (o outbox) Fill(ctx context.Context, span int64) (more bool, err error) {
	text, found, err := o.store.Meta(ctx, noticeMark)
	if err != nil {
		return false, err
	}
	if !found {
		last, err := o.store.LastEntry(ctx)
		if err != nil {
			return false, err
		}
		return false, o.store.SetMeta(ctx, noticeMark, strconv.FormatInt(last, 10))
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return false, jjm.Errorf(jjm.Internal, "the mark of notices in the store: %w", err)
	}
	changes, upto, err := o.store.GridChanges(ctx, after, span)
	if err != nil || upto == after {
		return false, err
	}
	return upto == after+span, o.put(ctx, o.noticesOf(changes), upto)
}

// noticesOf returns the notices about changes of grid jobs.
func (o outbox) noticesOf(changes []store.GridChange) (notices []store.Notice) {
	for _, ch := range changes {
		for _, target := range o.config.Targets(ch) {
			notices = append(notices, store.Notice{Target: target, Change: ch.Change, Grid: ch.Grid,
				Generation: ch.Generation, Since: ch.Time})
		}
	}
	return notices
}

// put stores notices, together with the number of the last entry of the journal that was read.
func (o outbox) put(ctx context.Context, notices []store.Notice, upto int64) error {
	if len(notices) > 0 {
		if err := o.at(noticesFound); err != nil {
			return err
		}
	}
	err := o.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutNotices(notices); err != nil {
			return err
		}
		return tx.SetMeta(noticeMark, strconv.FormatInt(upto, 10))
	})
	if err != nil || len(notices) == 0 {
		return err
	}
	return o.at(noticesStored)
}

// Due implements [notify.Outbox].
func (o outbox) Due(ctx context.Context, prefix string, limit int) ([]store.Notice, error) {
	return o.store.DueNotices(ctx, prefix, jjm.At(o.now()), limit)
}

// Next implements [notify.Outbox].
func (o outbox) Next(ctx context.Context, target string, limit int) ([]store.Notice, error) {
	return o.store.NextNotices(ctx, target, limit)
}

// Event implements [notify.Outbox].
func (o outbox) Event(ctx context.Context, n store.Notice) (e notify.Event, ok bool, err error) {
	job, removed, err := o.store.Kept(ctx, n.Grid)
	if err != nil || removed != nil {
		return e, false, err
	}
	if n.Generation != job.Generation {
		if job, ok = job.AtEnd(n.Generation); !ok {
			return e, false, jjm.Errorf(jjm.Internal, "grid job %s has no end of generation %d", n.Grid, n.Generation)
		}
	}
	message := job.Reason
	if message == "" {
		message = plan.Summary(job.Counts, job.GivenBack())
	}
	return notify.EventOf(job, message, o.key(n)), true, nil
}

// key returns the key of the event that a notice is about. It is the same for every notice about this event.
func (o outbox) key(n store.Notice) string { return fmt.Sprintf("%s-%d", o.store.Nonce(), n.Change) }

// Call implements [notify.Outbox].
func (o outbox) Call(ctx context.Context, n store.Notice) (c notify.Call, ok bool, err error) {
	job, removed, err := o.store.Kept(ctx, n.Grid)
	if err != nil || removed != nil {
		return c, false, err
	}
	c = notify.Call{Version: notify.CallVersion, Event: o.key(n), Job: int64(n.Grid), Generation: n.Generation,
		Name: job.Spec.Name, Type: job.Spec.Type, User: job.Owner.User, Previous: n.From, Status: n.To,
		Time: n.Since.Time().UTC().Format(time.RFC3339)}
	var status jjm.GridStatus
	if err := status.UnmarshalText([]byte(n.To)); err != nil || !status.Final() {
		return c, true, err
	}
	end, ok, err := o.Event(ctx, n)
	c.End = end.CallEnd()
	return c, ok, err
}

// End implements [notify.Outbox]. If a notice was given up, End adds this to the history of the grid job.
func (o outbox) End(ctx context.Context, n store.Notice, gaveUp string) error {
	if err := o.at(noticeSent); err != nil {
		return err
	}
	err := o.store.Update(ctx, func(tx *store.Tx) error {
		if gaveUp != "" {
			if err := tx.Journal(jjm.JournalEntry{Grid: n.Grid, First: -1, Last: -1, To: store.NotNotified,
				Cause: gaveUp, Source: "notify", Time: jjm.At(o.now())}); err != nil {
				return err
			}
		}
		return tx.EndNotice(n)
	})
	if err != nil {
		return err
	}
	return o.at(noticeEnded)
}

// Delay implements [notify.Outbox].
func (o outbox) Delay(ctx context.Context, n store.Notice) error {
	return o.store.Update(ctx, func(tx *store.Tx) error { return tx.DelayNotice(n) })
}

// preflightNotify returns the problems of programs for notices that this account cannot start.
func (c *Config) preflightNotify() (problems jjm.Problems) {
	for field, argv := range c.noticePrograms() {
		if err := program(argv[0]); err != nil {
			problems = append(problems, jjm.Problem{Field: field, Text: err.Error() + ": want a program and its arguments"})
		}
	}
	return problems
}

// noticePrograms returns the command lines of the programs for notices, by the names of their settings. It leaves out
// programs whose paths are not absolute.
func (c *Config) noticePrograms() map[string][]string {
	all := map[string][]string{"notify.mail": c.Notify.Mail, "notify.command": c.Notify.Command}
	maps.DeleteFunc(all, func(_ string, argv []string) bool { return len(argv) == 0 || !filepath.IsAbs(argv[0]) })
	return all
}
