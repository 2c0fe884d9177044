package web

import (
	"bytes"
	"context"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

const (
	// endingTime is the longest wait for the ends of the standard errors on a page. mostReads bounds the reads that run at
	// the same time, including reads that no page waits for any longer.
	endingTime = 3 * time.Second
	mostReads  = 8
)

// ending is the end of the standard error of a local job.
type ending struct {
	Local string
	Lines []string
}

// endings adds to the view the last lines that failed local jobs wrote to standard error. It leaves out a file that
// cannot be read within endingTime: the file may be removed, or its file system may hang.
func (p *Page) endings(ctx context.Context, v viewer, out *jobView) {
	ctx, cancel := context.WithTimeout(ctx, endingTime)
	defer cancel()
	for _, local := range failedOf(out) {
		if lines := p.lastLines(ctx, v, local); len(lines) > 0 {
			out.Endings = append(out.Endings, ending{local, lines})
		}
	}
}

// failedOf returns the ids of the local jobs on a page whose standard error is shown: the examples of the first
// mostEvidence causes of failures, or the local job if it failed or is to be tried again.
func failedOf(out *jobView) (ids []string) {
	switch {
	case out.S.Lookup.Stale:
		return nil
	case out.One:
		for i := range out.Shown {
			if l := &out.Shown[i]; l.State == jjm.Failed || l.Phase == jjm.RetryWait {
				ids = append(ids, l.ID.String())
			}
		}
		return ids
	}
	for _, c := range out.S.Causes {
		if c.First != "" && len(ids) < mostEvidence {
			ids = append(ids, c.First)
		}
	}
	return ids
}

// lastLines returns the last lines of the standard error of a local job, with the rights of the reader. It returns none
// if the file cannot be read before ctx ends, or if mostReads reads are running.
func (p *Page) lastLines(ctx context.Context, v viewer, local string) []string {
	select {
	case p.reads <- struct{}{}:
	default:
		return nil
	}
	lines := make(chan []string, 1)
	go func() {
		defer func() { <-p.reads }()
		var text bytes.Buffer
		req := wire.CatRequest{One: wire.OneRef(local), CatFile: wire.CatFile{File: "stderr"}, Tail: plain.EndBytes}
		if _, err := serve.AskFile(ctx, p.d.Verbs, wire.VerbCat(), v.Caller, req, &text); err != nil {
			text.Reset() // the page is shown without these lines
		}
		lines <- plain.LastLines(text.String())
	}()
	select {
	case out := <-lines:
		return out
	case <-ctx.Done():
		return nil
	}
}
