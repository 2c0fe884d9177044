package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"jjm"
	"jjm/adapters"
)

// suite is one check at work.
type suite struct {
	TB
	System
	began time.Time
	made  []jjm.Tag
	ctx   context.Context
}

// Context bounds every command of the check: on a busy machine one may take as
// long as all that the check waits for.
func (s *suite) Context() context.Context { return s.ctx }

// start runs the adapter if it wants to be, lets it probe, and cancels what is
// left at the end.
func (s *suite) start() {
	if r, ok := s.Adapter.(adapters.Runner); ok {
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
	s.Cleanup(s.sweep)
	if p, ok := s.Adapter.(adapters.Prober); ok && !s.Probed {
		if err := p.Probe(s.Context()); err != nil {
			s.Fatalf("probe: %v", err)
		}
	}
}

// sweep cancels what the check made and is still alive.
func (s *suite) sweep() {
	if len(s.made) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Patience)
	defer cancel()
	l, err := s.Adapter.List(ctx, s.Owner, s.began.Add(-time.Hour))
	if err != nil {
		s.Logf("what the check left cannot be listed: %v", err)
		return
	}
	var left []adapters.Ref
	for _, r := range l.Reports {
		for _, tag := range s.made {
			if r.Tag == tag && r.State.Alive() {
				left = append(left, jobRef(r))
			}
		}
	}
	if len(left) > 0 {
		_, _ = s.Adapter.Control(ctx, s.Owner, adapters.Cancel, left)
	}
}

// newTag makes a tag that no other check has.
func (s *suite) newTag() jjm.Tag {
	s.Helper()
	tag, err := jjm.NewTag(strings.ToLower(rand.Text()[:4]))
	if err != nil {
		s.Fatalf("%v", err)
	}
	return tag
}

// shell is a bulk of n jobs that run a script with /bin/sh.
func (s *suite) shell(n int, script string, args ...string) adapters.Bulk {
	s.Helper()
	return adapters.Bulk{
		Tag: s.newTag(), Owner: s.Owner, Request: s.Request, N: n, Dir: s.Dir,
		Argv: append([]string{"/bin/sh", "-c", script, "job"}, args...),
	}
}

// fit is the most jobs up to n that a bulk may have here.
func (s *suite) fit(n int) int {
	if most := s.Adapter.Capabilities().MaxBulk; most > 0 {
		n = min(n, most)
	}
	return n
}

// deposit hands a bulk over; on a system of two phases it is held then.
func (s *suite) deposit(b adapters.Bulk) adapters.Receipt {
	s.Helper()
	s.made = append(s.made, b.Tag)
	r, err := s.Adapter.Submit(s.Context(), b)
	if err != nil {
		s.Fatalf("%v", err)
	}
	if r.ID == "" {
		s.Fatalf("the receipt has no id")
	}
	return r
}

// submit hands a bulk over, and lets it run on a system of two phases.
func (s *suite) submit(b adapters.Bulk) adapters.Receipt {
	s.Helper()
	r := s.deposit(b)
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

// jobRef names a job by its own id.
func jobRef(r jjm.Report) adapters.Ref { return adapters.Ref{Tag: r.Tag, ID: r.ID, Index: -1} }

// control acts on jobs and wants success for each.
func (s *suite) control(op adapters.Op, jobs ...adapters.Ref) {
	s.Helper()
	for i, err := range s.answers(op, jobs) {
		if err != nil {
			s.Errorf("%v %+v: %v", op, jobs[i], err)
		}
	}
}

// answers acts on jobs and wants an answer for each.
func (s *suite) answers(op adapters.Op, jobs []adapters.Ref) []error {
	s.Helper()
	answers, err := s.Adapter.Control(s.Context(), s.Owner, op, jobs)
	if err != nil || len(answers) != len(jobs) {
		s.Fatalf("%v: %d answers for %d jobs, error %v", op, len(answers), len(jobs), err)
	}
	return answers
}

// reports lists everything since the check began. A batch system may be busy
// now and then, as long as it says so.
func (s *suite) reports() []jjm.Report {
	s.Helper()
	l, err := s.Adapter.List(s.Context(), s.Owner, s.began.Add(-time.Minute))
	for try := 1; jjm.KindOf(err) == jjm.Busy && try < 5; try++ {
		s.Logf("list, try %d: %v", try, err)
		s.pause()
		l, err = s.Adapter.List(s.Context(), s.Owner, s.began.Add(-time.Minute))
	}
	if err != nil {
		s.Fatalf("%v", err)
	}
	if l.At.Before(s.began.Add(-time.Minute)) || l.At.After(time.Now().Add(time.Minute)) {
		s.Errorf("the listing is of %v", l.At)
	}
	return l.Reports
}

// list returns the reports of one tag by index, and checks that none is there
// twice.
func (s *suite) list(tag jjm.Tag) map[int32]jjm.Report {
	s.Helper()
	found := map[int32]jjm.Report{}
	for _, r := range s.reports() {
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
	s.Fatalf("%d jobs were not %s within %v: %s", n, what, s.Patience, some(found))
	return nil
}

// some shows a few of many reports.
func some(found map[int32]jjm.Report) string {
	text, n := "", 0
	for _, r := range found {
		if n++; n > 5 {
			return fmt.Sprintf("%s ... (%d in all)", text, len(found))
		}
		text += fmt.Sprintf("%+v ", r)
	}
	if n == 0 {
		return "none is listed"
	}
	return text
}

// pause waits until a listing may differ.
func (s *suite) pause() {
	var changed <-chan struct{}
	if w, ok := s.Adapter.(adapters.Watcher); ok {
		changed = w.Changed()
	}
	select {
	case <-changed:
	case <-time.After(s.Pause):
	case <-s.Context().Done():
		s.Fatalf("stopped: %v", s.Context().Err())
	}
}

func ended(r jjm.Report) bool   { return r.State.Ended() }
func running(r jjm.Report) bool { return r.State == jjm.BatchRunning }
func waiting(r jjm.Report) bool { return r.State == jjm.BatchQueued || r.State == jjm.BatchHold }

// wait returns the reports of a bulk once it has ended.
func (s *suite) wait(b adapters.Bulk) map[int32]jjm.Report {
	s.Helper()
	return s.until("over", b.Tag, b.N, ended)
}

// waitCancelled returns the reports of jobs that were cancelled, once all have
// ended; where the batch system forgets such jobs, of those that it has.
func (s *suite) waitCancelled(b adapters.Bulk) map[int32]jjm.Report {
	s.Helper()
	if !s.ForgetsCancelled {
		return s.wait(b)
	}
	var found map[int32]jjm.Report
	for end := time.Now().Add(s.Patience); time.Now().Before(end); s.pause() {
		found = s.list(b.Tag)
		alive := 0
		for _, r := range found {
			if !ended(r) {
				alive++
			}
		}
		if alive == 0 {
			return found
		}
	}
	s.Fatalf("%d jobs were not over within %v: %s", b.N, s.Patience, some(found))
	return nil
}

// path is a file of the check's folder.
func (s *suite) path(name string) string { return filepath.Join(s.Dir, name) }

// file waits for a file that a job writes, and gives its content.
func (s *suite) file(name string) string {
	s.Helper()
	for end := time.Now().Add(s.Patience); time.Now().Before(end) &&
		s.Context().Err() == nil; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(s.path(name)); err == nil && len(text) > 0 {
			return string(text)
		}
	}
	s.Fatalf("no job wrote %s within %v", s.path(name), s.Patience)
	return ""
}

// absent wants that no job wrote a file.
func (s *suite) absent(name string) {
	s.Helper()
	if _, err := os.Stat(s.path(name)); err == nil {
		s.Errorf("it ran all the same: there is %s", name)
	}
}

func (s *suite) write(name string) {
	s.Helper()
	if err := os.WriteFile(s.path(name), []byte("x"), 0o666); err != nil {
		s.Fatalf("%v", err)
	}
}

// mostFill is the largest system that a check fills.
const mostFill = 128

// tooBig says why the system cannot be filled, "" if it can.
func tooBig(s *suite) string {
	c := s.Adapter.Capabilities()
	return unless(c.Slots > 0 && c.Slots <= mostFill && (c.MaxBulk == 0 || c.Slots+2 <= c.MaxBulk),
		fmt.Sprintf("a system of %d slots and bulks of %d is not filled", c.Slots, c.MaxBulk))
}

// unless returns the text if something is not so.
func unless(so bool, text string) string {
	if so {
		return ""
	}
	return text
}

// fill occupies the whole system, so that the next bulk waits: jobs for all its
// slots run, and two more wait before all that come later. The check lacks
// something where the system is tooBig.
func (s *suite) fill() (adapters.Bulk, adapters.Receipt) {
	s.Helper()
	c := s.Adapter.Capabilities()
	b := s.shell(c.Slots+2, "exec sleep 100")
	r := s.submit(b)
	same, last := 0, [2]int{}
	for end := time.Now().Add(s.Patience); time.Now().Before(end); s.pause() {
		run, wait := 0, 0
		for _, r := range s.list(b.Tag) {
			switch {
			case running(r):
				run++
			case waiting(r):
				wait++
			}
		}
		if now := [2]int{run, wait}; now != last {
			same, last = 0, now
		}
		// A job may need more than a slot, memory say: then fewer run.
		if same++; run == c.Slots && wait == 2 || run > 0 && wait >= 2 && same >= 20 {
			return b, r
		}
	}
	s.Fatalf("the system was not filled by %d jobs within %v: %s", b.N, s.Patience, some(s.list(b.Tag)))
	return b, r
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
