package adaptertest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm"
	"jjm/adapters"
)

// System is a batch system under test.
type System struct {
	// Adapter is the one to test. If it is a Runner the suite runs it.
	Adapter adapters.Adapter
	// Owner is as whom jobs are submitted.
	Owner jjm.Owner
	// Other is a second owner whose jobs the adapter can submit; nil if there
	// is none.
	Other *jjm.Owner
	// Dir is an absolute folder that jobs of Owner can write and the test can
	// read.
	Dir string
	// Patience is how long a short job may take from submission to its end in
	// the listing; 0 means 30 s.
	Patience time.Duration
	// Walltime is the shortest limit that the batch system enforces; 0 leaves
	// the test of it out.
	Walltime time.Duration
	// NoHold is set where waiting jobs cannot be held.
	NoHold bool
}

// Run checks an adapter against the contract in package adapters, with real
// jobs. open makes the system anew for each subtest; it may give the same
// batch system again, as every job has a tag of its own.
func Run(t *testing.T, open func(t *testing.T) System) {
	tests := []struct {
		name string
		test func(*suite)
	}{
		{"ends are told apart", (*suite).ends},
		{"jobs know who they are", (*suite).identity},
		{"a listing carries everything", (*suite).listing},
		{"since hides what ended before", (*suite).since},
		{"a hundred jobs in a bulk", (*suite).hundred},
		{"jobs under a second are not missed", (*suite).short},
		{"odd names pass unchanged", (*suite).oddNames},
		{"known and unknown tags are found", (*suite).find},
		{"unknown ids are no trouble", (*suite).unknown},
		{"a waiting job can be cancelled", (*suite).cancelWaiting},
		{"a running job can be cancelled, twice", (*suite).cancelRunning},
		{"an ended job can be cancelled without change", (*suite).cancelEnded},
		{"one job of a bulk can be cancelled", (*suite).cancelOne},
		{"a held job waits for its release", (*suite).hold},
		{"the walltime limit is enforced", (*suite).walltime},
		{"the jobs of two owners are kept apart", (*suite).owners},
		{"a context that ended stops the call", (*suite).context},
		{"a bad bulk is refused", (*suite).refuse},
		{"all methods may be called at once", (*suite).concurrent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &suite{T: t, System: open(t), began: time.Now()}
			if s.Patience == 0 {
				s.Patience = 30 * time.Second
			}
			s.start()
			tt.test(s)
		})
	}
}

// suite is one subtest.
type suite struct {
	*testing.T
	System
	began time.Time
	made  []jjm.Tag
}

// start runs the adapter if it wants to be, and cancels what is left at the end.
func (s *suite) start() {
	r, ok := s.Adapter.(adapters.Runner)
	if ok {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		s.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				s.Errorf("run: %v", err)
			}
		})
	}
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.Patience)
		defer cancel()
		l, err := s.Adapter.List(ctx, s.Owner, s.began.Add(-time.Hour))
		if err != nil {
			return
		}
		for _, r := range l.Reports {
			for _, tag := range s.made {
				if r.Tag == tag && r.State.Alive() {
					_, _ = s.Adapter.Control(ctx, s.Owner, adapters.Cancel, []adapters.Ref{{Tag: r.Tag, ID: r.ID, Index: -1}})
				}
			}
		}
	})
}

// newTag makes a tag that no other test has.
func (s *suite) newTag() jjm.Tag {
	tag, err := jjm.NewTag(strings.ToLower(rand.Text()[:4]))
	if err != nil {
		s.Fatal(err)
	}
	return tag
}

// shell is a bulk of n jobs that run a script with /bin/sh.
func (s *suite) shell(n int, script string, args ...string) adapters.Bulk {
	return adapters.Bulk{
		Tag: s.newTag(), Owner: s.Owner, N: n, Dir: s.Dir,
		Argv: append([]string{"/bin/sh", "-c", script, "job"}, args...),
	}
}

// submit hands a bulk over, and lets it run on a system of two phases.
func (s *suite) submit(b adapters.Bulk) adapters.Receipt {
	s.Helper()
	s.made = append(s.made, b.Tag)
	r, err := s.Adapter.Submit(s.Context(), b)
	if err != nil {
		s.Fatal(err)
	}
	if r.ID == "" {
		s.Fatal("the receipt has no id")
	}
	if s.Adapter.Capabilities().TwoPhase {
		s.control(adapters.Release, refs(b, r)...)
	}
	return r
}

func refs(b adapters.Bulk, r adapters.Receipt) []adapters.Ref {
	all := make([]adapters.Ref, b.N)
	for i := range all {
		all[i] = adapters.Ref{Tag: b.Tag, ID: r.ID, Index: int32(i)}
	}
	return all
}

// control acts on jobs and wants success for each.
func (s *suite) control(op adapters.Op, jobs ...adapters.Ref) {
	s.Helper()
	answers, err := s.Adapter.Control(s.Context(), s.Owner, op, jobs)
	if err != nil || len(answers) != len(jobs) {
		s.Fatalf("%v: %d answers for %d jobs, error %v", op, len(answers), len(jobs), err)
	}
	for i, err := range answers {
		if err != nil {
			s.Errorf("%v %+v: %v", op, jobs[i], err)
		}
	}
}

// list gives the reports of one tag by index, and checks that the listing is
// sound.
func (s *suite) list(tag jjm.Tag) map[int32]jjm.Report {
	s.Helper()
	l, err := s.Adapter.List(s.Context(), s.Owner, s.began.Add(-time.Minute))
	if err != nil {
		s.Fatal(err)
	}
	if l.At.Before(s.began.Add(-time.Minute)) || l.At.After(time.Now().Add(time.Minute)) {
		s.Errorf("the listing is of %v", l.At)
	}
	found := map[int32]jjm.Report{}
	for _, r := range l.Reports {
		if r.Tag != tag {
			continue
		}
		if old, twice := found[r.Index]; twice {
			s.Errorf("job %d is listed twice: %+v and %+v", r.Index, old, r)
		}
		found[r.Index] = r
	}
	return found
}

// until waits for all n jobs of a tag to be in a state that ok accepts.
func (s *suite) until(what string, tag jjm.Tag, n int, ok func(jjm.Report) bool) map[int32]jjm.Report {
	s.Helper()
	var found map[int32]jjm.Report
	for end := time.Now().Add(s.Patience); time.Now().Before(end); s.pause() {
		found = s.list(tag)
		good := 0
		for _, r := range found {
			if ok(r) {
				good++
			}
		}
		if good == n {
			return found
		}
	}
	s.Fatalf("%d jobs were not %s within %v: %+v", n, what, s.Patience, found)
	return nil
}

// pause waits until a listing may differ.
func (s *suite) pause() {
	if w, ok := s.Adapter.(adapters.Watcher); ok {
		select {
		case <-w.Changed():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	time.Sleep(20 * time.Millisecond)
}

func ended(r jjm.Report) bool   { return r.State.Ended() }
func running(r jjm.Report) bool { return r.State == jjm.BatchRunning }
func waiting(r jjm.Report) bool { return r.State == jjm.BatchQueued || r.State == jjm.BatchHold }

// wait gives the reports of a bulk once it has ended.
func (s *suite) wait(b adapters.Bulk) map[int32]jjm.Report {
	s.Helper()
	return s.until("over", b.Tag, b.N, ended)
}

// file waits for a file that a job writes, and gives its content.
func (s *suite) file(name string) string {
	s.Helper()
	path := filepath.Join(s.Dir, name)
	for end := time.Now().Add(s.Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
			return string(text)
		}
	}
	s.Fatalf("no job wrote %s within %v", path, s.Patience)
	return ""
}

// fill occupies the whole system, so that the next bulk waits. It skips the
// test where the size of the system is not known.
func (s *suite) fill() adapters.Bulk {
	s.Helper()
	c := s.Adapter.Capabilities()
	if c.MaxCores == 0 || c.MaxCores != c.Slots {
		s.Skip("the system cannot be filled by one job")
	}
	b := s.shell(1, "sleep 60")
	b.Request.Cores = c.MaxCores
	s.submit(b)
	s.until("running", b.Tag, 1, running)
	return b
}

func (s *suite) wantKind(what string, err error, kinds ...jjm.Kind) {
	s.Helper()
	for _, k := range kinds {
		if err != nil && jjm.KindOf(err) == k {
			return
		}
	}
	s.Errorf("%s: error %v of kind %q, want kind %v", what, err, jjm.KindOf(err), fmt.Sprint(kinds))
}
