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
)

// noticeMark is the key of the store's meta value that holds the number of the last entry of the journal for which
// notices are stored.
const noticeMark = "notify.journal"

// outbox is the outbox of notices in the store.
type outbox struct {
	store  *store.Store
	config notify.Config
	now    func() time.Time
}

// runNotices delivers notices until ctx ends. A site without notices forgets its mark, so that no notices about old
// ends are sent once the site sends notices again.
func (a *App) runNotices(ctx context.Context) {
	if !a.config.Notify.On() {
		if err := a.store.SetMeta(ctx, noticeMark, ""); err != nil && ctx.Err() == nil {
			a.log.Error("the mark of notices could not be removed", "error", err)
		}
		return
	}
	s := notify.Sender{Config: a.config.Notify, Log: a.log, Now: time.Now,
		Outbox: outbox{store: a.store, config: a.config.Notify, now: time.Now}}
	s.Run(ctx)
}

// Fill implements [notify.Outbox]. An outbox that is new to this store starts with the ends from now on.
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
	ends, upto, err := o.store.GridEnds(ctx, after, span)
	if err != nil || upto == after {
		return false, err
	}
	var notices []store.Notice
	for _, e := range ends {
		for _, target := range o.config.Targets(e.Notify) {
			notices = append(notices, store.Notice{Target: target, Change: e.Change, Grid: e.Grid,
				Generation: e.Generation, Since: e.Time})
		}
	}
	err = o.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutNotices(notices); err != nil {
			return err
		}
		return tx.SetMeta(noticeMark, strconv.FormatInt(upto, 10))
	})
	return upto == after+span, err
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
		message = plan.Summary(job.Counts)
	}
	return notify.EventOf(job, message, fmt.Sprintf("%s-%d", o.store.Nonce(), n.Change)), true, nil
}

// End implements [notify.Outbox]. The history of the grid job tells which notices were given up.
func (o outbox) End(ctx context.Context, n store.Notice, gaveUp string) error {
	return o.store.Update(ctx, func(tx *store.Tx) error {
		if gaveUp != "" {
			if err := tx.Journal(jjm.JournalEntry{Grid: n.Grid, First: -1, Last: -1, To: "not-notified", Cause: gaveUp,
				Source: "notify"}); err != nil {
				return err
			}
		}
		return tx.EndNotice(n)
	})
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

// noticePrograms returns the programs for notices with absolute paths, by their settings.
func (c *Config) noticePrograms() map[string][]string {
	all := map[string][]string{"notify.mail": c.Notify.Mail, "notify.command": c.Notify.Command}
	maps.DeleteFunc(all, func(_ string, argv []string) bool { return len(argv) == 0 || !filepath.IsAbs(argv[0]) })
	return all
}
