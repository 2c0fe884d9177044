package pbs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
)

// watched makes an adapter and returns a function for the commands that ran since its last call. Each command first
// runs the shell text body, which may end the command.
func (s *site) watched(body string, change ...func(*Config)) (a *Adapter, ran func() []string) {
	s.t.Helper()
	dir := s.t.TempDir()
	log := filepath.Join(dir, "log")
	for _, name := range commandNames {
		text := fmt.Sprintf("#!/bin/sh\necho \"%s $*\" >>%s\n%s\nexec %s \"$@\"\n", name, adapters.Quote(log), body,
			adapters.Quote(filepath.Join(s.bin, name)))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	a = s.adapter(append(change, func(c *Config) { c.Bin, c.Dialect = dir, "openpbs" })...)
	return a, func() []string {
		text, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			s.t.Fatal(err)
		}
		_ = os.Remove(log)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

// little sets limits of output and memory that are so low that a test can exceed them.
func little(c *Config) { c.MaxOutputMB, c.MaxMemoryMB = 1, 1024 }

// excesses are the faults of a qstat that lists all jobs, as shell texts that replace the listing.
var excesses = map[string]string{
	"prints without end":   `exec yes '        "1.pbshost":{'`,
	"grows in memory":      `while [ "$(ulimit -d)" = unlimited ]; do :; done; exec dd bs=2G if=/dev/zero of=/dev/null`,
	"is killed for memory": `kill -KILL $$`,
}

func TestList_AListingThatIsTooLargeTwiceIsReplacedByIDs(t *testing.T) {
	for name, body := range excesses {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			lives, over := s.bulk(3, "exec sleep 600"), s.bulk(2, "exit 4")
			s.submit(lives)
			s.good(adapters.Release, members(over, s.submit(over).ID)...)
			s.until("over", over.Tag, all(2, jjm.BatchEndedFailed))
			a, ran := s.watched(`case "$*" in *json|*"json -t") `+body+`;; esac`, little)
			for _, next := range []string{"repeated in the next cycle", "asked for by id until"} {
				_, err := a.List(await.Context(t, 4*time.Minute), s.owner, time.Now().Add(-time.Hour))
				s.wantKind("a listing that is too large", err, jjm.Busy)
				if err == nil || !strings.Contains(err.Error(), next) || !adapters.IsLater(err) {
					t.Fatalf("the error does not say %q: %v", next, err)
				}
				t.Logf("the cluster's health says: %v", err)
				_, err = a.Find(await.Context(t, 4*time.Minute), s.owner, []jjm.Tag{over.Tag})
				s.wantKind("a search in a listing that is too large", err, jjm.Busy)
			}
			if !strings.Contains(a.Capabilities().Guarantee, "listed by id") {
				t.Errorf("the guarantee is %q", a.Capabilities().Guarantee)
			}
			whole := ran()
			s.a = a
			for _, b := range []adapters.Bulk{lives, over} {
				if got := s.list(b.Tag); len(got) != b.N {
					t.Errorf("listed %+v, want %d jobs", got, b.N)
				}
			}
			if f := s.find(over.Tag); f.Presence != adapters.Present {
				t.Errorf("found %+v", f)
			}
			for _, line := range ran() {
				if slices.Contains(whole, line) {
					t.Errorf("repeated unchanged: %s", line)
				}
			}
		})
	}
}

// A listing with the members of arrays may be too large although a listing without them is not. Successful searches,
// which list without members, do not prevent the adapter from looking up members by id.
func TestList_MembersThatAreTooMuchAreAskedForByIDBesideSearches(t *testing.T) {
	s := newSite(t)
	b := s.bulk(3, "exec sleep 600")
	s.submit(b)
	a, _ := s.watched(`case "$*" in *"json -t") `+excesses["prints without end"]+`;; esac`, little)
	s.a = a
	for range 2 {
		_, err := a.List(await.Context(t, 4*time.Minute), s.owner, time.Now().Add(-time.Hour))
		s.wantKind("a listing that is too large", err, jjm.Busy)
		if f := s.find(b.Tag); f.Presence != adapters.Present {
			t.Errorf("found %+v", f)
		}
	}
	if got := s.list(b.Tag); len(got) != b.N {
		t.Errorf("listed %+v, want %d jobs", got, b.N)
	}
}

// The client sometimes prints without end if an array has just started; a moment later it prints a whole listing.
func TestList_AnEndlessListingIsRepeatedOnce(t *testing.T) {
	s := newSite(t)
	b := s.bulk(2, "exec sleep 600")
	s.submit(b)
	s.a = s.adapter(little)
	s.fault("endless", true)
	_, err := s.a.List(await.Context(t, 4*time.Minute), s.owner, time.Now())
	s.wantKind("an endless listing", err, jjm.Busy)
	s.fault("endless", false)
	s.forgetConnections()
	if got := s.list(b.Tag); len(got) != 2 {
		t.Errorf("listed %+v", got)
	}
	s.wantCommand("qstat -f -F json -t")
	if c := s.a.Capabilities(); strings.Contains(c.Guarantee, "listed by id") {
		t.Errorf("the guarantee is %q", c.Guarantee)
	}
}

// Several listings wait for a frozen server. Such silence does not count as a listing that is too large, so the next
// listing is again a listing of everything.
func TestList_AFrozenServerIsAskedForEverythingAfterwards(t *testing.T) {
	s := newSite(t)
	b := s.bulk(2, "exec sleep 600")
	s.submit(b)
	s.fault("frozen", true)
	ctx, cancel := context.WithTimeout(t.Context(), await.Provoked(2*time.Second))
	defer cancel()
	done := make(chan error)
	for range 3 {
		go func() { _, err := s.a.List(ctx, s.owner, time.Now()); done <- err }()
	}
	for range 3 {
		err := await.Receive(t, "the end of a listing", done)
		s.wantKind("a listing of a frozen server", err, jjm.Busy)
		if adapters.IsLater(err) && !adapters.IsNotAsked(err) {
			t.Errorf("silence was taken for a listing that is too large: %v", err)
		}
	}
	s.fault("frozen", false)
	s.forgetConnections()
	if got := s.list(b.Tag); len(got) != 2 {
		t.Errorf("listed %+v", got)
	}
	s.wantCommand("qstat -f -F json -t")
}

// The qstat of this test is killed if it lists all jobs, and prints without end if it is asked for more than two
// ids.
func TestList_ChunksShrinkUntilTheyAreNotTooMuch(t *testing.T) {
	s := newSite(t)
	var bulks []adapters.Bulk
	for range 7 { // the clock moves a minute for each bulk: less than the time for which the adapter avoids whole listings
		bulks = append(bulks, s.bulk(1, "exit 0"))
		s.submit(bulks[len(bulks)-1])
	}
	a, ran := s.watched(
		`case "$*" in *json|*"json -t") kill -KILL $$;; *json\ -t\ *\ *\ *) exec yes x;; esac`, little)
	clk := s.clock(a)
	for range 2 {
		if _, err := a.List(t.Context(), s.owner, time.Now()); err == nil {
			t.Fatal("the whole was listed")
		}
	}
	ran()
	s.a = a
	for _, b := range bulks {
		clk.advance(time.Minute)
		if got := s.list(b.Tag); len(got) != 1 {
			t.Errorf("%s: listed %+v", b.Tag, got)
		}
	}
	lines := ran()
	for i, line := range lines {
		if strings.HasPrefix(line, "qstat") && i > 0 && line == lines[i-1] {
			t.Errorf("repeated unchanged: %s", line)
		}
	}
}

// A listing that was cut off has stored the ends that it looked up. The next listing looks up only the remaining ends.
func TestList_KnownEndsAreNotAskedForAgain(t *testing.T) {
	s := newSite(t)
	var bulks []adapters.Bulk
	for range 4 {
		b := s.bulk(1, "exit 3")
		s.good(adapters.Release, members(b, s.submit(b).ID)...)
		bulks = append(bulks, b)
	}
	for _, b := range bulks {
		s.until("over", b.Tag, all(1, jjm.BatchEndedFailed))
	}
	go4, asked4 := filepath.Join(s.dir, "go"), filepath.Join(s.dir, "asked")
	a, ran := s.watched(`case "$*" in *json\ -t\ 4) : >` + adapters.Quote(asked4) + `; [ -e ` + adapters.Quote(go4) +
		` ] || sleep 600;; esac`)
	a.updateChunk(func(chunkSize) chunkSize { return chunkSize{n: 1, larger: a.env.Now().Add(time.Hour)} })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cut := make(chan error)
	go func() {
		_, err := a.List(ctx, s.owner, time.Now().Add(-time.Hour))
		cut <- err
	}()
	await.True(t, "the last one is asked for", func() bool { _, err := os.Stat(asked4); return err == nil })
	cancel()
	if err := <-cut; err == nil {
		t.Fatal("nothing cut it off")
	}
	ran()
	if err := os.WriteFile(go4, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s.a = a
	for _, b := range bulks {
		if got := s.list(b.Tag); len(got) != 1 || got[0].Exit != 3 {
			t.Errorf("%s: listed %+v", b.Tag, got)
		}
	}
	for _, line := range ran() {
		if id := line[len(line)-1]; strings.HasPrefix(line, "qstat -x") && id != '4' {
			t.Errorf("asked again: %s", line)
		}
	}
}

func TestList_AsksForFewEndsByID(t *testing.T) {
	s := newSite(t)
	a, ran := s.watched("")
	s.a = a
	var tags []jjm.Tag
	for range 3 {
		b := s.bulk(2, "exit 3")
		s.good(adapters.Release, members(b, s.submit(b).ID)...)
		s.until("over", b.Tag, all(2, jjm.BatchEndedFailed))
		tags = append(tags, b.Tag)
	}
	for _, line := range ran() {
		if strings.HasPrefix(line, "qstat -x") && !strings.ContainsAny(line, "0123456789") {
			t.Errorf("the whole history: %s", line)
		}
	}
	s.list(tags[0])
	for _, line := range ran() {
		if strings.HasPrefix(line, "qstat -x") {
			t.Errorf("asked again for what is over and known: %s", line)
		}
	}
}

func TestList_AfterARestartReportsWhatEndedSince(t *testing.T) {
	s := newSite(t)
	b, other := s.bulk(2, "exit 3"), s.bulk(1, "exit 0")
	s.good(adapters.Release, members(b, s.submit(b).ID)...)
	s.good(adapters.Release, members(other, s.submit(other).ID)...)
	s.until("over", b.Tag, all(2, jjm.BatchEndedFailed))
	was := s.until("over", other.Tag, all(1, jjm.BatchEndedOK))
	s.as(s.owner.User, "qsub", "-h", "-N", "stranger")
	s.a = s.adapter()
	if got := s.list(other.Tag); cmp.Diff(was, got) != "" {
		t.Errorf("before and after (-before +after):\n%s", cmp.Diff(was, got))
	}
	s.a = s.adapter()
	found, err := s.a.Find(t.Context(), s.owner, []jjm.Tag{b.Tag, other.Tag, "jnever"})
	if err != nil || len(found) != 3 || found[0].Presence != adapters.Present || found[1].Presence != adapters.Present ||
		found[2].Presence != adapters.Absent {
		t.Errorf("found %+v, error %v", found, err)
	}
	s.a = s.adapter()
	if f := s.find(b.Tag); f.Presence != adapters.Present {
		t.Errorf("found %+v", f)
	}
	got := s.list(b.Tag)
	if len(got) != 2 || got[1].Exit != 3 {
		t.Errorf("found before it was listed, and then listed as %+v", got)
	}
}

// If the server cannot list by time of end, List still reports the ends of jobs that were seen alive, and Account
// reports the ends of the other jobs.
func TestList_AServerThatCannotListByTime(t *testing.T) {
	s := newSite(t)
	unseen := s.bulk(1, "exit 3")
	id := s.submit(unseen).ID
	s.good(adapters.Release, members(unseen, id)...)
	s.until("over", unseen.Tag, all(1, jjm.BatchEndedFailed))
	a, ran := s.watched(`case "$*" in *-tm.ge.*) echo "qselect: illegal -t value" >&2; exit 2;; esac`)
	s.a = a
	seen := s.bulk(2, "exit 4")
	s.good(adapters.Release, members(seen, s.submit(seen).ID)...)
	s.until("over", seen.Tag, all(2, jjm.BatchEndedFailed))
	got, err := a.Account(t.Context(), s.owner, members(unseen, id))
	if err != nil || len(got) != 1 || got[0].Exit != 3 {
		t.Errorf("accounted %+v, error %v", got, err)
	}
	ran()
	s.list(seen.Tag)
	for _, line := range ran() {
		if strings.HasPrefix(line, "qselect") {
			t.Errorf("asked again: %s", line)
		}
	}
}

// Jobs that were submitted by another adapter, and ended between two listings of this adapter, are found by its
// later listing.
func TestList_FindsWhatEndedUnseen(t *testing.T) {
	s := newSite(t)
	mine := s.a
	s.list("jnone")
	s.a = s.adapter()
	b := s.bulk(1, "exit 3")
	s.good(adapters.Release, members(b, s.submit(b).ID)...)
	s.until("over", b.Tag, all(1, jjm.BatchEndedFailed))
	s.a = mine
	s.until("told", b.Tag, all(1, jjm.BatchEndedFailed))
}

func TestFind_AHistoryThatIsTooMuchIsSearchedByName(t *testing.T) {
	s := newSite(t)
	b := s.bulk(1, "exit 0")
	s.good(adapters.Release, members(b, s.submit(b).ID)...)
	s.until("over", b.Tag, all(1, jjm.BatchEndedOK))
	a, ran := s.watched(`case "$*" in -x*json) exec yes x;; esac`, little)
	tags := []jjm.Tag{"jnever", b.Tag}
	for range 2 {
		_, err := a.Find(t.Context(), s.owner, tags)
		s.wantKind("a search in a history that is too large", err, jjm.Busy)
	}
	ran()
	found, err := a.Find(t.Context(), s.owner, tags)
	if err != nil || found[0].Presence != adapters.Absent || found[1].Presence != adapters.Present {
		t.Errorf("found %+v, error %v", found, err)
	}
	if lines := ran(); slices.Contains(lines, "qstat -x -f -F json") {
		t.Errorf("repeated unchanged: %q", lines)
	}
}

func TestHistoryOff_AMemberThatIsGoneIsNotCalledCancelled(t *testing.T) {
	s := newSite(t, "HISTORY=off")
	b := s.bulk(2, `[ $JJM_INDEX = 1 ] && exit 5; exec sleep 600`)
	s.good(adapters.Release, members(b, s.submit(b).ID)...)
	s.until("one is gone", b.Tag, func(f map[int32]jjm.Report) bool {
		for _, r := range f {
			if r.State.Ended() {
				t.Fatalf("nobody knows how it ended: %+v", r)
			}
		}
		return len(f) == 1 && f[0].State == jjm.BatchRunning
	})
}

func TestListingSize(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	fail := func(l listingSize) listingSize { return l.tooLarge(now, now, "x") }
	l := fail(listingSize{})
	if !l.mayTry(now) || l.why != "" {
		t.Errorf("after one failure %+v", l)
	}
	if same := l.tooLarge(now.Add(-time.Second), now, "x"); same != l {
		t.Errorf("a listing that ran at the same time counts again: %+v", same)
	}
	l = fail(l)
	if l.mayTry(now) || l.mayTry(now.Add(firstRest-time.Second)) || !l.mayTry(now.Add(firstRest)) || l.why != "x" {
		t.Errorf("after two failures %+v", l)
	}
	if again := fail(l); !again.until.Equal(l.until) {
		t.Errorf("a failure within the rest makes it longer: %+v", again)
	}
	now = now.Add(firstRest)
	if l = fail(l); !l.until.Equal(now.Add(2 * firstRest)) {
		t.Errorf("after the rest and another failure %+v", l)
	}
	for range 20 {
		now = l.until
		l = fail(l)
	}
	if l.rest != lastRest {
		t.Errorf("after many failures %+v", l)
	}
}

func TestChunkSize(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	c := chunkSize{n: maxIDs}.failed(now, maxIDs)
	if c.n != maxIDs/2 || c.worked(now) != c {
		t.Errorf("after a failure %+v, then %+v", c, c.worked(now))
	}
	if c = c.failed(now, 1); c.n != 1 {
		t.Errorf("after one id was too much: %+v", c)
	}
	for range 20 {
		c = c.worked(now.Add(firstRest))
	}
	if c.n != maxIDs {
		t.Errorf("after all went well again %+v", c)
	}
}

func TestTooMuch(t *testing.T) {
	late := fmt.Errorf("stopped: %w", context.DeadlineExceeded)
	tests := []struct {
		name string
		out  run.Output
		err  error
		want bool
	}{
		{"well", run.Output{Stdout: []byte("{}")}, nil, false},
		{"cut", run.Output{Truncated: true}, errors.New("cut"), true},
		{"silent until its deadline", run.Output{Signal: 15}, late, false},
		{"printing at its deadline", run.Output{Stdout: []byte("{"), Signal: 15}, late, true},
		{"called off", run.Output{Signal: 15}, fmt.Errorf("stopped: %w", context.Canceled), false},
		{"not started", run.Output{}, errors.New("no such file"), false},
		{"killed", run.Output{Exit: 137, Signal: 9}, nil, true},
		{"fell over no memory", run.Output{Exit: 139, Signal: 11}, nil, true},
		{"said so", run.Output{Exit: 2, Stderr: []byte("qstat: out of memory\n")}, nil, true},
		{"malloc", run.Output{Exit: 1, Stderr: []byte("Cannot allocate\n")}, nil, true},
		{"server down", run.Output{Exit: 255, Stderr: []byte("Connection refused\n")}, nil, false},
	}
	for _, tt := range tests {
		if why := tooMuch(tt.out, tt.err); (why != "") != tt.want {
			t.Errorf("%s: %q", tt.name, why)
		}
	}
}

func TestParseByID_OnlyUnknownIDsMayCauseComplaints(t *testing.T) {
	argv := []string{"qstat"}
	raws, history, err := parseByID(recorded(t, "qstat_unknown_json"), argv)
	if err != nil || len(raws) != 0 || !history {
		t.Errorf("%+v, history %v, error %v", raws, history, err)
	}
	good := recorded(t, "exit7_json").Stdout
	for _, tt := range []struct {
		exit   int
		stderr string
		ok     bool
	}{
		{0, "", true}, {153, "qstat: Unknown Job Id 25[].pbshost\nqstat: Unknown Job Id 7.pbshost\n", true},
		{0, "qstat: Unknown Job Id 25[3].pbshost\n", true},
		{153, "", false}, {1, "", false}, {255, "Connection refused\n", false},
		{0, "pbs_iff: cannot connect to host\npbs_iff: all reserved ports in use\n", false},
		{255, "pbs_iff: all reserved ports in use\nqstat: cannot connect to server h (errno=-1)\n", false},
		{0, "Welcome!\n", false},
		{1, "qstat: Unknown Job Id 7.pbshost\n", false},
		{153, "qstat: Unknown Job Id 7.pbshost\nqstat: End of File\n", false},
	} {
		raws, _, err := parseByID(run.Output{Exit: tt.exit, Stdout: good, Stderr: []byte(tt.stderr)}, argv)
		if tt.ok != (err == nil) || tt.ok && len(raws) != 1 || err != nil && jjm.KindOf(err) != jjm.Busy {
			t.Errorf("exit %d, %q: %d jobs, error %v", tt.exit, tt.stderr, len(raws), err)
		}
	}
	off := []byte("qstat: PBS is not configured to maintain job history 7.pbshost\n")
	if _, history, err := parseByID(run.Output{Stderr: off}, argv); err != nil || history {
		t.Errorf("without history: history %v, error %v", history, err)
	}
}

func TestParseIDs(t *testing.T) {
	ids, err := parseIDs([]byte("7020.pbshost\n25[].pbshost\n"), nil)
	if err != nil || len(ids) != 2 || ids[0].String() != "7020" || ids[1].String() != "25[]" {
		t.Errorf("%v, error %v", ids, err)
	}
	for _, bad := range []string{"7020.pbs", "Welcome!\n7.pbshost\n", "\n", "7.pbshost\n25"} {
		if ids, err := parseIDs([]byte(bad), nil); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%q: %v, error %v", bad, ids, err)
		}
	}
}

func TestMemory_ForgetsWhatTheHistoryForgot(t *testing.T) {
	end := time.Unix(1_795_403_572, 0)
	over := func(id string) job {
		j, _ := jobOf(raw{id: id, name: "jabc" + id, state: "F", substate: "92", exit: "0",
			history: fmt.Sprint(end.Unix())}, openpbs)
		return j
	}
	p := newMemory()
	p.learn([]job{over("1"), over("2")}, true, openpbs, time.UTC)
	p.noteBulk("3", "jabc3", true)
	if got := p.unlisted(nil, end); !slices.Equal(got, []string{"3[]"}) {
		t.Errorf("to be asked for: %q", got)
	}
	if unknown := p.compare([]jobID{{seq: "2"}, {seq: "4"}}, end.Add(-time.Hour)); !slices.Equal(unknown, []string{"4"}) {
		t.Errorf("unknown: %q", unknown)
	}
	if got := p.since(end); len(got) != 1 || got[0].ID != "2" {
		t.Errorf("ended: %+v", got)
	}
	if got := p.since(end.Add(time.Second)); len(got) != 0 {
		t.Errorf("later: %+v", got)
	}
	p.forgetMissing([]string{"3[]", "4"}, nil)
	if len(p.bulks) != 1 {
		t.Errorf("%d bulks are left", len(p.bulks))
	}
	p.since(end.Add(2 * time.Hour))
	if b := p.bulks["2"]; b == nil || b.ends != nil || !b.over {
		t.Errorf("long after: %+v", b)
	}
	if got := p.unlisted(nil, end); !slices.Equal(got, []string{"2"}) {
		t.Errorf("since goes back: %q", got)
	}
}
