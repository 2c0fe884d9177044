package app

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/publish/accounting"
	"jjm/internal/storage/store"
)

// AccountingConfig are the settings of the site's accounting.
type AccountingConfig struct {
	// Blah is the path of the accounting log in the format of BLAH; "" = no log. Each day's date is appended to the
	// name. CE is the name of the computing element in the log.
	Blah string `toml:"blah"`
	CE   string `toml:"ce"`
}

// Check returns all mistakes in the settings.
func (c AccountingConfig) Check() jjm.Problems {
	var ps jjm.Problems
	if c.Blah != "" && !filepath.IsAbs(c.Blah) {
		ps = append(ps, jjm.Problem{Field: "accounting.blah", Text: fmt.Sprintf("%q: want an absolute path", c.Blah)})
	}
	if c.Blah != "" && c.CE == "" {
		ps = append(ps, jjm.Problem{Field: "accounting.ce",
			Text: "is missing: name the computing element, such as ce.example.org:9619/ce.example.org"})
	}
	return ps
}

const (
	// accountingMark is the key of the store's meta value that holds the number of the last attempt in the log.
	accountingMark = "accounting.blah"
	// accountingEvery is the time between two writes to the log.
	accountingEvery = 5 * time.Second
	// accountingChunk is the greatest number of lines written at a time.
	accountingChunk = 500
)

// runAccounting appends ended attempts to the accounting log until ctx ends. A log that is new to this store starts
// with the attempts that end from now on.
func (a *App) runAccounting(ctx context.Context) {
	for ctx.Err() == nil {
		if err := a.updateAccounting(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("the accounting log could not be written: trying again", "path", a.config.Accounting.Blah, "error", err)
		}
		t := time.NewTimer(accountingEvery)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
}

// updateAccounting appends the attempts that ended since the last call. The number of the last attempt in the log is
// stored in the store, so that the log continues there after a restart.
func (a *App) updateAccounting(ctx context.Context) error {
	text, found, err := a.store.Meta(ctx, accountingMark)
	if err != nil {
		return err
	}
	done, _ := strconv.ParseInt(text, 10, 64)
	if !found {
		if done, err = a.store.LastEnded(ctx); err != nil {
			return err
		}
		if err := a.store.SetMeta(ctx, accountingMark, strconv.FormatInt(done, 10)); err != nil {
			return err
		}
	}
	log, err := accounting.Open(a.config.Accounting.Blah, a.config.Accounting.CE, a.store.Nonce(), done)
	if err != nil {
		return err
	}
	for {
		ended, err := a.store.EndedAfter(ctx, log.Last(), accountingChunk)
		if err != nil || len(ended) == 0 {
			return err
		}
		if err := log.Append(time.Now(), entries(ended)); err != nil {
			return err
		}
		if err := a.store.SetMeta(ctx, accountingMark, strconv.FormatInt(log.Last(), 10)); err != nil {
			return err
		}
	}
}

// accounted returns a function that returns the number of the last ended attempt in the accounting log, 0 if the log is
// new. It returns nil if the site has no log.
func (a *App) accounted() func(context.Context) (int64, error) {
	if a.config.Accounting.Blah == "" {
		return nil
	}
	return func(ctx context.Context) (int64, error) {
		text, _, err := a.store.Meta(ctx, accountingMark)
		if err != nil || text == "" {
			return 0, err
		}
		return strconv.ParseInt(text, 10, 64)
	}
}

// entries returns the lines of attempts. Ids and times come from the batch system, or from jjm if the batch system does
// not report them. Values from a result and its claim are not used, because the job can forge them.
func entries(ended []store.Ended) []accounting.Entry {
	out := make([]accounting.Entry, len(ended))
	for i, e := range ended {
		batch := e.Evidence.Batch
		out[i] = accounting.Entry{Seq: e.Seq, Attempt: e.Attempt, Owner: e.User, Origin: e.Origin, Queue: e.Queue,
			Cluster: e.Cluster,
			Batch:   batch.ID, Submitted: batch.Submitted, Ended: batch.Ended}
		if batch.Ended == 0 {
			out[i].Ended = e.Known
		}
	}
	return out
}
