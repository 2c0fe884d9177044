package app

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"jjm"
	"jjm/publish/accounting"
	"jjm/store"
)

// AccountingConfig is what is written for the site's accounting.
type AccountingConfig struct {
	// Blah is the path of BLAH's accounting log, to which the day is added;
	// "" = none. CE names the computing element in it.
	Blah string `toml:"blah"`
	CE   string `toml:"ce"`
}

// Check finds every mistake in the settings.
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
	// accountingMark is the key of the store's meta value that holds the number
	// of the last attempt in the log.
	accountingMark = "accounting.blah"
	// accountingEvery is how often the log is brought up to date.
	accountingEvery = 5 * time.Second
	// accountingChunk is how many lines are written at once.
	accountingChunk = 500
)

// keepAccounts brings the accounting log up to date until ctx ends. A log that is new
// to this store begins with the attempts that end from now on.
func (a *App) keepAccounts(ctx context.Context) {
	for ctx.Err() == nil {
		if err := a.writeAccounts(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("accounting log is behind, trying again", "path", a.config.Accounting.Blah, "error", err)
		}
		t := time.NewTimer(accountingEvery)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
}

func (a *App) writeAccounts(ctx context.Context) error {
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

// entries are what is written of attempts. The id and the times are the batch system's,
// else jjm's own: what a result and its claim say is the job's word, and not taken.
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
