package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"jjm/internal/jjm"
)

// getter carries out one try of an order: it fetches a file or sends an event.
type getter struct {
	Order
	pace
	resolver *net.Resolver // nil: the resolver of this machine
	received atomic.Int64  // bytes received in this try
	answered atomic.Bool   // the server has begun to answer the current request
}

// usualPace is the pace outside tests.
func usualPace() pace { return pace{window: time.Minute, repeat: 500 * time.Millisecond} }

// Get fetches the file of an order. It stops when ctx ends. If the complete file already exists, Get returns
// immediately.
func Get(ctx context.Context, o Order) Report {
	g := &getter{Order: o, pace: usualPace()}
	return g.get(ctx)
}

// The reasons why a try is ended.
var (
	errSlow   = errors.New("the server is slow")
	errSilent = errors.New("the server does not answer")
	errTime   = errors.New("the time is over")
)

// answerWindows is the number of windows that may pass before an answer begins, including redirects and repeated
// requests.
const answerWindows = 5

// get carries out one try to fetch the file. It continues from the bytes of earlier tries if they are still valid.
func (g *getter) get(ctx context.Context) Report {
	p, size, whole, err := openPartial(g.Root, g.File)
	if err != nil {
		return Report{}.failed(err)
	}
	defer p.close()
	if whole {
		return Report{Done: true, Bytes: size, Total: size}
	}
	ctx, stop := context.WithTimeoutCause(ctx, g.MaxTime.D()-p.Spent.D(), errTime)
	defer stop()
	err = g.download(ctx, p)
	if err == nil {
		return Report{Done: true, Bytes: p.at, Total: p.at}
	}
	if kept := p.sync(); kept != nil {
		err = errors.Join(err, kept)
	}
	r := Report{Bytes: p.at, Total: max(p.Total, 0)}
	return r.failed(g.explain(ctx, err))
}

// explain returns the error to report: the reason why the try was ended, if it was ended, and otherwise err.
func (g *getter) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errTime):
		return &refusal{fmt.Sprintf("it did not come within %s, which is what this site allows (engine.fetch.max_time)",
			g.MaxTime)}
	case errors.Is(err, errSilent):
		return &retryLater{text: fmt.Sprintf("%v within %s", errSilent, jjm.HowLong(answerWindows*g.window))}
	case errors.Is(err, errSlow):
		return &retryLater{text: fmt.Sprintf("fewer than %d bytes a second came for %s (engine.fetch.min_rate)", g.MinRate,
			jjm.HowLong(g.window))}
	}
	return err
}

// maxRestarts is the number of times that a file may be started again from its first byte within one try.
const maxRestarts = 3

// download sends requests until the file is complete. If the file had to be started again maxRestarts times, it returns
// an error after which another try may succeed.
func (g *getter) download(ctx context.Context, p *partial) error {
	ns, err := networksOf(g.Networks)
	if err != nil {
		return err
	}
	trusted, err := certificates(g.Certificates)
	if err != nil {
		return err
	}
	client := newClient(ns, g.resolver, trusted, g.pace)
	for range maxRestarts {
		restart, err := g.request(ctx, client, p)
		if err != nil || !restart {
			return err
		}
	}
	return &retryLater{text: "it is another one each time that it is asked for"}
}

// request sends one request and stores its body. restart is set if the bytes were discarded and the file must be
// requested again.
func (g *getter) request(ctx context.Context, client *retryablehttp.Client, p *partial) (restart bool, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	g.answered.Store(false)
	over := g.watch(stop)
	defer over()
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = errors.Join(cause, err)
		}
	}()
	resp, err := g.ask(ctx, client, p)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	g.answered.Store(true)
	do, found, err := p.next(resp, g.SHA256 != "")
	if err != nil {
		return false, err
	}
	switch do {
	case discard:
		return true, p.begin(found)
	case startOver:
		if err := p.begin(found); err != nil {
			return false, err
		}
	case appendBody:
		p.state = found
	}
	kept := p.syncing()
	if err := errors.Join(g.store(p, resp.Body), kept()); err != nil {
		return false, err
	}
	over() // the following steps do not depend on the server
	return g.verify(p)
}

// watch ends a try if the answer does not begin in time, or if too few bytes arrive. It runs until over is called.
func (g *getter) watch(end context.CancelCauseFunc) (over func()) {
	done := make(chan struct{})
	go func() {
		ticks := time.NewTicker(g.window)
		defer ticks.Stop()
		before := int64(-1) // -1 until the first window that began with an answer
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-ticks.C:
			}
			now := g.received.Load()
			switch {
			case !g.answered.Load() && n == answerWindows:
				end(errSilent)
				return
			case !g.answered.Load():
				continue
			case before >= 0 && now-before < g.minBytes():
				end(errSlow)
				return
			}
			before = now
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}

// minBytes returns the minimum number of bytes that must arrive in a window.
func (g *getter) minBytes() int64 { return max(int64(float64(g.MinRate)*g.window.Seconds()), 1) }

// ask sends the request. If a validator shows whether the server's file is still the same, ask requests only the
// missing bytes.
func (g *getter) ask(ctx context.Context, client *retryablehttp.Client, p *partial) (*http.Response, error) {
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, g.URL, nil)
	if err != nil {
		return nil, &refusal{"is no URL"}
	}
	req.Header.Set("User-Agent", "jjm")
	req.Header.Set("Accept-Encoding", identity)
	if g.Credential != "" {
		header, err := authorization(g.Credential)
		if err != nil {
			return nil, &refusal{"its credential_file " + err.Error()}
		}
		req.Header.Set("Authorization", header)
	}
	if p.resumable() {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.Kept))
		req.Header.Set("If-Range", p.ETag+p.Modified) // either ETag or Modified is ""
	}
	return client.Do(req)
}

// store writes the body to the file, up to the size limit.
func (g *getter) store(p *partial, from io.Reader) error {
	if g.MaxBytes > 0 && p.Total > g.MaxBytes {
		return g.tooLarge()
	}
	buf := make([]byte, copyBuffer)
	for {
		n, err := from.Read(buf)
		if g.MaxBytes > 0 && p.at+int64(n) > g.MaxBytes {
			return g.tooLarge()
		}
		if n > 0 {
			if werr := p.write(buf[:n]); werr != nil {
				return werr
			}
			g.received.Add(int64(n))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// tooLarge returns the error for a file that exceeds the size limit.
func (g *getter) tooLarge() error {
	return &refusal{fmt.Sprintf("it has more than %d bytes, which is what this site fetches (engine.fetch.max_bytes and "+
		"engine.max_input_bytes): take a smaller one, or a dataset", g.MaxBytes)}
}

// verify checks a complete file and gives it its name. restart is set if the file must be fetched again: it has too
// many bytes, or its checksum is wrong and it came in several transfers, so that it may be a mixture of two files.
// verify returns an error if the file is too short, and a [refusal] if the checksum is wrong after only one transfer.
func (g *getter) verify(p *partial) (restart bool, err error) {
	switch {
	case p.Total >= 0 && p.at < p.Total:
		return false, fmt.Errorf("it broke off after %d of %d bytes", p.at, p.Total)
	case p.Total >= 0 && p.at > p.Total:
		return true, p.begin(state{Total: -1})
	}
	if g.SHA256 == "" {
		return false, p.finish()
	}
	sum, err := p.sum()
	if err != nil {
		return false, err
	}
	switch {
	case strings.EqualFold(sum, g.SHA256):
		return false, p.finish()
	case p.Resumed:
		return true, p.begin(state{Total: -1})
	}
	if err := p.begin(state{Total: -1}); err != nil {
		return false, err
	}
	return false, &refusal{fmt.Sprintf("its SHA-256 is %s, the job file says %.80s: correct one of them", sum, g.SHA256)}
}
