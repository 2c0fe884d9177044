package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

func TestGet_WhatIsTooMuchIsRefused(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"says so": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1000000000000") },
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
					return
				}
			}
		},
	} {
		o := orderOf(t, served(t, h))
		o.MaxBytes = 5 << 20
		r := try(o)
		if r.Done || r.Again || !strings.Contains(r.Trouble, "more than 5242880 bytes") {
			t.Errorf("%s: %+v", name, r)
		}
		if info, err := os.Stat(filepath.Join(o.Root, o.File+".part")); err != nil || info.Size() > o.MaxBytes {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// raw is a server that sends fixed bytes to each connection and then calls a function.
func raw(t testing.TB, answer string, then func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = c.Read(make([]byte, 4096))
				_, _ = io.WriteString(c, answer)
				if then != nil {
					then(c)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/data"
}

func TestGet_ServersThatAreSilent(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	silent := func(net.Conn) { <-over }
	drips := func(c net.Conn) {
		for {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	const header = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct{ url, want string }{
		"says nothing":         {raw(t, "", silent), "timeout awaiting"},
		"header without end":   {raw(t, header, silent), "timeout awaiting"},
		"redirects and stalls": {raw(t, "HTTP/1.1 302 X\r\nLocation: /a\r\nContent-Length: 9\r\n\r\nabc", silent), "does not answer within 500 ms"},
		"stalls":               {raw(t, header+"Content-Length: 100\r\n\r\nabc", silent), "fewer than"},
		"drips":                {raw(t, header+"Content-Length: 1000000\r\n\r\n", drips), "fewer than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A busy machine can reach another of the time limits first. Then the next try must reach the right one.
			await.Nil(t, c.want, func() error {
				o := orderOf(t, c.url)
				o.MinRate = 50_000
				g := &getter{Order: o, pace: pace{100 * time.Millisecond, 5 * time.Millisecond}}
				r := g.get(context.Background())
				if r.Done || !r.Again || content(t, o) != "" {
					t.Errorf("%+v", r)
				}
				if !strings.Contains(r.Trouble, c.want) {
					return errors.New(r.Trouble)
				}
				return nil
			})
		})
	}
}

func TestGet_ServersThatLie(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	silent := func(net.Conn) { <-over }
	const header = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct {
		url  string
		want string
		once bool // another try cannot help
	}{
		"closes":                  {raw(t, "", nil), "EOF", false},
		"shorter than it says":    {raw(t, header+"Content-Length: 100\r\n\r\nabc", nil), "EOF", false},
		"a chunk that breaks off": {raw(t, header+"Transfer-Encoding: chunked\r\n\r\nff\r\nabc", nil), "EOF", false},
		"no length":               {raw(t, "HTTP/1.0 200 OK\r\n\r\nabc", nil), "give its sha256", true},
		"two lengths":             {raw(t, header+"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", nil), "multiple Content-Length", false},
		"no HTTP":                 {raw(t, "SSH-2.0-OpenSSH_9\r\n\r\n", nil), "malformed HTTP", false},
		"a header without end":    {raw(t, header+"A: "+strings.Repeat("x", 100_000), silent), "exceeded", false},
		"packed":                  {raw(t, header+"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", nil), "comes packed", true},
		"a part nobody asked for": {raw(t, "HTTP/1.1 206 X\r\nContent-Range: bytes 0-2/9\r\nContent-Length: 3\r\n\r\nabc", nil), "no whole file", true},
		"nothing there":           {"http://127.0.0.1:1/data", "connection refused", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := orderOf(t, c.url)
			r := try(o)
			if r.Done || !strings.Contains(r.Trouble, c.want) || r.Again == c.once || content(t, o) != "" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A compressed body is stored compressed. So a small body cannot fill the disk.
func TestGet_NothingIsUnpacked(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 50<<20))
	_ = z.Close()
	o := orderOf(t, served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}))
	o.MaxBytes, o.SHA256 = 1<<20, sumOf(bomb.String())
	if r := try(o); !r.Done || content(t, o) != bomb.String() {
		t.Errorf("%+v", r)
	}
}

func TestGet_WhatAStatusMeans(t *testing.T) {
	for code, again := range map[int]bool{400: false, 401: false, 403: false, 404: false, 410: false, 451: false,
		408: true, 429: true, 500: true, 502: true, 503: true, 504: true, 204: false, 304: false} {
		o := orderOf(t, served(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(code)
		}))
		r := try(o)
		if r.Done || r.Again != again || !strings.Contains(r.Trouble, fmt.Sprintf("answers %d ", code)) {
			t.Errorf("%d: %+v", code, r)
		}
		if again && r.Wait.D() != 7*time.Second {
			t.Errorf("%d: to wait %v", code, r.Wait)
		}
	}
}

// The time limit applies to the sum of all transfers of a file.
func TestGet_HasATimeInAll(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	o := orderOf(t, raw(t, "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 100\r\n\r\nabc", func(net.Conn) { <-over }))
	o.MaxTime = jjm.Duration(300 * time.Millisecond)
	for range 2 { // the result does not change
		if r := try(o); r.Again || !strings.Contains(r.Trouble, "did not come within 300ms") {
			t.Errorf("%+v", r)
		}
	}
	o.MaxTime = jjm.Duration(time.Hour)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	g := &getter{Order: o, pace: quick}
	if r := g.get(ctx); !r.Again {
		t.Errorf("stopped: %+v", r)
	}
}

func TestGet_OneProcessAtATime(t *testing.T) {
	o := orderOf(t, "http://127.0.0.1:1/")
	p, _, _, err := openPartial(o.Root, o.File)
	if err != nil {
		t.Fatal(err)
	}
	if r := try(o); !r.Again || !strings.Contains(r.Trouble, "is being fetched already") {
		t.Errorf("%+v", r)
	}
	p.close()
	if r := try(o); !strings.Contains(r.Trouble, "connection refused") {
		t.Errorf("%+v", r)
	}
}

// The account of a fetched file may put any files next to it. Such files can spoil only this file.
func TestGet_WhatLiesThereIsNotBelieved(t *testing.T) {
	text := letters(1000, "x")
	url := served(t, (&file{text: text, tag: `"1"`}).ServeHTTP)
	for name, spoil := range map[string]func(string) error{
		"a note that is none": func(f string) error { return os.WriteFile(f+".json", []byte("{"), 0o600) },
		"a note beyond the file": func(f string) error {
			return os.WriteFile(f+".json", []byte(`{"kept":500,"etag":"\"1\"","total":9}`), 0o600)
		},
		"of less than nothing": func(f string) error {
			return os.WriteFile(f+".json", []byte(`{"kept":-5,"spent":"-9h"}`), 0o600)
		},
		"a part without a note":    func(f string) error { return os.WriteFile(f+".part", []byte("other"), 0o600) },
		"a link out of the folder": func(f string) error { return os.Symlink("/dev/null", f+".json") },
	} {
		o := orderOf(t, url)
		if err := spoil(filepath.Join(o.Root, o.File)); err != nil {
			t.Fatal(err)
		}
		if r := try(o); !r.Done || content(t, o) != text {
			t.Errorf("%s: %+v", name, r)
		}
	}
	o := orderOf(t, url)
	if err := os.Symlink("/tmp/elsewhere", filepath.Join(o.Root, o.File+".part")); err != nil {
		t.Fatal(err)
	}
	if r := try(o); r.Done || !strings.Contains(r.Trouble, "escapes") {
		t.Errorf("a part that is a link out of the area: %+v", r)
	}
}

func FuzzContentRange(f *testing.F) {
	for _, text := range []string{"bytes 0-1/2", "bytes 5-9/*", "bytes 9-5/3", "bytes -1-2/3", "items 0-1/2", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, total, ok := contentRange(text)
		if ok && (first < 0 || total >= 0 && first >= total || !strings.HasPrefix(text, "bytes ")) {
			t.Errorf("%q is from %d of %d", text, first, total)
		}
	})
}
