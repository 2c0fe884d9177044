package house_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The result of a test must not depend on the speed of the machine. A test does not compare how long something took,
// and a guard against a hang lasts minutes (await.Guard). Three comments mark exceptions, on the same line or above it:
// "provoked: why" marks a time that must pass on every machine, such as the deadline of a command that the test lets
// hang, "pause: why" marks a pause between two checks, and "figure: why" a time that decides nothing.
func TestClocks_NoVerdictDependsOnOne(t *testing.T) {
	inTree(t)
	files := 0
	dirs, all := map[string][]string{}, module{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if path = filepath.ToSlash(path); err == nil && strings.HasSuffix(path, ".go") {
			if ofTests(path) {
				files++
			}
			dirs[filepath.Dir(path)] = append(dirs[filepath.Dir(path)], path)
		}
		return err
	})
	for _, paths := range dirs {
		c := newClocks(all)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err = cmp.Or(err, c.add(path, string(text), ofTests(path))); err != nil {
				t.Error(err)
			}
		}
		for _, f := range c.find() {
			t.Errorf("%s", f)
		}
	}
	if err != nil || files < 300 {
		t.Errorf("%d files seen, %v: the test does not see the house", files, err)
	}
}

// ofTests reports whether a file is a test or a helper of tests. The package await is the place of the guards.
func ofTests(path string) bool {
	if !strings.HasSuffix(path, ".go") || strings.HasPrefix(path, "internal/testkit/await/") {
		return false
	}
	return strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/testkit/") ||
		// The program that runs the tests may measure time, because it only reports the figures.
		strings.HasPrefix(path, "test/") && !strings.HasPrefix(path, "test/tiers/")
}

func TestClocks_EachWayIsFound(t *testing.T) {
	inTree(t)
	for _, c := range []struct {
		text string
		want int
	}{
		{`func F(t0 time.Time) bool { return time.Since(t0) > time.Hour }`, 1},
		{`func F(t0 time.Time) bool { return time.Hour < time.Now().Sub(t0) }`, 1},
		{`func F(t0 time.Time) bool { took := time.Since(t0); return took > time.Hour }`, 1},
		{`func F(t0, b time.Duration) bool { b = min(b, time.Since(t0)); return 3*b > time.Hour }`, 1},
		{`func F() { until(ctx, "it answers", 20*time.Second, nil); s.await("x", time.Second, nil) }`, 2},
		{`func F() bool { b := childrenCPU(); return childrenCPU()-b > time.Hour }`, 1},
		{`func F() bool { return cmd.ProcessState.UserTime() > time.Hour }`, 1},
		{`func F(t0 time.Time) bool { return time.Since(t0) < time.Second } // provoked: the job sleeps 1 s`, 0},
		{`func F(t0 time.Time) { t.Log(time.Since(t0)) }`, 0},
		{`func F(t0 time.Time) time.Duration { return time.Since(t0) }`, 1},
		{`func F(t0 time.Time) time.Duration { took := time.Since(t0); return took }`, 1},
		{"// figure: for the log\nfunc F(t0 time.Time) time.Duration { return time.Since(t0) }", 0},
		{`func F(t0 time.Time) bool { now := time.Now(); ok := now.Sub(t0) > time.Hour; return ok }`, 1},
		{`func F(b *testing.B) bool { return b.Elapsed() > time.Hour || r.NsPerOp() > 5 }`, 2},
		{`func F() bool { return ru.Utime.Sec > 5 }`, 1},
		{`func F() { context.WithDeadline(ctx, time.Now().Add(time.Second)) }`, 1},
		{`func F() { net.DialTimeout("unix", path, 5*time.Second) }`, 1},
		{`func F() { context.WithTimeout(ctx, time.Minute/12); context.WithTimeout(ctx, 5e9) }`, 2},
		{`func F() { c.Deadline *= 2 }`, 0},
		{`func F() { context.WithTimeout(ctx, 59 * time.Second) }`, 1},
		{`func F() { context.WithTimeout(ctx, time.Second) }`, 1},
		{`func F() { context.WithTimeout(ctx, time.Duration(300) * time.Millisecond) }`, 1},
		{`func F() { context.WithTimeout(ctx, time.Second) } // provoked: the command hangs`, 0},
		{`func F() { context.WithTimeout(ctx, await.Guard(time.Minute)) }`, 0},
		{`func F() { context.WithTimeout(ctx, time.Minute) }`, 0},
		{`func F() { <-time.After(2 * time.Second); time.NewTimer(time.Second); time.AfterFunc(1, nil) }`, 3},
		{`const soon = 2 * time.Second; func F() { <-time.After(soon) }`, 1},
		{"// provoked: the socket is closed\nconst soon = 2 * time.Second\nfunc F() { <-time.After(soon) }", 0},
		{"const (\n// pause: between two looks\nsoon = time.Second\nlater = time.Second\n)\nfunc F() { <-time.After(later) }", 1},
		{`func F() { const soon = 2 * time.Second; <-time.After(soon) }`, 1},
		{"func F() {\n\tsoon := time.Second\n\tcontext.WithTimeout(ctx, soon)\n}", 1},
		{"func F() {\n\tsoon := time.Second // provoked: it hangs\n\tcontext.WithTimeout(ctx, soon)\n}", 0},
		{`func F() { for end := time.Now().Add(5*time.Second); ; time.Sleep(time.Second) { } }`, 1},
		{`func F() { for end := time.Now().Add(5*time.Minute); ; time.Sleep(time.Second) { } }`, 0},
		{`func F() { end := time.Now().Add(time.Second); for time.Now().Before(end) { } }`, 1},
		{`func F() { end := time.Now().Add(time.Second); if x.After(end) { } }`, 0},
		{`func F() { c.SetReadDeadline(time.Now().Add(time.Second)) }`, 1},
		{`var c = run.Cmd{Deadline: time.Second, Other: time.Second}`, 1},
		{`func F() { c.Timeout = 20*time.Second; c.X, c.Deadline = 1, jjm.Duration(time.Second) }`, 2},
		{`var a, b = run.Cmd{Argv: argv, Deadline: await.Guard(time.Minute)}, run.Cmd{}`, 0},
		{`var c = run.Cmd{Argv: argv}`, 1},
		{"var c = run.Cmd{\n\tDeadline: time.Second, // provoked: it hangs\n}", 0},
		{`var c = System{Patience: 2*time.Second}`, 1},
		{`const patience = 4 * time.Minute; const aliveWithin = 4 * time.Minute`, 2},
		{`var patience = await.Guard(4 * time.Minute)`, 0},
		{`import "testing/synctest"; func F(t0 time.Time) bool { return time.Since(t0) > time.Hour }`, 1},
		{`func F() { synctest.Test(t, func(t *testing.T) { if time.Since(t0) > time.Hour { } }) }`, 0},
		{`func F() { synctest.Test(t, func(t *testing.T) { }); if time.Since(t0) > time.Hour { } }`, 1},
		{`func In(t *testing.T, f func()) { synctest.Test(t, func(t *testing.T) { f() }) }
			func F() { In(t, func() { if took() > time.Hour { } }) }
			func G() { if time.Since(t0) > time.Hour { } }
			func took() time.Duration { return time.Since(t0) }`, 1},
		{`func F() { synctest.Test(t, func(t *testing.T) { took() }); took() }
			func took() time.Duration { return time.Since(t0) }`, 1},
		{`func F() { synctest.Wait(); if time.Since(t0) > time.Hour { } }`, 0},
		{`func F() { for i := 0; i < 50; i++ { if ok() { return }; time.Sleep(d) }; t.Fatal() }`, 1},
		{`func F() { for range 50 { if ok() { return }; <-time.After(d) }; t.Fatal() }`, 1},
		{`const n = 50; func F() { for range n { if ok() { break }; <-tick.C } }`, 1},
		{`func F() { for i := 0; !ok() && i < 50; i++ { time.Sleep(d) } }`, 1},
		{`func F() { for i := 50; i > 0; i-- { if ok() { return }; time.Sleep(d) } }`, 1},
		{`func F() { for n := 0; ; n++ { if n > 50 { t.Fatal() }; if ok() { return }; time.Sleep(d) } }`, 1},
		{`func F() { done := false; for range 50 { done = ok(); time.Sleep(d) } }`, 1},
		{`func F() { for range 50 { if ok() { return } } }`, 0},
		{`func F() { for range 50 { ask(); time.Sleep(d) } }`, 0},
		{`func F() { for _, x := range all { if x { return }; time.Sleep(d) } }`, 0},
		{`func F() { for { if ok() { return }; time.Sleep(d) } }`, 0},
		{`func F() { for i := 0; i < 3; i++ { go func() { time.Sleep(d); return }() } }`, 0},
		{`import t2 "time"; func F(t0 t2.Time) bool { return t2.Since(t0) > t2.Hour }`, 1},
		{`import t2 "time"; func F() { <-t2.After(2 * t2.Second) }`, 1},
		{`import t2 "time"; func F() { <-t2.After(2 * t2.Minute) }`, 0},
		{`import . "time"; func F() { <-After(2 * Second) }`, 1},
		{`import c "context"; func F() { c.WithTimeout(ctx, time.Second) }`, 1},
		{`var since = time.Since`, 1},
		{`import "jjm/internal/jjm"; func F() { <-time.After(2 * time.Second * jjm.Odd) }`, 0},
		{`var a, soon = 1, 2 * time.Second; func F() { <-time.After(soon) }`, 1},
		{`const a = time.Second; const b = 2 * a; func F() { http.Get(http.Client{Timeout: b}) }`, 1},
		{`var argv = []string{"jjm", "--timeout", "3s"}; func F() { run("-timeout", "3s"); run("-timeout", "3m") }`, 2},
		{"func F() { sh(`timeout 5 qstat`) }", 1},
		{"func F() { sh(`timeout 5 qstat`) } // provoked: it hangs", 0},
		{`const n = 5; func F() { cmd.WaitDelay = n * time.Second }`, 1},
		{`const n = 5e9; func F() { <-time.After(n) }`, 1},
		{`const d = time.Second; func F(d time.Duration) { <-time.After(d) }`, 0},
	} {
		k := newClocks(module{})
		err := k.add("x_test.go", "package x\n"+c.text+"\n", true)
		if found := k.find(); err != nil || len(found) != c.want {
			t.Errorf("%s: found %q, error %v; want %d", c.text, found, err, c.want)
		}
	}
}
