package pbs

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// site is an adapter on a complex that belongs to one test, with helpers.
type site struct {
	*bed
	a   *Adapter
	dir string
}

// cycle is the time by which the helpers move the adapters' clock before each call.
const cycle = 10 * time.Second

// patiently makes a call in each cycle until the budget of ports allows it.
func (s *site) patiently(call func() error) (err error) {
	for range 12 {
		s.clk.advance(cycle)
		if err = call(); !adapters.IsNotAsked(err) {
			break
		}
	}
	return err
}

func newSite(t *testing.T, settings ...string) *site {
	t.Helper()
	t.Parallel()
	b := newBed(t, settings...)
	b.stopClock()
	s := &site{bed: b, a: b.adapter(), dir: t.TempDir()}
	s.probe()
	return s
}

func (s *site) probe() {
	s.t.Helper()
	if err := s.a.Probe(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// bulk returns a bulk of n jobs that run a script.
func (s *site) bulk(n int, script string) adapters.Bulk {
	s.t.Helper()
	tag, err := jjm.NewTag("test")
	if err != nil {
		s.t.Fatal(err)
	}
	return adapters.Bulk{Tag: tag, Owner: s.owner, N: n, Dir: s.dir, Argv: []string{"/bin/sh", "-c", script}}
}

func (s *site) submit(b adapters.Bulk) adapters.Receipt {
	s.t.Helper()
	var r adapters.Receipt
	err := s.patiently(func() (err error) { r, err = s.a.Submit(s.t.Context(), b); return err })
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *site) control(op adapters.Op, refs ...adapters.Ref) []error {
	s.t.Helper()
	var answers []error
	err := s.patiently(func() (err error) { answers, err = s.a.Control(s.t.Context(), s.owner, op, refs); return err })
	if err != nil || len(answers) != len(refs) {
		s.t.Fatalf("%v: %d answers, error %v", op, len(answers), err)
	}
	return answers
}

// good applies an operation to jobs and fails the test unless the result for each job is a success.
func (s *site) good(op adapters.Op, refs ...adapters.Ref) {
	s.t.Helper()
	for i, err := range s.control(op, refs...) {
		if err != nil {
			s.t.Errorf("%v %+v: %v", op, refs[i], err)
		}
	}
}

func members(b adapters.Bulk, id string) []adapters.Ref {
	all := make([]adapters.Ref, b.N)
	for i := range all {
		all[i] = adapters.Ref{Tag: b.Tag, ID: id, Index: int32(i)}
	}
	return all
}

func (s *site) list(tag jjm.Tag) map[int32]jjm.Report {
	s.t.Helper()
	var l adapters.Listing
	err := s.patiently(func() (err error) {
		l, err = s.a.List(s.t.Context(), s.owner, time.Now().Add(-time.Hour))
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	found := map[int32]jjm.Report{}
	for _, r := range l.Reports {
		if r.Tag == tag {
			found[r.Index] = r
		}
	}
	return found
}

// until lists a tag until ok accepts the listing.
func (s *site) until(what string, tag jjm.Tag, ok func(map[int32]jjm.Report) bool) map[int32]jjm.Report {
	s.t.Helper()
	var found map[int32]jjm.Report
	for end := time.Now().Add(await.Guard(6 * time.Minute)); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if found = s.list(tag); ok(found) {
			return found
		}
	}
	s.t.Fatalf("not %s: %+v", what, found)
	return nil
}

// all returns a function that reports whether a listing has exactly n jobs, all in the given state.
func all(n int, state jjm.BatchState) func(map[int32]jjm.Report) bool {
	return func(found map[int32]jjm.Report) bool {
		for _, r := range found {
			if r.State != state {
				return false
			}
		}
		return len(found) == n
	}
}

func (s *site) find(tag jjm.Tag) adapters.Found {
	s.t.Helper()
	var found []adapters.Found
	err := s.patiently(func() (err error) { found, err = s.a.Find(s.t.Context(), s.owner, []jjm.Tag{tag}); return err })
	if err != nil || len(found) != 1 {
		s.t.Fatalf("%+v, error %v", found, err)
	}
	return found[0]
}

func (s *site) wantKind(what string, err error, want jjm.Kind) {
	s.t.Helper()
	if err == nil || jjm.KindOf(err) != want {
		s.t.Errorf("%s: error %v of kind %q, want %q", what, err, jjm.KindOf(err), want)
	}
}

func TestHold_OpenPBSHoldsWholeArraysOnly(t *testing.T) {
	s := newSite(t)
	s.do("qmgr", "-c", "set queue workq started=false") // the queue is stopped, so all jobs wait
	b := s.bulk(3, "exit 0")
	refs := members(b, s.submit(b).ID)
	s.until("held", b.Tag, all(3, jjm.BatchHold))
	s.wantKind("release of one member", s.control(adapters.Release, refs[1])[0], jjm.Conflict)
	s.good(adapters.Release, refs...)
	s.good(adapters.Release, refs...)
	s.until("waiting", b.Tag, all(3, jjm.BatchQueued))
	s.good(adapters.Release, refs[1]) // the job is not held, so the release changes nothing
	s.wantKind("hold of one member", s.control(adapters.HoldJobs, refs[1])[0], jjm.Conflict)
	s.good(adapters.HoldJobs, refs...)
	s.good(adapters.HoldJobs, refs...)
	if r := s.until("held", b.Tag, all(3, jjm.BatchHold))[1]; r.Hold != "u" || !strings.Contains(r.Reason, "Job held by") {
		t.Errorf("%+v", r)
	}
	s.good(adapters.Cancel, refs[0])
	s.good(adapters.Release, refs[1], refs[2]) // these are all members that are left
	single := s.bulk(1, "exit 0")
	one := members(single, s.submit(single).ID)
	s.good(adapters.Release, one...)
	s.good(adapters.HoldJobs, one...)
	s.until("held", single.Tag, all(1, jjm.BatchHold))
	s.good(adapters.Release, one...)
	s.do("qmgr", "-c", "set queue workq started=true")
	s.until("over", single.Tag, all(1, jjm.BatchEndedOK))
	got := s.until("over", b.Tag, func(f map[int32]jjm.Report) bool {
		return f[1].State == jjm.BatchEndedOK && f[2].State == jjm.BatchEndedOK
	})
	if got[0].State != jjm.BatchCancelled || got[0].Started != 0 {
		t.Errorf("%+v", got[0])
	}
	s.good(adapters.HoldJobs, refs...)
	s.good(adapters.Release, refs...)
}

func TestHold_ARunningJobIsNotHeld(t *testing.T) {
	s := newSite(t)
	b := s.bulk(1, "exec sleep 600")
	refs := members(b, s.submit(b).ID)
	s.good(adapters.Release, refs...)
	s.until("running", b.Tag, all(1, jjm.BatchRunning))
	s.wantKind("hold", s.control(adapters.HoldJobs, refs...)[0], jjm.Conflict)
}

func TestCancel_KeepsTheFactsOfEndedMembers(t *testing.T) {
	s := newSite(t)
	b := s.bulk(4, `[ $JJM_INDEX = 1 ] && exit 5; exec sleep 600`)
	refs := members(b, s.submit(b).ID)
	s.good(adapters.Release, refs...)
	s.until("over in part", b.Tag, func(f map[int32]jjm.Report) bool {
		return f[1].State == jjm.BatchEndedFailed && f[0].State == jjm.BatchRunning && f[3].State == jjm.BatchRunning
	})
	s.good(adapters.Cancel, refs...)
	got := s.until("over", b.Tag, func(f map[int32]jjm.Report) bool {
		return f[0].State.Ended() && f[2].State.Ended() && f[3].State.Ended()
	})
	if r := got[1]; r.State != jjm.BatchEndedFailed || r.Exit != 5 || r.Started == 0 || r.Ended == 0 {
		t.Errorf("%+v", r)
	}
	s.good(adapters.Cancel, refs...)
}

func TestHistoryOff_EndedJobsVanishAndNothingFails(t *testing.T) {
	t.Parallel()
	bed := newBed(t, "HISTORY=off")
	bed.stopClock()
	s := &site{bed: bed, a: bed.adapter(), dir: t.TempDir()}
	b := s.bulk(1, "exit 0")
	r := s.submit(b)
	s.until("held", b.Tag, all(1, jjm.BatchHold)) // the adapter was not probed
	if f := s.find(b.Tag); f.Presence != adapters.Present {
		t.Errorf("found %+v", f)
	}
	s.good(adapters.Release, members(b, r.ID)...)
	s.until("gone", b.Tag, func(f map[int32]jjm.Report) bool { return len(f) == 0 })
	s.probe()
	if c := s.a.Capabilities(); c.Accounting || !strings.Contains(c.Guarantee, "only the wrapper") {
		t.Errorf("%+v", c)
	}
	s.good(adapters.Cancel, members(b, r.ID)...)
	if f := s.find(b.Tag); f.Presence != adapters.Absent {
		t.Errorf("found %+v", f)
	}
	got, err := s.a.Account(t.Context(), s.owner, members(b, r.ID))
	if err != nil || len(got) != 0 {
		t.Errorf("accounted %+v, error %v", got, err)
	}
	if answers := s.control(adapters.Release, members(b, r.ID)...); jjm.KindOf(answers[0]) != jjm.Gone {
		t.Errorf("release: %v", answers[0])
	}
}

func TestHistory_IsNoticedWhenItIsTurnedOnAndOff(t *testing.T) {
	s := newSite(t, "HISTORY=off")
	if s.a.Capabilities().Accounting {
		t.Error("there is no history")
	}
	s.do("qmgr", "-c", "set server job_history_enable=true")
	s.probe()
	if !s.a.Capabilities().Accounting {
		t.Error("there is a history")
	}
	s.do("qmgr", "-c", "set server job_history_enable=false")
	b := s.bulk(1, "exit 0")
	s.submit(b)
	s.until("held", b.Tag, all(1, jjm.BatchHold))
	if s.a.Capabilities().Accounting {
		t.Error("a listing said that there is no history")
	}
}

func TestServer_TroubleIsBusyAndNothingElse(t *testing.T) {
	for _, fault := range []string{"refused", "unauthorized"} {
		t.Run(fault, func(t *testing.T) {
			s := newSite(t)
			b := s.bulk(2, "exit 0")
			r := s.submit(b)
			s.fault(fault, true)
			s.everythingIs(jjm.Busy, jjm.Busy, b, r.ID)
			s.fault(fault, false)
			s.until("held", b.Tag, all(2, jjm.BatchHold))
		})
	}
}

// everythingIs calls all methods and expects that each returns an error: Submit an error of the kind submit, all other
// methods an error of the kind others.
func (s *site) everythingIs(submit, others jjm.Kind, b adapters.Bulk, id string) jjm.Tag {
	s.t.Helper()
	new := s.bulk(1, "exit 0")
	calls := map[string]func(context.Context) error{
		"submit": func(ctx context.Context) error { _, err := s.a.Submit(ctx, new); return err },
		"probe":  s.a.Probe,
		"list":   func(ctx context.Context) error { _, err := s.a.List(ctx, s.owner, time.Time{}); return err },
		"find": func(ctx context.Context) error {
			_, err := s.a.Find(ctx, s.owner, []jjm.Tag{b.Tag})
			return err
		},
		"account": func(ctx context.Context) error {
			_, err := s.a.Account(ctx, s.owner, members(b, id))
			return err
		},
		"cancel": func(ctx context.Context) error {
			_, err := s.a.Control(ctx, s.owner, adapters.Cancel, members(b, id))
			return err
		},
	}
	var calling sync.WaitGroup
	var mu sync.Mutex
	errs := map[string]error{}
	for what, do := range calls {
		calling.Go(func() {
			ctx, cancel := context.WithTimeout(s.t.Context(), await.Provoked(2*time.Second))
			defer cancel()
			err := do(ctx)
			mu.Lock()
			defer mu.Unlock()
			errs[what] = err
		})
	}
	calling.Wait()
	for what, err := range errs {
		want := others
		if what == "submit" {
			want = submit
		}
		s.wantKind(what, err, want)
	}
	return new.Tag
}

func TestServer_FrozenCommandsEndAtTheirDeadline(t *testing.T) {
	s := newSite(t)
	b := s.bulk(2, "exit 0")
	r := s.submit(b)
	s.fault("frozen", true)
	tag := s.everythingIs(jjm.Ambiguous, jjm.Busy, b, r.ID)
	s.fault("frozen", false)
	s.until("held", b.Tag, all(2, jjm.BatchHold))
	if f := s.find(tag); f.Presence != adapters.Absent { // as recorded: the request of the killed qsub is lost
		t.Errorf("found %+v", f)
	}
}

func TestSubmit_AKilledQsubIsFoundAgain(t *testing.T) {
	s := newSite(t)
	s.fault("qsub-killed", true)
	b := s.bulk(3, "exit 0")
	_, err := s.a.Submit(t.Context(), b)
	s.wantKind("submit", err, jjm.Ambiguous)
	s.fault("qsub-killed", false)
	f := s.find(b.Tag)
	if f.Presence != adapters.Present || len(f.IDs) != 1 {
		t.Fatalf("found %+v", f)
	}
	s.until("held", b.Tag, all(3, jjm.BatchHold)) // the array is held and never runs by itself
	s.good(adapters.Release, members(b, f.IDs[0])...)
	s.until("over", b.Tag, all(3, jjm.BatchEndedOK))
}

func TestSubmit_ACutConnectionIsDoubtful(t *testing.T) {
	s := newSite(t)
	s.fault("qsub-cut", true)
	b := s.bulk(1, "exit 0")
	_, err := s.a.Submit(t.Context(), b)
	s.wantKind("submit", err, jjm.Ambiguous)
	if f := s.find(b.Tag); f.Presence != adapters.Absent {
		t.Errorf("found %+v", f)
	}
}

func TestSubmit_AnAcknowledgedIDMayBeLost(t *testing.T) {
	s := newSite(t)
	s.fault("lost-id", true)
	array := s.bulk(2, "exit 0") // qalter, which follows qsub for an array, detects the loss
	_, err := s.a.Submit(t.Context(), array)
	s.wantKind("submit", err, jjm.Ambiguous)
	if f := s.find(array.Tag); f.Presence != adapters.Absent {
		t.Errorf("found %+v", f)
	}
	b := s.bulk(1, "exit 0")
	r := s.submit(b)
	if f := s.find(b.Tag); f.Presence != adapters.Absent {
		t.Errorf("found %+v", f)
	}
	if got := s.list(b.Tag); len(got) != 0 {
		t.Errorf("listed %+v", got)
	}
	for _, err := range s.control(adapters.Release, members(b, r.ID)...) {
		s.wantKind("release", err, jjm.Gone)
	}
}

func TestSubmit_RefusalsOfTheServer(t *testing.T) {
	s := newSite(t)
	try := func(what string, want jjm.Kind, n int, r jjm.Request) {
		t.Helper()
		b := s.bulk(n, "exit 0")
		b.Request = r
		_, err := s.a.Submit(t.Context(), b)
		s.wantKind(what, err, want)
		if f := s.find(b.Tag); f.Presence != adapters.Absent {
			t.Errorf("%s: found %+v", what, f)
		}
	}
	try("unknown queue", jjm.Invalid, 1, jjm.Request{Queue: "nosuch"})
	try("disabled queue", jjm.Busy, 1, jjm.Request{Queue: "disabledq"})
	try("closed queue", jjm.Denied, 1, jjm.Request{Queue: "aclq"})
	try("more than the queue takes of one user", jjm.Busy, 3, jjm.Request{Queue: "limitq"})
	try("too long for the queue", jjm.Invalid, 1, jjm.Request{Queue: "limitq", Walltime: jjm.Duration(2 * time.Hour)})
	s.do("qmgr", "-c", "set server max_queued=2")
	try("more than the server takes of one user", jjm.Busy, 3, jjm.Request{})
	s.do("qmgr", "-c", "set server max_array_size=4")
	try("a larger array than the server takes", jjm.Busy, 5, jjm.Request{})
	s.probe()
	if c := s.a.Capabilities(); c.MaxQueued != 2 || c.MaxBulk != 4 || c.Slots != 16 || c.MaxCores != 16 {
		t.Errorf("%+v", c)
	}
}

func TestList_JobsOfOthersDoNoHarm(t *testing.T) {
	s := newSite(t)
	b := s.bulk(2, "exec sleep 600")
	r := s.submit(b)
	for _, args := range [][]string{
		{"-h", "-A", `he "q" \ acct \`}, {"-h", "-N", "12345"}, {"-h", "-N", "1e5"},
		{"-h", "-v", `A=nan,B=inf,D=+5,E=.5,F=12345678901234567890,G=C:\temp\`}, {"-h", "-v", "A=žluť\xff\xfe"},
		{"-h", "-N", string(b.Tag)}, {"-h", "-N", string(b.Tag), "-J", "0-1"},
	} {
		s.as("mallory", append([]string{"qsub"}, args...)...)
	}
	if got := s.list(b.Tag); len(got) != 2 || !strings.HasPrefix(got[1].ID, r.ID+"[") {
		t.Errorf("listed %+v", got)
	}
	if f := s.find(b.Tag); len(f.IDs) != 1 || f.IDs[0] != r.ID {
		t.Errorf("found %+v, the receipt has %s", f, r.ID)
	}
	theirs := s.as("mallory", "qsub", "-h", "-N", string(b.Tag))
	id, _, _ := strings.Cut(theirs, ".")
	s.wantKind("cancel", s.control(adapters.Cancel, adapters.Ref{Tag: b.Tag, ID: id, Index: -1})[0], jjm.Denied)
	if text := s.do("qstat", "-f", "-F", "json", theirs); !strings.Contains(text, `"job_state":"H"`) {
		t.Errorf("another's job was touched: %s", text)
	}
}

func TestCancel_WaitsForANodeThatIsDown(t *testing.T) {
	s := newSite(t)
	b := s.bulk(1, "exec sleep 600")
	refs := members(b, s.submit(b).ID)
	s.good(adapters.Release, refs...)
	s.until("running", b.Tag, all(1, jjm.BatchRunning))
	s.fault("mom-down", true)
	s.wantKind("cancel", s.control(adapters.Cancel, refs...)[0], jjm.Busy)
	s.probe()
	if n := s.a.Capabilities().Slots; n != 0 {
		t.Errorf("%d slots of a node that is down", n)
	}
	s.fault("mom-down", false)
	s.good(adapters.Cancel, refs...)
	s.until("cancelled", b.Tag, all(1, jjm.BatchCancelled))
}

func TestSubmit_LeavesNoOutputToDeliver(t *testing.T) {
	s := newSite(t, "STUCK=1h") // a job that has output to deliver stays in state E
	b := s.bulk(2, "echo out; echo err >&2")
	b.Log = filepath.Join(s.dir, "log")
	s.good(adapters.Release, members(b, s.submit(b).ID)...)
	s.until("over", b.Tag, all(2, jjm.BatchEndedOK))
}

// BenchmarkList10000 measures how long jjm itself takes for a listing of 10 000 members, without qstat.
func BenchmarkList10000(b *testing.B) {
	var text strings.Builder
	text.WriteString(
		"{\n    \"timestamp\":1,\n    \"pbs_version\":\"23.06.06\",\n    \"pbs_server\":\"h\",\n    \"Jobs\":{\n")
	job, _, _ := strings.Cut(string(recorded(b, "exit7_json").Stdout), "    }\n}\n")
	_, job, _ = strings.Cut(job, "\"31.pbshost\":{\n")
	job = strings.TrimSuffix(strings.TrimSpace(strings.Replace(job, `"exit7"`, `"jtestabcdefghij"`, 1)), "}")
	for i := range 10000 {
		comma := ","
		if i == 9999 {
			comma = ""
		}
		fmt.Fprintf(&text, "        \"7[%d].pbshost\":{\n%s            \"x\":\"y\"\n        }%s\n", i, job, comma)
	}
	text.WriteString("    }\n}\n")
	b.SetBytes(int64(text.Len()))
	listing := []byte(text.String())
	for b.Loop() {
		raws, err := parseJSON(listing)
		if err != nil || len(raws) != 10000 {
			b.Fatalf("%d jobs, error %v", len(raws), err)
		}
		for _, r := range raws {
			if j, ok := jobOf(r, openpbs); ok {
				_ = j.report(openpbs, time.UTC)
			}
		}
	}
}
