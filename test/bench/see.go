package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/publish/web"
)

// The targets of the page of a grid job with 100 000 local jobs.
const (
	pageWall = 300 // ms
	pageSize = 2   // MB
)

// pages holds the times and the greatest size of answers of the web page.
type pages struct {
	WallMS []float64
	Bytes  int64
}

// readPage serves the web page on the loopback interface, and reads the page of the large grid job rounds times.
func (s *site) readPage(ctx context.Context, rounds int) (got pages, err error) {
	token, tokens := strings.Repeat("t", 32), filepath.Join(s.args.Dir, "tokens")
	if err := os.WriteFile(tokens, []byte(owner+" "+token+"\n"), 0o600); err != nil {
		return got, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return got, err
	}
	page := web.New(web.Config{Tokens: tokens}, web.Deps{Site: "bench", Verbs: s.engine.Verbs(), Counts: s.engine.Counts,
		Account:  func(context.Context, string) (wire.Caller, error) { return s.caller, nil },
		ProxyUID: -1, Now: time.Now, Log: s.log, Every: time.Minute})
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- page.Serve(serving, l) }()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	for range rounds {
		began := time.Now()
		size, err := fetch(ctx, fmt.Sprintf("http://%s/jobs/%s", l.Addr(), s.grid), token)
		if err != nil {
			return got, err
		}
		got.WallMS, got.Bytes = append(got.WallMS, ms(time.Since(began))), max(got.Bytes, size)
	}
	return got, nil
}

// fetch reads a page completely and returns its size in bytes.
func fetch(ctx context.Context, url, token string) (size int64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", url, a.Status)
	}
	return io.Copy(io.Discard, a.Body)
}

// see measures what people see of a large grid job: its page, and the causes for which its local jobs wait.
func (b *bench) see() error {
	s, err := b.site(b.size.live, 0)
	if err != nil {
		return err
	}
	var p pages
	if err := s.ask("page", b.size.calls, &p); err != nil {
		return err
	}
	name := fmt.Sprintf("%d live: ", b.size.live)
	b.target("see", name+"page of the grid job, wall, median", median(p.WallMS), "ms", pageWall)
	b.target("see", name+"size of this page", float64(p.Bytes)/1e6, "MB", pageSize)
	var why, list []float64
	jjm := filepath.Join(b.bin, "jjm")
	for range b.size.calls {
		w, err := b.exec(s.args.Dir, jjm, "why", s.grid.String())
		if err != nil {
			return err
		}
		l, err := b.exec(s.args.Dir, jjm, "list")
		if err != nil {
			return err
		}
		why, list = append(why, ms(w.wall)), append(list, ms(l.wall))
	}
	b.beside("see", name+"jjm why, wall, median", median(why), "ms", "jjm list", median(list), 0)
	return nil
}
