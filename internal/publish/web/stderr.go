package web

import (
	"bytes"
	"context"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
)

const (
	// errorTime is the longest wait for the ends of standard error on a page. mostReads bounds the reads that run at the
	// same time, including reads that no page waits for any longer.
	errorTime = 3 * time.Second
	mostReads = 8
)

// addErrors adds the last lines of standard error: those of the examples of failures or, on the page of one local job
// that failed or is tried again, those of this local job. It leaves out a file that cannot be read within errorTime:
// the file may be removed, or its file system may hang.
func (p *Page) addErrors(ctx context.Context, v viewer, out *jobView) {
	ctx, cancel := context.WithTimeout(ctx, errorTime)
	defer cancel()
	if out.One && len(out.Shown) == 1 && plain.ShowsErrors(&out.Shown[0]) {
		out.Errors = p.errorLines(ctx, v, out.Ref)
	}
	for i := range out.Evidence {
		out.Evidence[i].Errors = p.errorLines(ctx, v, out.Evidence[i].Local)
	}
}

// errorLines returns the last lines that a local job wrote to standard error, with the rights of the reader. It returns
// nil if the lines cannot be read before ctx ends, or if mostReads reads are running.
func (p *Page) errorLines(ctx context.Context, v viewer, local string) []string {
	select {
	case p.reads <- struct{}{}:
	default:
		return nil
	}
	lines := make(chan []string, 1)
	go func() {
		defer func() { <-p.reads }()
		var text bytes.Buffer
		if _, err := serve.AskFile(ctx, p.d.Verbs, wire.VerbCat(), v.Caller, plain.ErrorRequest(local), &text); err != nil {
			text.Reset() // the page is shown without these lines
		}
		lines <- plain.ErrorLines(text.String())
	}()
	select {
	case out := <-lines:
		return out
	case <-ctx.Done():
		return nil
	}
}
