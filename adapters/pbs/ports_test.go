package pbs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm"
	"jjm/adapters"
	"jjm/internal/await"
)

// clock is the clock of an adapter and of the host's ports. It stands still until a test moves
// it on.
type clock struct {
	t    testing.TB
	path string

	mu sync.Mutex
	at time.Time
}

// clock gives an adapter a clock. Its pauses between questions move the clock on.
func (s *site) clock(a *Adapter) *clock {
	s.t.Helper()
	c := &clock{t: s.t, path: filepath.Join(s.state, "clock"), at: time.Now()}
	c.advance(2 * time.Minute) // everything before is over
	a.env.Now = c.now
	a.pause = func(_ context.Context, d time.Duration) error { c.advance(d); return nil }
	return c
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	// A file that is written in place is empty for a moment.
	err := os.WriteFile(c.path+".new", []byte(c.at.Format(time.RFC3339Nano)), 0o666)
	if err == nil {
		err = os.Rename(c.path+".new", c.path)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// connection is a line of the fake's file connections.
type connection struct {
	at      time.Time
	n       int
	command string
}

func (s *site) connections() (all []connection) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.state, "connections"))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var c connection
		var nano int64
		if _, err := fmt.Sscanf(line, "%d %d", &nano, &c.n); err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		c.at = time.Unix(0, nano)
		c.command = strings.TrimSpace(strings.SplitN(line, " ", 3)[2])
		all = append(all, c)
	}
	return all
}

func (s *site) forgetConnections() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.state, "connections")); err != nil {
		s.t.Fatal(err)
	}
}

// wantCommand expects a command among those that reached the fake.
func (s *site) wantCommand(want string) {
	s.t.Helper()
	for _, c := range s.connections() {
		if c.command == want {
			return
		}
	}
	s.t.Errorf("%q was not among %+v", want, s.connections())
}

// wantFewPorts expects that no minute saw more than maxPorts connections.
func (s *site) wantFewPorts() {
	s.t.Helper()
	peak, all := 0, s.connections()
	for i := range all {
		sum := 0
		for k := i; k < len(all) && all[k].at.Sub(all[i].at) < time.Minute; k++ {
			sum += all[k].n
		}
		peak = max(peak, sum)
	}
	s.t.Logf("%d commands, %d connections in the worst minute", len(all), peak)
	if peak > maxPorts {
		s.t.Errorf("%d connections in a minute, want at most %d", peak, maxPorts)
	}
}

// held submits n plain jobs with one tag, without an adapter, and returns the tag.
func (s *site) held(n int) jjm.Tag {
	s.t.Helper()
	tag := s.bulk(1, "").Tag
	for left := n; left > 0; left -= 30 { // few enough for the deadline of one command
		s.do("/bin/sh", "-c", fmt.Sprintf(
			`i=0; while [ $i -lt %d ]; do %s/qsub -h -N %s </dev/null >/dev/null || exit 1; i=$((i+1)); done`,
			min(left, 30), adapters.Quote(s.bin), tag))
	}
	return tag
}

// cycles lists every ten seconds, and returns how many listings had all n jobs of a tag.
func (s *site) cycles(clk *clock, times, n int, tag jjm.Tag) (whole int) {
	s.t.Helper()
	for range times {
		l, err := s.a.List(await.Context(s.t, 6*time.Minute), s.owner, time.Now().Add(-time.Hour))
		if err != nil {
			s.wantKind("a cycle's listing", err, jjm.Busy)
			s.t.Logf("a cycle: %v", err)
		}
		found := 0
		for _, r := range l.Reports {
			if r.Tag == tag {
				found++
			}
		}
		if err == nil && found != n {
			s.t.Errorf("listed %d jobs without an error, want %d", found, n)
		}
		if found == n {
			whole++
		}
		clk.advance(10 * time.Second)
	}
	return whole
}

func TestPorts_AStartWithHundredsOfEndsUsesFew(t *testing.T) {
	s := newSite(t)
	tag := s.held(570)
	s.do("/bin/sh", "-c", fmt.Sprintf(`cd %s && ./qdel $(./qselect -N %s)`, adapters.Quote(s.bin), tag))
	s.a = s.adapter()
	clk := s.clock(s.a)
	s.forgetConnections()
	if got := s.cycles(clk, 12, 570, tag); got != 12 {
		t.Errorf("%d of 12 listings had all", got)
	}
	s.wantFewPorts()
}

// The listing of everything is too large, so that live jobs are asked for by id.
func TestPorts_ManyLiveBulksByIDUseFew(t *testing.T) {
	s := newSite(t)
	tag := s.held(24)
	s.a = s.adapter(little)
	clk := s.clock(s.a)
	s.fault("endless", true)
	s.forgetConnections()
	if got := s.cycles(clk, 14, 24, tag); got < 2 {
		t.Errorf("%d of 14 listings had all", got)
	}
	s.wantFewPorts()
}

// Two accounts share the budget, and both get their turn.
func TestPorts_TwoAccountsByIDUseFewTogether(t *testing.T) {
	s := newSite(t)
	tag := s.held(20)
	s.do("/bin/sh", "-c", fmt.Sprintf(
		`export FAKEPBS_USER=ann; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
			%s/qsub -h -N %s </dev/null >/dev/null || exit 1; done`, adapters.Quote(s.bin), tag))
	s.a = s.adapter(little)
	clk := s.clock(s.a)
	s.fault("endless", true)
	s.forgetConnections()
	me, ann := s.owner, jjm.Owner{UID: s.owner.UID, User: "ann"}
	whole := map[string]int{}
	for range 24 {
		for _, s.owner = range []jjm.Owner{me, ann} {
			whole[s.owner.User] += s.cycles(clk, 1, 20, tag)
		}
	}
	if whole[me.User] < 2 || whole["ann"] < 2 {
		t.Errorf("complete listings: %v", whole)
	}
	s.wantFewPorts()
}

func TestPorts_ARestartUsesFew(t *testing.T) {
	s := newSite(t)
	var tags []jjm.Tag
	var refs []adapters.Ref
	for range 30 {
		b := s.bulk(1, "exit 0")
		refs = append(refs, members(b, s.submit(b).ID)...)
		tags = append(tags, b.Tag)
	}
	s.good(adapters.Cancel, refs[:25]...)
	s.a = s.adapter()
	clk := s.clock(s.a)
	s.forgetConnections()
	s.cycles(clk, 1, 1, tags[0])
	found, err := s.a.Find(t.Context(), s.owner, tags)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Presence != adapters.Present {
			t.Errorf("found %+v", f)
		}
	}
	if ends, err := s.a.Account(t.Context(), s.owner, refs); err != nil || len(ends) != 25 {
		t.Errorf("accounted %d, error %v", len(ends), err)
	}
	s.control(adapters.HoldJobs, refs...)
	s.cycles(clk, 6, 1, tags[0])
	s.wantFewPorts()
}

// As recorded: exit 255, or two lines of complaint and exit 0.
func TestPorts_AHostWithoutPortsIsBusyAndAskedLess(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		t.Run(fmt.Sprintf("quiet=%v", quiet), func(t *testing.T) {
			s := newSite(t, "PORTS=6")
			tag := s.held(2)
			s.a = s.adapter(func(c *Config) { c.Dialect = "openpbs" })
			clk := s.clock(s.a)
			if quiet {
				s.fault("ports-quiet", true)
			}
			clk.advance(time.Minute)
			for range 6 {
				s.do("qselect")
			}
			_, err := s.a.List(t.Context(), s.owner, time.Now())
			s.wantKind("a listing without a port", err, jjm.Busy)
			if err == nil || !strings.Contains(err.Error(), "all reserved ports in use") || !adapters.IsLater(err) {
				t.Errorf("error %v", err)
			}
			if got := s.a.ports.limit(clk.now()); got >= idPorts {
				t.Errorf("the budget still is %d", got)
			}
			clk.advance(time.Minute)
			if got := s.cycles(clk, 1, 2, tag); got != 1 {
				t.Error("a minute later the jobs are not listed")
			}
		})
	}
}

func TestPorts_BudgetHoldsInEveryMinuteAndSecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p ports
		var all []portUse
		now := time.Unix(1_000_000, 0)
		for range rapid.IntRange(1, 200).Draw(t, "commands") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			if rapid.IntRange(0, 30).Draw(t, "ran out") == 0 {
				before := p.limit(now)
				if p.ranOut(now); p.limit(now) > before || p.limit(now) < leastPorts {
					t.Fatalf("the limit went from %d to %d", before, p.limit(now))
				}
			}
			n := rapid.IntRange(1, perSecond).Draw(t, "connections")
			if !p.affordable(now, n) {
				continue
			}
			for d := p.wait(now, n); d > 0; d = p.wait(now, n) {
				now = now.Add(d)
			}
			p.note(now, n)
			all = append(all, portUse{now, n})
		}
		for _, window := range []struct {
			of   time.Duration
			most int
		}{{portLife, idPorts}, {time.Second, perSecond}} {
			for i := range all {
				sum := 0
				for _, u := range all[i:] {
					if u.at.Sub(all[i].at) < window.of {
						sum += u.n
					}
				}
				if sum > window.most {
					t.Fatalf("%d connections within %v: %+v", sum, window.of, all)
				}
			}
		}
	})
}

func TestPorts_AClockThatIsSetBackDoesNotBlock(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var p ports
	p.note(now.Add(time.Hour), idPorts)
	if p.affordable(now, 1) || !p.affordable(now.Add(portLife), 1) {
		t.Errorf("%+v", p)
	}
}
