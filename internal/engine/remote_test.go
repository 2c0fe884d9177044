package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/sys/fetch"
	"jjm/internal/testkit/needs"
)

// servers replaces the child process that fetches inputs from URLs, together with the servers that the child contacts.
type servers struct {
	mu     sync.Mutex
	orders []fetch.Order
	now    int // orders in progress
	most   int
	// answer returns the report for the n-th order; if answer is nil, every file is fetched.
	answer func(ctx context.Context, o fetch.Order, n int) fetch.Report
}

var there = fetch.Report{Done: true}

func (s *servers) fetch(ctx context.Context, o fetch.Order) (fetch.Report, error) {
	s.mu.Lock()
	s.orders = append(s.orders, o)
	n := len(s.orders)
	s.now++
	s.most = max(s.most, s.now)
	answer := s.answer
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.now--; s.mu.Unlock() }()
	r := there
	if answer != nil {
		r = answer(ctx, o, n)
	}
	if ctx.Err() != nil {
		return fetch.Report{}, jjm.Errorf(jjm.Busy, "stopped: %w", ctx.Err())
	}
	if r.Done {
		text := "of " + o.URL
		r.Bytes = int64(len(text))
		if err := os.WriteFile(filepath.Join(o.Root, o.File), []byte(text), 0o600); err != nil {
			return fetch.Report{}, jjm.Errorf(jjm.Busy, "%w", err)
		}
	}
	return r, nil
}

// asked returns the number of orders so far.
func (s *servers) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.orders)
}

// never is an answer that returns only when the order is withdrawn.
func never(ctx context.Context, _ fetch.Order, _ int) fetch.Report {
	<-ctx.Done()
	return fetch.Report{}
}

// failing is an answer that reports a failure of the server.
func failing(context.Context, fetch.Order, int) fetch.Report {
	return fetch.Report{Trouble: "the server answers 503 Service Unavailable", Again: true}
}

// from returns a job file of n local jobs with inputs from URLs.
func from(n int, urls ...string) string {
	var lines []string
	for _, url := range urls {
		lines = append(lines, "[[inputs]]", `path = "`+url+`"`)
	}
	return mc(n, lines...)
}

// packedFiles returns the files of all of alice's packages, by name.
func (w *world) packedFiles() map[string]string {
	files := map[string]string{}
	paths, _ := filepath.Glob(filepath.Join(w.dir, "work/alice/packages/*/*"))
	for _, path := range paths {
		b, err := os.ReadFile(path)
		w.must(err)
		files[filepath.Base(path)] = string(b)
	}
	return files
}

// fetched returns the folders for fetched inputs that still exist.
func (w *world) fetched() []string {
	left, _ := filepath.Glob(filepath.Join(w.dir, "work/*/jobs/*/fetch"))
	return left
}

func TestRemote_InputsAreFetchedOnceAndPacked(t *testing.T) {
	t.Parallel()
	var s servers
	inWorld(t, options{fetch: s.fetch}, func(t *testing.T, w *world) {
		w.must(os.WriteFile(filepath.Join(w.dir, "local"), []byte("here"), 0o644))
		id := w.submit(alice, mc(3, `inputs = [{path = "https://h/a/cards.txt?v=1"}, {path = "local"}, {path = "https://h/b"},`,
			`{path = "https://h/b", name = "c"}]`))
		w.final(time.Hour, id)
		w.verify(id, done(3))
		want := map[string]string{"cards.txt": "of https://h/a/cards.txt?v=1", "b": "of https://h/b", "c": "of https://h/b",
			"local": "here"}
		if got := w.packedFiles(); !maps.Equal(got, want) || s.asked() != 2 {
			t.Errorf("asked %d times; packed %v", s.asked(), got)
		}
		if left := w.fetched(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		w.verifyQuiet()
	})
}

func TestRemote_APermanentErrorBreaksTheGridJob(t *testing.T) {
	t.Parallel()
	s := servers{answer: func(context.Context, fetch.Order, int) fetch.Report {
		return fetch.Report{Trouble: "the server answers 404 Not Found: correct the path"}
	}}
	inWorld(t, options{fetch: s.fetch}, func(t *testing.T, w *world) {
		id := w.submit(alice, from(3, "https://h/b?x=1"))
		w.final(time.Hour, id)
		w.verify(id, want{status: jjm.Broken, gram: jjm.GRAMFailed, jobs: 0})
		l := w.lookup(id)
		want := "inputs[0]: https://h/b?...: the server answers 404 Not Found"
		if !strings.Contains(l.Message, want) || s.asked() != 1 {
			t.Errorf("asked %d times: %s", s.asked(), l.Message)
		}
		if left := w.fetched(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		w.verifyQuiet()
	})
}

func TestRemote_ErrorsAreShownAndRetried(t *testing.T) {
	t.Parallel()
	s := servers{answer: func(ctx context.Context, o fetch.Order, n int) fetch.Report {
		if n < 5 {
			return failing(ctx, o, n)
		}
		return there
	}}
	inWorld(t, options{fetch: s.fetch}, func(t *testing.T, w *world) {
		id := w.submit(alice, from(2, "https://h/b"))
		w.until(time.Minute, "the third try", func() bool { return s.asked() == 3 })
		w.pass(time.Second)
		l := w.lookup(id)
		if l.Status != "pending" || l.GRAM == jjm.GRAMFailed || !strings.Contains(l.Message, "inputs[0]: https://h/b: ") ||
			!strings.Contains(l.Message, "503 Service Unavailable; try 4 of 10 is at ") {
			t.Errorf("%s (%d): %s", l.Status, l.GRAM, l.Message)
		}
		w.final(time.Hour, id)
		w.verify(id, done(2))
		if s.asked() != 5 {
			t.Errorf("asked %d times", s.asked())
		}
		w.verifyQuiet()
	})
}

// If a server asks to wait (Retry-After), jjm repeats the fetch after this time, within a limit.
func TestRemote_AServerIsLeftAloneAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	s := servers{answer: func(_ context.Context, _ fetch.Order, n int) fetch.Report {
		if n > 1 {
			return there
		}
		return fetch.Report{Again: true, Wait: jjm.Duration(10 * time.Minute),
			Trouble: "the server answers 429 Too Many Requests"}
	}}
	inWorld(t, options{fetch: s.fetch}, func(t *testing.T, w *world) {
		id := w.submit(alice, from(1, "https://h/b"))
		w.pass(9 * time.Minute)
		if s.asked() != 1 {
			t.Errorf("asked %d times within 9 minutes", s.asked())
		}
		w.final(time.Hour, id)
		w.verify(id, done(1))
	})
}

// tries limits the number of attempts to fetch a file without progress. An attempt that fetched much does not count.
func TestSetting_FetchTries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more        int64
		asked, most int
	}{"in vain": {100, 4, 4}, "with progress": {2 << 20, 5, 1 << 30}} {
		s := servers{answer: func(ctx context.Context, o fetch.Order, n int) fetch.Report {
			r := failing(ctx, o, n)
			r.Bytes = c.more * int64(n)
			return r
		}}
		o := options{fetch: s.fetch, config: with(func(c *engine.Config) { c.Fetch.Tries = 4 })}
		inWorld(t, o, func(t *testing.T, w *world) {
			id := w.submit(alice, from(1, "https://h/b"))
			w.until(time.Hour, "some tries", func() bool { return s.asked() >= c.asked })
			w.pass(10 * time.Minute)
			over := w.lookup(id).Status == "broken"
			if over != (name == "in vain") || s.asked() > c.most ||
				over && !strings.Contains(w.lookup(id).Message, "4 tries were in vain (engine.fetch.tries)") {
				t.Errorf("%s: %d tries: %+v", name, s.asked(), w.lookup(id))
			}
		})
	}
}

// The site's settings reach the child process, and also the number of bytes left of max_input_bytes.
func TestSetting_FetchReachesTheChild(t *testing.T) {
	t.Parallel()
	networks := []string{"10.0.0.0/8"}
	for _, c := range []struct {
		set  fetch.Config
		all  int64
		want fetch.Order
	}{
		{fetch.Config{MaxBytes: 77, MaxTime: jjm.Duration(time.Hour), MinRate: 5, Networks: networks, Certificates: "/ca"}, 0,
			fetch.Order{MaxBytes: 77, MaxTime: jjm.Duration(time.Hour), MinRate: 5, Networks: networks, Certificates: "/ca"}},
		{fetch.Config{MaxBytes: 1000, MaxTime: jjm.Duration(time.Minute)}, 20,
			fetch.Order{MaxBytes: 6, MaxTime: jjm.Duration(time.Minute)}},
	} {
		var s servers
		o := options{fetch: s.fetch, config: with(func(e *engine.Config) {
			e.Fetch, e.MaxInputBytes = c.set, c.all
			e.Fetch.Tries, e.Fetch.ParallelPerUser = 1, 1
		})}
		inWorld(t, o, func(t *testing.T, w *world) {
			id := w.submit(alice, from(1, "https://h/a", "https://h/b"))
			w.final(time.Hour, id)
			last := s.orders[len(s.orders)-1]
			if last.MaxBytes != c.want.MaxBytes || last.MaxTime != c.want.MaxTime || last.MinRate != c.want.MinRate ||
				fmt.Sprint(last.Networks) != fmt.Sprint(c.want.Networks) || last.Certificates != c.want.Certificates {
				t.Errorf("the last order is %+v", last)
			}
		})
	}
}

// parallel_per_user limits the number of files that are fetched simultaneously for an account; 0 allows none.
func TestSetting_FetchParallelPerUser(t *testing.T) {
	t.Parallel()
	for _, most := range []int{0, 1, 3} {
		s := servers{answer: func(context.Context, fetch.Order, int) fetch.Report {
			time.Sleep(10 * time.Second)
			return there
		}}
		o := options{fetch: s.fetch, config: with(func(c *engine.Config) { c.Fetch.ParallelPerUser = most })}
		inWorld(t, o, func(t *testing.T, w *world) {
			var ids []jjm.GridID
			for n := range 6 {
				got, err := w.trySubmit(alice, "", from(1, fmt.Sprintf("https://h/%d", n)))
				if most == 0 {
					if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "inputs[0].path: https://h/") {
						t.Errorf("%+v, %v", got, err)
					}
					continue
				}
				w.must(err)
				ids = append(ids, got.ID)
			}
			w.final(time.Hour, ids...)
			if s.most != most {
				t.Errorf("parallel_per_user = %d: %d at once", most, s.most)
			}
		})
	}
}

// Servers that never finish delay the grid jobs that name them and a few more of the same
// account that name servers, but nothing else.
func TestRemote_HostileServersDelayOnlyTheirGridJobs(t *testing.T) {
	t.Parallel()
	s := servers{answer: func(ctx context.Context, o fetch.Order, n int) fetch.Report {
		if strings.Contains(o.URL, "hostile") {
			return never(ctx, o, n)
		}
		return there
	}}
	inWorld(t, options{fetch: s.fetch, account: service}, func(t *testing.T, w *world) {
		var stuck []jjm.GridID
		for range 40 {
			stuck = append(stuck, w.submit(alice, from(1, "https://hostile/a")))
		}
		w.pass(time.Minute)
		good, plain := w.submit(bob, from(2, "https://h/a")), w.submit(alice, mc(2))
		w.final(10*time.Minute, good, plain)
		w.verify(good, done(2))
		if s.most > 5 {
			t.Errorf("%d were fetched at once: want 4 of one account, 1 of the other", s.most)
		}
		for _, id := range stuck {
			w.kill(id.String())
		}
		w.final(10*time.Minute, stuck...)
		if s.running() != 0 {
			t.Errorf("%d orders are under way", s.running())
		}
		w.verifyQuiet()
	})
}

// A kill of the grid job, a pause, and a stop of the daemon end a fetch. After a resume or a restart the fetch is
// repeated.
func TestRemote_AKillAPauseAndAStopEndIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop   func(*world, jjm.GridID)
		goesOn func(*world, jjm.GridID)
	}{
		"kill": {func(w *world, id jjm.GridID) { w.kill(id.String()) }, nil},
		"pause": {func(w *world, id jjm.GridID) {
			w.give(wire.Order{Verb: "pause", Kind: "job", Name: id.String(), Reason: "test"})
		}, func(w *world, id jjm.GridID) { w.give(wire.Order{Verb: "resume", Kind: "job", Name: id.String()}) }},
		"stop": {func(w *world, _ jjm.GridID) { w.shut() }, func(w *world, _ jjm.GridID) { w.open() }},
	} {
		t.Run(name, func(t *testing.T) {
			s := servers{answer: never}
			inWorld(t, options{fetch: s.fetch}, func(t *testing.T, w *world) {
				id := w.submit(alice, from(2, "https://h/a"))
				w.until(time.Minute, "it is asked for", func() bool { return s.asked() == 1 })
				c.stop(w, id)
				w.until(time.Minute, "nothing is fetched any more", func() bool { return s.running() == 0 })
				if c.goesOn == nil {
					w.final(time.Hour, id)
					w.verify(id, ends(jjm.Aborted, 0, nil))
					return
				}
				s.mu.Lock()
				s.answer = nil
				s.mu.Unlock()
				c.goesOn(w, id)
				w.final(time.Hour, id)
				w.verify(id, done(2))
				if s.asked() != 2 {
					t.Errorf("asked %d times", s.asked())
				}
			})
		})
	}
}

func (s *servers) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// The daemon dies before or after it makes the package. The next daemon does not fetch the files again that it has
// already. Attempts of local jobs never fetch.
func TestRemote_NothingIsFetchedTwice(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"prepare.packed", "prepare.before-commit", "prepare.after-commit"} {
		var s servers
		c := &crasher{}
		inWorld(t, options{fetch: s.fetch, crash: c}, func(t *testing.T, w *world) {
			c.arm(point)
			id := w.submit(alice, from(3, "https://h/cards.txt", "https://h/b"))
			w.until(time.Hour, "the crash", c.isDead)
			w.reopen()
			w.final(time.Hour, id)
			w.verify(id, done(3))
			if s.asked() != 2 {
				t.Errorf("%s: asked %d times for 2 inputs", point, s.asked())
			}
			if got := w.packedFiles(); got["cards.txt"] != "of https://h/cards.txt" || got["b"] != "of https://h/b" {
				t.Errorf("%s: packed %v", point, got)
			}
			if left := w.fetched(); len(left) > 0 {
				t.Errorf("%s: left behind: %v", point, left)
			}
		})
	}
}

// The file with the credential for a server is read with its owner's rights, at the submission and again at each use.
// Only the child process gets its text.
func TestRemote_TheCredentialFileIsReadAsTheOwner(t *testing.T) {
	t.Parallel()
	needs.Root(t, "to make files of several accounts")
	var s servers
	inWorld(t, options{fetch: s.fetch, account: service}, func(t *testing.T, w *world) {
		w.must(os.Chmod(w.dir, 0o755))
		put := func(name, text string, uid int) {
			path := filepath.Join(w.dir, name)
			w.must(os.WriteFile(path, []byte(text), 0o600))
			w.must(os.Chown(path, uid, uid))
		}
		put("alices", "geheim\n", 0)
		put("bobs", "bobs-token\n", bob.UID)
		put("bad", "two\nlines\n", bob.UID)
		job := func(file string) string {
			return mc(1, "[[inputs]]", `path = "https://h/a"`, `credential_file = "`+file+`"`)
		}
		for file, want := range map[string]string{"alices": "permission denied", "missing": "no such file",
			"bad": "has several lines"} {
			_, err := w.trySubmit(bob, "", job(file))
			if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "inputs[0].credential_file: ") ||
				!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("%s: %v", file, err)
			}
		}
		id := w.submit(bob, job("bobs"))
		w.final(time.Hour, id)
		w.verify(id, done(1))
		if len(s.orders) != 1 || s.orders[0].Credential != "bobs-token\n" {
			t.Errorf("%+v", s.orders)
		}
		if strings.Contains(w.logs.tail(1<<30), "bobs-token") || strings.Contains(w.describe(id), "bobs-token") {
			t.Error("the token is shown")
		}
		// The credential file gets another owner after the submission.
		s.answer = func(ctx context.Context, _ fetch.Order, _ int) fetch.Report { return failing(ctx, fetch.Order{}, 0) }
		id = w.submit(bob, job("bobs"))
		w.until(time.Minute, "a try", func() bool { return s.asked() == 2 })
		w.must(os.Chown(filepath.Join(w.dir, "bobs"), 0, 0))
		w.final(time.Hour, id)
		l := w.lookup(id)
		if l.Status != "broken" || !strings.Contains(l.Message, "inputs[0]: https://h/a: credential_file: ") {
			t.Errorf("%s: %s", l.Status, l.Message)
		}
	})
}

func TestRemote_RefusesInvalidURLsAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		for url, want := range map[string]string{
			"http://127.0.0.1/a":                "inputs[0].path: http://127.0.0.1/a: 127.0.0.1 is not a public address (this host)",
			"http://169.254.169.254/latest/a":   "link-local",
			"https://[fd00::1]/a":               "fd00::1 is not a public address (private)",
			"https://u:p@h/a":                   "credential_file",
			"gsiftp://h/a":                      "http and https",
			"http://[::ffff:10.0.0.1]/metadata": "10.0.0.1 is not a public address (private)",
		} {
			_, err := w.trySubmit(alice, "", from(1, url))
			if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", url, err)
			}
		}
		rows := "type = \"script\"\n[params]\ncommand = [\"run\", \"{args}\"]\nargs_file = \"https://h/rows\"\n"
		_, err := w.trySubmit(alice, "", rows)
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "is a URL") {
			t.Errorf("rows of a URL: %v", err)
		}
	})
}

func TestRemote_ADryRunSaysWhatWouldBeFetched(t *testing.T) {
	t.Parallel()
	var s servers
	inWorld(t, options{fetch: s.fetch}, func(t *testing.T, w *world) {
		got, err := w.engine.Submit(context.Background(), alice, wire.Submit{Name: "j.toml", Text: from(2, "https://h/a?v=2"),
			BaseDir: w.dir, DryRun: true})
		w.must(err)
		w.pass(time.Minute)
		want := "inputs[0]: a would be fetched from https://h/a?...; it may have 4294967296 bytes"
		if len(got.Plan.Fetch) != 1 || got.Plan.Fetch[0] != want || s.asked() != 0 {
			t.Errorf("%q; asked %d times", got.Plan.Fetch, s.asked())
		}
	})
}

// A fetched file that is removed before it is packed is fetched again.
func TestRemote_AMissingFileIsFetchedAgain(t *testing.T) {
	t.Parallel()
	var s servers
	w0 := make(chan *world, 1)
	s.answer = func(_ context.Context, o fetch.Order, n int) fetch.Report {
		if n == 2 { // the first file disappears while the second is fetched
			w := <-w0
			w.must(errors.Join(os.Remove(filepath.Join(s.orders[0].Root, s.orders[0].File))))
		}
		return there
	}
	inWorld(t, options{fetch: s.fetch}, func(t *testing.T, w *world) {
		w0 <- w
		id := w.submit(alice, from(1, "https://h/a", "https://h/b"))
		w.final(time.Hour, id)
		w.verify(id, done(1))
		if s.asked() != 3 {
			t.Errorf("asked %d times", s.asked())
		}
	})
}
