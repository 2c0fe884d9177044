package pbs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
)

// clock is a clock for an adapter and for the host's ports. It stands still until a test or a pause moves it.
type clock struct {
	t    testing.TB
	path string

	mu sync.Mutex
	at time.Time
}

// stopClock makes the adapters of a bed, and the host's ports, use a clock that stands still until a test or a pause
// moves it.
func (b *bed) stopClock() {
	b.t.Helper()
	if err := os.MkdirAll(b.state, 0o777); err != nil {
		b.t.Fatal(err)
	}
	b.clk = &clock{t: b.t, path: filepath.Join(b.state, "clock"), at: time.Now()}
}

// clock returns the clock of an adapter, and moves it to a time at which no port is in use.
func (s *site) clock(a *Adapter) *clock {
	s.t.Helper()
	s.clk.advance(2 * time.Minute)
	return s.clk
}

// pause moves the clock by d instead of waiting.
func (c *clock) pause(ctx context.Context, d time.Duration) error {
	c.advance(d)
	return ctx.Err()
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
	// The file is replaced as a whole, because a file that is being written is empty for a moment.
	err := os.WriteFile(c.path+".new", []byte(c.at.Format(time.RFC3339Nano)), 0o666)
	if err == nil {
		err = os.Rename(c.path+".new", c.path)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// connection is a line of the file in which the fake PBS records connections to its server: n connections by one
// command.
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

// wantCommand fails the test if a command did not reach the fake.
func (s *site) wantCommand(want string) {
	s.t.Helper()
	for _, c := range s.connections() {
		if c.command == want {
			return
		}
	}
	s.t.Errorf("%q was not among %+v", want, s.connections())
}

// wantFewPorts fails the test if there were more than maxPorts connections in any minute.
func (s *site) wantFewPorts() {
	s.t.Helper()
	if peak := s.worstMinute(); peak > maxPorts {
		s.t.Errorf("%d connections in a minute, want at most %d", peak, maxPorts)
	}
}

// worstMinute returns the largest number of connections in a minute.
func (s *site) worstMinute() (peak int) {
	s.t.Helper()
	all := s.connections()
	for i := range all {
		sum := 0
		for k := i; k < len(all) && all[k].at.Sub(all[i].at) < time.Minute; k++ {
			sum += all[k].n
		}
		peak = max(peak, sum)
	}
	s.t.Logf("%d commands, %d connections in the worst minute", len(all), peak)
	return peak
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

// cycles lists every ten seconds, and returns how many of the listings contained all n jobs of a tag.
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

// If the listing of all jobs is too large, the adapter looks up the live jobs by id. These lookups stay within the
// budget of ports.
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

// Two accounts that look up jobs by id share the budget of ports, and both accounts get complete listings.
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

// The fake imitates both recorded answers of a host without ports: exit code 255, or two lines of complaint and exit
// code 0.
func TestPorts_AHostWithoutPortsIsBusyAndAskedLess(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		t.Run(fmt.Sprintf("quiet=%v", quiet), func(t *testing.T) {
			s := newSite(t, "PORTS=6")
			tag := s.held(2)
			s.a = s.adapter(func(c *Config) { c.Dialect = "openpbs" })
			clk := s.clock(s.a)
			ask := func() error { _, err := s.a.List(t.Context(), s.owner, time.Now()); return err }
			if quiet { // this answer was recorded only for lookups by id
				s.fault("ports-quiet", true)
				ask = func() error { _, err := s.a.jobsByID(t.Context(), []string{"1", "2"}, false); return err }
			}
			clk.advance(time.Minute)
			for range 6 {
				s.do("qselect")
			}
			err := ask()
			s.wantKind("a question without a port", err, jjm.Busy)
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

// A recorded qstat that found no free port exited with 0. No recording shows this of a command that changes jobs.
// The test lets qrls and qdel exit with 0 without an effect: the adapter must not report a success.
func TestPorts_ACommandWithoutAPortIsNoSuccess(t *testing.T) {
	for op, name := range map[adapters.Op]string{adapters.Release: "qrls", adapters.Cancel: "qdel"} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			b := s.bulk(2, "exec sleep 600")
			refs := members(b, s.submit(b).ID)
			s.replace(name, `echo "pbs_iff: cannot connect to host
pbs_iff: all reserved ports in use" >&2`)
			answers, err := s.a.Control(t.Context(), s.owner, op, refs)
			if err == nil && (len(answers) != 2 || jjm.KindOf(answers[0]) != jjm.Busy || jjm.KindOf(answers[1]) != jjm.Busy) {
				t.Errorf("answers %v", answers)
			}
			if err != nil {
				s.wantKind("a command without a port", err, jjm.Busy)
			}
		})
	}
}

// After the host ran out of ports, fewer cancels are sent than before. Some cancels are always sent, however many
// ports the other commands use.
func TestPorts_CancelsBecomeSlowerWhenPortsRunOut(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	inAMinute := func(p ports) (sent int) {
		for at := now; at.Before(now.Add(portLife)); at = at.Add(time.Second / qdelsPerSecond) {
			if wait, room := p.take(at, cancelling, 1, nil); room && wait == 0 {
				sent++
			}
		}
		return sent
	}
	var p ports
	before := inAMinute(ports{})
	for range 3 {
		now = now.Add(time.Second)
		p.ranOut(now, now)
		busy := ports{less: p.less, until: p.until}
		busy.note(now, ordinary, max(p.most(now, ordinary), p.most(now, submission)))
		idle := inAMinute(ports{less: p.less, until: p.until})
		if idle >= before || inAMinute(busy) < 10 {
			t.Errorf("less %d: %d cancels in a minute after %d, and %d beside other commands", p.less, idle, before,
				inAMinute(busy))
		}
		if p.most(now, confirming) <= p.most(now, cancelling) {
			t.Error("no port is left for the listing that confirms a cancel")
		}
		before = idle
	}
	now = now.Add(portRest)
	if got := inAMinute(ports{less: p.less, until: p.until}); got != cancelPorts-confirmPorts {
		t.Errorf("%d cancels in a minute after the rest", got)
	}
}

// Four qdel run at the same time. If none of them finds a free port, the budget of ports shrinks once, not four
// times.
func TestPorts_OneShortageShrinksTheBudgetOnce(t *testing.T) {
	s := newSite(t)
	b := s.bulk(9, "exec sleep 600")
	refs := scattered(members(b, s.submit(b).ID), deletesAtOnce)
	s.a.dialect = openpbs // set here, because otherwise the first command would ask for the dialect
	clk := s.clock(s.a)
	s.replace("qdel", `touch "$state/sent.$$"
until [ "$(ls "$state" | grep -c '^sent[.]')" -ge `+fmt.Sprint(deletesAtOnce)+` ]; do sleep 0.01; done
echo "pbs_iff: cannot connect to host
pbs_iff: all reserved ports in use" >&2; exit 255`)
	if _, err := s.a.Control(t.Context(), s.owner, adapters.Cancel, refs); err != nil {
		s.wantKind("cancels without a port", err, jjm.Busy)
	}
	if got := s.a.ports.limit(clk.now()); got != idPorts/2 {
		t.Errorf("lookups by id may use %d ports after one shortage, want %d", got, idPorts/2)
	}
	clk.advance(time.Second)
	sent := clk.now()
	s.a.ports.ranOut(sent, sent)
	if got := s.a.ports.limit(sent); got != idPorts/4 {
		t.Errorf("lookups by id may use %d ports after a second shortage, want %d", got, idPorts/4)
	}
}

// However many cancels are sent, listings, submissions and lookups by id are not delayed, because cancels have a
// limit of their own.
func TestPorts_CancelsHoldUpNothingElse(t *testing.T) {
	var p ports
	now, sent := time.Unix(1_000_000, 0), 0
	for range 400 {
		now = now.Add(time.Second / qdelsPerSecond)
		if wait, room := p.take(now, cancelling, 1, nil); room && wait == 0 {
			sent++
		}
		if sent%20 != 10 {
			continue
		}
		for _, why := range []purpose{ordinary, submission, byIDs} {
			probe := ports{used: slices.Clone(p.used)}
			if wait, room := probe.take(now, why, 1, nil); !room || wait > 0 {
				t.Fatalf("after %d cancels a command of purpose %d waits %v, room %v", sent, why, wait, room)
			}
		}
	}
	if sent != cancelPorts-confirmPorts {
		t.Errorf("%d cancels in a minute, want %d", sent, cancelPorts-confirmPorts)
	}
}

func TestPorts_BudgetHoldsInEveryMinuteAndSecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p ports
		var all []portUse
		var open []*followUp // follow-ups of submissions that are not over
		now := time.Unix(1_000_000, 0)
		for range rapid.IntRange(1, 200).Draw(t, "commands") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			if rapid.IntRange(0, 30).Draw(t, "ran out") == 0 {
				before := p.limit(now)
				if p.ranOut(now, now); p.limit(now) > before || p.limit(now) < leastPorts {
					t.Fatalf("the limit went from %d to %d", before, p.limit(now))
				}
			}
			why := rapid.SampledFrom([]purpose{byIDs, submission, ordinary}).Draw(t, "purpose")
			n := 1
			if why == byIDs {
				n = rapid.IntRange(1, perSecond).Draw(t, "connections")
			}
			f := &followUp{}
			follows := len(open) > 0 && rapid.Bool().Draw(t, "follows")
			if follows {
				f, open = open[0], open[1:]
				why, n = byIDs, f.left
			}
			d, room := p.take(now, why, n, f)
			for ; room && d > 0; d, room = p.take(now, why, n, f) {
				now = now.Add(d)
			}
			switch {
			case !room && follows:
				t.Fatal("a command after a qsub has no room")
			case !room:
				continue
			case !follows && why != ordinary && p.inUse(now, byIDs) > idPorts:
				t.Fatalf("%d ports are in use after a question by id", p.inUse(now, byIDs))
			}
			if f.left > 0 {
				open = append(open, f)
			}
			all = append(all, portUse{now, n, false})
		}
		for _, window := range []struct {
			of   time.Duration
			most int
		}{{portLife, maxPorts}, {time.Second, perSecond}} {
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
	p.note(now.Add(time.Hour), byIDs, idPorts)
	if p.affordable(now, 1) || !p.affordable(now.Add(portLife), 1) {
		t.Errorf("%+v", p)
	}
}

// 20 accounts are listed in each cycle, four at a time, as the daemon does it.
func TestPorts_ManyAccountsShareListings(t *testing.T) {
	s := newSite(t)
	const accounts, cycles, atOnce, most = 20, 10, 4, 4
	var owners []jjm.Owner
	for i := range accounts {
		owners = append(owners, jjm.Owner{UID: 5000 + i, User: fmt.Sprintf("user%d", i)})
		s.as(owners[i].User, "qsub", "-h", "-N", string(s.bulk(1, "").Tag))
	}
	s.a = s.adapter()
	s.probe()
	clk := s.clock(s.a)
	s.forgetConnections()
	var mu sync.Mutex
	missed, longest := map[string]int{}, 0 // cycles since each account's latest listing
	for range cycles {
		began := clk.now()
		todo := make(chan jjm.Owner, accounts)
		for _, o := range owners {
			todo <- o
		}
		close(todo)
		var workers sync.WaitGroup
		for range atOnce {
			workers.Go(func() {
				for o := range todo {
					l, err := s.a.List(t.Context(), o, began.Add(-time.Hour))
					if err != nil && !adapters.IsNotAsked(err) || err == nil && len(l.Reports) != 1 {
						t.Errorf("%s: %d reports, error %v", o.User, len(l.Reports), err)
					}
					mu.Lock()
					if missed[o.User]++; err == nil {
						missed[o.User] = 0
					}
					longest = max(longest, missed[o.User])
					mu.Unlock()
				}
			})
		}
		workers.Wait()
		clk.advance(max(0, cycle-clk.now().Sub(began)))
	}
	t.Logf("no account went without a listing for more than %d cycles", longest)
	if longest >= most {
		t.Errorf("an account went %d cycles without a listing", longest)
	}
	// The clock may move on while a command is on its way.
	if peak := s.worstMinute(); peak > maxPorts+atOnce-1 {
		t.Errorf("%d connections in a minute, want at most %d", peak, maxPorts)
	}
}

// If the budget of ports has no room for a command, the command is not sent. Cancels are the exception.
func TestPorts_EveryCommandIsHeldToTheBudget(t *testing.T) {
	s := newSite(t)
	b, next := s.bulk(1, "exit 0"), s.bulk(1, "exit 0")
	refs := members(b, s.submit(b).ID)
	clk := s.clock(s.a)
	s.forgetConnections()
	s.a.ports.note(clk.now(), ordinary, maxPorts)
	clk.advance(cycle)
	_, err := s.a.Submit(t.Context(), next)
	if !adapters.IsNotAsked(err) || !adapters.IsNotStarted(err) {
		t.Errorf("submit: error %v", err)
	}
	for name, call := range map[string]func() error{
		"list":    func() error { _, err := s.a.List(t.Context(), s.owner, time.Now()); return err },
		"find":    func() error { _, err := s.a.Find(t.Context(), s.owner, []jjm.Tag{"jnever"}); return err },
		"account": func() error { _, err := s.a.Account(t.Context(), s.owner, refs); return err },
		"release": func() error { _, err := s.a.Control(t.Context(), s.owner, adapters.Release, refs); return err },
		"probe":   func() error { return s.a.Probe(t.Context()) },
	} {
		if err := call(); !adapters.IsNotAsked(err) || jjm.KindOf(err) != jjm.Busy ||
			!strings.Contains(err.Error(), "50 of 50 reserved ports of this minute are used") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(s.state, "connections")); !os.IsNotExist(err) {
		t.Errorf("commands were sent: %+v", s.connections())
	}
	if answers, err := s.a.Control(t.Context(), s.owner, adapters.Cancel, refs); err != nil || answers[0] != nil {
		t.Errorf("cancel: %v, error %v", answers, err)
	}
}

// Other commands may use up the budget of ports while qsub runs. qsub is followed by commands without which the
// outcome of the submission of an array would be unknown. The adapter therefore reserves room for them before it runs
// qsub.
func TestPorts_ASubmissionKeepsRoomForWhatFollowsItsQsub(t *testing.T) {
	s := newSite(t)
	s.a.dialect = openpbs // set here, because otherwise the first command would ask for the dialect
	clk := s.clock(s.a)
	s.replace("qsub", `touch "$state/asked"; until [ -e "$state/proceed" ]; do sleep 0.01; done; exec "$real" "$@"`)
	b := s.bulk(3, "exit 0")
	submitted := make(chan error, 1)
	go func() { _, err := s.a.Submit(t.Context(), b); submitted <- err }()
	asked := filepath.Join(s.state, "asked")
	await.True(t, "qsub was started", func() bool { _, err := os.Stat(asked); return err == nil })
	for room, wait := true, time.Duration(0); room; clk.advance(wait) {
		s.a.mu.Lock()
		wait, room = s.a.ports.take(clk.now(), ordinary, 1, nil)
		s.a.mu.Unlock()
	}
	if err := os.WriteFile(filepath.Join(s.state, "proceed"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := await.Receive(t, "submit", submitted); err != nil {
		t.Errorf("submit: %v", err)
	}
	if used := s.a.ports.inUse(clk.now(), ordinary); used != maxPorts || s.a.ports.kept != 0 {
		t.Errorf("%d ports are in use, and %d are kept", used, s.a.ports.kept)
	}
}

// A submission that fails returns its reserved room to the budget.
func TestPorts_AFailedSubmissionKeepsNoRoom(t *testing.T) {
	s := newSite(t)
	s.fault("qsub-cut", true)
	if _, err := s.a.Submit(t.Context(), s.bulk(3, "exit 0")); err == nil {
		t.Error("it did not fail")
	}
	if s.a.ports.kept != 0 {
		t.Errorf("%d ports are kept", s.a.ports.kept)
	}
}

// Submissions and lookups by id leave room for listings.
func TestPorts_ListingsHaveRoomWhenQuestionsByIDHaveNone(t *testing.T) {
	s := newSite(t)
	b, next := s.bulk(1, "exit 0"), s.bulk(1, "exit 0")
	refs := members(b, s.submit(b).ID)
	clk := s.clock(s.a)
	s.a.ports.note(clk.now(), byIDs, idPorts)
	clk.advance(cycle)
	if _, err := s.a.Submit(t.Context(), next); !adapters.IsNotStarted(err) {
		t.Errorf("submit: error %v", err)
	}
	s.forgetConnections()
	if got, err := s.a.Account(t.Context(), s.owner, refs); err != nil || len(got) != 0 {
		t.Errorf("accounted %+v, error %v", got, err)
	}
	s.wantCommand("qstat -x -f -F json -t")
	if _, err := s.a.List(t.Context(), s.owner, time.Now()); err != nil {
		t.Errorf("list: %v", err)
	}
}

func TestPorts_CancelsHaveABoundOfTheirOwn(t *testing.T) {
	s := newSite(t)
	b := s.bulk(500, "exit 0")
	some := scattered(members(b, s.submit(b).ID), 200)
	clk := s.clock(s.a)
	s.forgetConnections()
	left := some
	for range 12 {
		answers, err := s.a.Control(t.Context(), s.owner, adapters.Cancel, left)
		if err != nil && !adapters.IsNotAsked(err) {
			t.Fatal(err)
		}
		var busy []adapters.Ref
		for i, ref := range left {
			if err != nil || answers[i] != nil {
				busy = append(busy, ref)
			}
		}
		left = busy
		clk.advance(cycle)
	}
	if len(left) > 0 {
		t.Errorf("%d jobs are not cancelled", len(left))
	}
	if peak := s.worstMinute(); peak > cancelPorts {
		t.Errorf("%d connections in a minute, want at most %d", peak, cancelPorts)
	}
	all := s.connections()
	for i := range all {
		n := 0
		for k := i; k < len(all) && all[k].at.Sub(all[i].at) < time.Second; k++ {
			n += all[k].n
		}
		if n > qdelsPerSecond+deletesAtOnce { // the second term counts the commands that were running when the clock moved
			t.Errorf("%d connections in a second", n)
		}
	}
}

// A caller does not share a listing that began before the call, because the listing may lack a job that was submitted
// before the call.
func TestListing_IsSharedOnlyBeforeItBegins(t *testing.T) {
	a := makeAdapter(t, func(*Config) {})
	argv := qstatArgs(false, true)
	begun, proceed := make(chan int, 8), make(chan struct{})
	var mu sync.Mutex
	n := 0
	list := func(context.Context) ([]raw, error) {
		mu.Lock()
		n++
		mine := n
		mu.Unlock()
		begun <- mine
		<-proceed
		return []raw{{id: fmt.Sprint(mine)}}, nil
	}
	got := make(chan string, 8)
	ask := func() {
		raws, err := a.shareListing(t.Context(), ordinary, argv, list)
		if err != nil {
			t.Error(err)
		}
		got <- raws[0].id
	}
	go ask()
	await.Receive(t, "the first listing", begun)
	for range 5 {
		go ask()
	}
	l := a.lineFor(t.Context(), ordinary, argv)
	await.True(t, "somebody waits for the next one", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return l.next != nil && l.next.shared == 4
	})
	proceed <- struct{}{}
	if id := await.Receive(t, "the first answer", got); id != "1" {
		t.Errorf("the first caller got listing %s", id)
	}
	await.Receive(t, "the second listing", begun)
	close(proceed)
	for range 5 {
		if id := await.Receive(t, "an answer", got); id != "2" {
			t.Errorf("one who came later got listing %s", id)
		}
	}
}

// If the caller that runs a shared listing stops waiting, the other callers still get a listing.
func TestListing_OutlivesACallerWhoGivesUp(t *testing.T) {
	a := makeAdapter(t, func(*Config) {})
	argv := qstatArgs(false, true)
	ctx, giveUp := context.WithCancel(t.Context())
	done := make(chan error, 2)
	begun := make(chan struct{}, 1)
	go func() {
		_, err := a.shareListing(ctx, ordinary, argv, func(ctx context.Context) ([]raw, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		done <- err
	}()
	await.Receive(t, "the listing", begun)
	go func() {
		_, err := a.shareListing(t.Context(), ordinary, argv, func(context.Context) ([]raw, error) { return nil, nil })
		done <- err
	}()
	giveUp()
	failed := 0
	for range 2 {
		if err := await.Receive(t, "an answer", done); err != nil {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d calls failed, want one", failed)
	}
}

// anotherAccount is the runner of another account. It runs nothing, because an account could change the output of its
// own commands.
type anotherAccount struct{}

func (anotherAccount) UID() int { return os.Geteuid() + 1 }

func (anotherAccount) Run(context.Context, run.Cmd) (run.Output, error) {
	return run.Output{}, errors.New("this ran as another account")
}

func TestListing_ThatAccountsShareIsMadeByTheDaemon(t *testing.T) {
	a := makeAdapter(t, func(*Config) {})
	ctx := run.WithRunner(t.Context(), anotherAccount{})
	for shared, want := range map[bool]int{false: os.Geteuid() + 1, true: os.Geteuid()} {
		a.limits.everybody = shared
		_, err := a.shareListing(ctx, ordinary, qstatArgs(false, true), func(ctx context.Context) ([]raw, error) {
			if got := run.UID(ctx); got != want {
				t.Errorf("shared %v: made by account %d, want %d", shared, got, want)
			}
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
