package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// loopback allows fetching from the servers of the tests, which are on this host.
var loopback = []string{"127.0.0.1/32"}

// failer has the methods that *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatal(...any)
}

// orderOf returns an order for a URL, with a new work area.
func orderOf(t testing.TB, url string) Order {
	o := Defaults().Order(&jjm.Input{Path: url}, "")
	o.Root, o.File, o.Networks = t.TempDir(), "input", loopback
	return o
}

// quick is a pace with short waits between repeats and with time limits that only a hang reaches.
var quick = pace{await.Guard(time.Minute), 5 * time.Millisecond}

// try carries out an order once, in this process, and returns its report.
func try(o Order) Report {
	g := &getter{Order: o, pace: quick}
	return g.get(context.Background())
}

// content returns the content of the fetched file, "" if there is none.
func content(t failer, o Order) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(o.Root, o.File))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// served starts a server with a handler and returns its URL.
func served(t testing.TB, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return s.URL
}

// letters returns a text whose parts all differ, so that tests detect misplaced bytes.
func letters(n int, of string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%s%d,", of, i)
	}
	return b.String()[:n]
}

// file serves a text as a correct server does. If cut is above 0, each answer breaks off after that many bytes.
type file struct {
	mu     sync.Mutex
	text   string
	tag    string
	cut    int
	ranges []string
}

func (f *file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	text, cut := f.text, f.cut
	f.ranges = append(f.ranges, r.Header.Get("Range"))
	if f.tag != "" {
		w.Header().Set("ETag", f.tag)
	}
	f.mu.Unlock()
	if cut > 0 {
		w = &cutting{w, cut}
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}

// cutting is a ResponseWriter that breaks off the answer after a number of bytes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(b []byte) (int, error) {
	if len(b) > c.left {
		_, _ = c.ResponseWriter.Write(b[:c.left])
		c.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c.left -= len(b)
	return c.ResponseWriter.Write(b)
}

func TestGet_AFileGetsItsNameOnceItIsWhole(t *testing.T) {
	text := letters(300_000, "x")
	f := &file{text: text, tag: `"1"`}
	for name, sum := range map[string]string{"without a checksum": "", "with one": strings.ToUpper(sumOf(text))} {
		o := orderOf(t, served(t, f.ServeHTTP)+"/data")
		o.SHA256 = sum
		for range 2 { // the second time the file already exists
			if r := try(o); !r.Done || r.Bytes != 300_000 {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if content(t, o) != text {
			t.Errorf("%s: another content", name)
		}
		if left, _ := os.ReadDir(o.Root); len(left) != 1 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
	if len(f.ranges) != 2 {
		t.Errorf("asked %d times: want once for each order", len(f.ranges))
	}
	o := orderOf(t, served(t, f.ServeHTTP)+"/data")
	o.SHA256 = sumOf("other")
	r := try(o)
	if r.Done || r.Again || !strings.Contains(r.Trouble, "its SHA-256 is "+sumOf(text)) || content(t, o) != "" {
		t.Errorf("of another checksum: %+v", r)
	}
}

func TestGet_GoesOnWhereItBrokeOff(t *testing.T) {
	text := letters(1_000_000, "x")
	f := &file{text: text, tag: `"1"`, cut: 400_000}
	o := orderOf(t, served(t, f.ServeHTTP))
	var reports []Report
	for len(reports) < 10 {
		r := try(o)
		reports = append(reports, r)
		if r.Done {
			break
		}
		if !r.Again || r.Total != 1_000_000 || content(t, o) != "" {
			t.Errorf("%+v", r)
		}
	}
	if len(reports) != 3 || content(t, o) != text {
		t.Errorf("%+v", reports)
	}
	if f.ranges[0] != "" || !strings.HasPrefix(f.ranges[1], "bytes=") || f.ranges[2] == f.ranges[1] {
		t.Errorf("asked for %q", f.ranges)
	}
}

func TestGet_AFileThatChangedBeginsAnew(t *testing.T) {
	for name, tags := range map[string][2]string{
		"another ETag": {`"1"`, `"2"`}, "a weak one": {`W/"1"`, `W/"1"`}, "none": {"", ""}, "no more": {`"1"`, ""},
	} {
		f := &file{text: letters(1_000_000, "x"), tag: tags[0], cut: 400_000}
		o := orderOf(t, served(t, f.ServeHTTP))
		if r := try(o); r.Done {
			t.Errorf("%s: %+v", name, r)
		}
		f.mu.Lock()
		f.text, f.tag, f.cut = letters(1_000_000, "y"), tags[1], 0
		f.mu.Unlock()
		if r := try(o); !r.Done || content(t, o) != f.text {
			t.Errorf("%s: %+v; asked for %q", name, r, f.ranges)
		}
	}
}

// A server may send a wrong answer when the child requests the rest of a file. The fetched file is nevertheless one
// complete version of the file and never a mixture.
func TestGet_NeverAMixture(t *testing.T) {
	type lie struct {
		name string
		h    http.HandlerFunc
	}
	all := letters(1000, "y")
	part := func(contentRange, tag, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") == "" {
				fmt.Fprint(w, all)
				return
			}
			w.Header().Set("Content-Range", contentRange)
			w.Header().Set("ETag", tag)
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, body)
		}
	}
	for _, l := range []lie{
		{"of another state", part("bytes 400-999/1000", `"2"`, all[400:])},
		{"of another length", part("bytes 400-1999/2000", `"1"`, all[400:])},
		{"from another place", part("bytes 300-999/1000", `"1"`, all[300:])},
		{"without a place", part("", `"1"`, all[400:])},
		{"of a bad place", part("bytes 400-/1000", `"1"`, all[400:])},
		{"in many parts", part("multipart/byteranges", `"1"`, all[400:])},
		{"not satisfiable", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			fmt.Fprint(w, all)
		}},
		{"all of it", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, all) }},
	} {
		var now atomic.Pointer[http.HandlerFunc]
		first := http.HandlerFunc((&file{text: letters(1000, "x"), tag: `"1"`, cut: 400}).ServeHTTP)
		now.Store(&first)
		o := orderOf(t, served(t, func(w http.ResponseWriter, r *http.Request) { (*now.Load())(w, r) }))
		if r := try(o); r.Done || r.Bytes == 0 {
			t.Fatalf("%s: %+v", l.name, r)
		}
		now.Store(&l.h)
		if r := try(o); !r.Done || content(t, o) != all {
			t.Errorf("%s: %+v: %.20q", l.name, r, content(t, o))
		}
	}
	// The request is redirected to the same path on another server.
	other := &file{text: all, tag: `"1"`}
	target := served(t, other.ServeHTTP)
	one := &file{text: letters(1000, "x"), tag: `"1"`, cut: 400}
	var away atomic.Bool
	o := orderOf(t, served(t, func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Redirect(w, r, target+"/", http.StatusFound)
			return
		}
		one.ServeHTTP(w, r)
	}))
	try(o)
	away.Store(true)
	if r := try(o); !r.Done || content(t, o) != all {
		t.Errorf("after a redirect: %+v: %.20q", r, content(t, o))
	}
	// If the server sends a wrong range, the checksum differs, and the whole file is fetched again.
	o = orderOf(t, served(t, part("bytes 400-999/1000", `"1"`, all[400:])))
	o.SHA256 = sumOf(all)
	p, _, _, err := openPartial(o.Root, o.File)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(p.begin(state{Address: o.URL, ETag: `"1"`, Total: 1000}), p.write([]byte(letters(400, "x"))))
	p.Address = strings.TrimSuffix(o.URL, "/")
	if err = errors.Join(err, p.sync()); err != nil {
		t.Fatal(err)
	}
	p.close()
	if r := try(o); !r.Done || content(t, o) != all {
		t.Errorf("by its checksum: %+v: %.20q", r, content(t, o))
	}
}

// The server changes the file at any time and breaks off answers anywhere, as servers that follow RFC 9110 may do. A
// fetched file must be exactly one state of the file.
func TestGet_IsOneStateOfTheFile(t *testing.T) {
	dir := t.TempDir()
	var f atomic.Pointer[file]
	url := served(t, func(w http.ResponseWriter, r *http.Request) { f.Load().ServeHTTP(w, r) })
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		o := Defaults().Order(&jjm.Input{Path: url}, "")
		o.Root, o.File, o.Networks = dir, strconv.Itoa(n), loopback
		states := map[string]bool{}
		version := 0
		for range 20 {
			if rapid.IntRange(0, 2).Draw(rt, "change") == 0 || version == 0 {
				version++
			}
			text := letters(rapid.IntRange(0, 2).Draw(rt, "longer")*100+2000, string(rune('a'+version)))
			s := &file{text: text, cut: rapid.IntRange(0, 2500).Draw(rt, "cut")}
			if rapid.Bool().Draw(rt, "tagged") {
				s.tag = `"` + sumOf(text) + `"`
			}
			states[text] = true
			f.Store(s)
			if r := try(o); r.Done {
				if got := content(rt, o); !states[got] {
					rt.Fatal("it is no state of the file:", got[:40], got[len(got)-40:])
				}
				return
			}
		}
	})
}
