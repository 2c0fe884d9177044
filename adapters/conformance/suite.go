package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// suite is the state of one running check.
type suite struct {
	TB
	System
	under adapters.Adapter // System.Adapter without the wrapper that repeats failed commands
	began time.Time        // when the check began
	made  []jjm.Tag        // tags of the bulks that the check submitted
	// unseen are the jobs that the check submitted and that no answer has shown yet.
	unseen *unseenJobs
	ctx    context.Context
}

// Context returns the context for every command of the check. A single command gets no shorter deadline, because on a
// busy machine one command may take as long as the whole check.
func (s *suite) Context() context.Context { return s.ctx }

// start runs the adapter if it is a Runner, probes the batch system, and registers a clean-up that cancels the check's
// remaining jobs.
func (s *suite) start() {
	if r, ok := s.under.(adapters.Runner); ok {
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
	if p, ok := s.under.(adapters.Prober); ok && !s.Probed {
		if err := p.Probe(s.Context()); err != nil {
			s.because(causeProbe)
			s.Fatalf("probe: %v", err)
		}
	}
}

// sweep cancels the jobs of the check that are still alive.
func (s *suite) sweep() {
	if len(s.made) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Patience)
	defer cancel()
	l, err := s.Adapter.List(ctx, s.Owner, s.began.Add(-time.Hour))
	if err != nil {
		s.Logf("list the jobs that the check left: %v", err)
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

// newTag returns a tag that no other check uses.
func (s *suite) newTag() jjm.Tag {
	s.Helper()
	tag, err := jjm.NewTag(strings.ToLower(rand.Text()[:4]))
	if err != nil {
		s.Fatalf("%v", err)
	}
	return tag
}

// shell returns a bulk of n jobs that run a script with /bin/sh.
func (s *suite) shell(n int, script string, args ...string) adapters.Bulk {
	s.Helper()
	return adapters.Bulk{
		Tag: s.newTag(), Owner: s.Owner, Request: s.Request, N: n, Dir: s.Dir,
		Argv: append([]string{"/bin/sh", "-c", script, "job"}, args...),
	}
}

// each runs the script once for each word, with the word as its first argument, in as few bulks as the system allows.
// When all jobs have ended, each returns the reports in the order of the words.
func (s *suite) each(script string, words ...string) []jjm.Report {
	s.Helper()
	parts := slices.Collect(slices.Chunk(words, s.fit(256)))
	bulks := make([]adapters.Bulk, len(parts))
	for i, part := range parts {
		bulks[i] = s.shell(len(part), `shift "$JJM_INDEX"; `+script, part...)
		s.submit(bulks[i])
	}
	var all []jjm.Report
	for i, part := range parts {
		found := s.wait(bulks[i])
		for index := range part {
			all = append(all, found[int32(index)])
		}
	}
	return all
}

// lists reports whether listings contain a fact.
func (s *suite) lists(fact string) bool {
	p, ok := s.under.(Partial)
	return !ok || !slices.Contains(p.Unlisted(), fact)
}

// unlisted returns a function for Check.lacks. A check of a fact needs it if the listings of some adapters lack the
// fact.
func unlisted(fact string) func(*suite) string {
	return func(s *suite) string {
		return unless(s.lists(fact), "the listing of this cluster does not have "+fact+": jjm takes it from its wrapper")
	}
}

// oneJob returns the reason why bulks of several jobs cannot be tested here, "" if they can.
func oneJob(s *suite) string {
	return unless(s.Adapter.Capabilities().MaxBulk != 1, "this cluster takes one job in a submission: it has no arrays")
}

// fit returns n, or MaxBulk if that is lower.
func (s *suite) fit(n int) int {
	if most := s.Adapter.Capabilities().MaxBulk; most > 0 {
		n = min(n, most)
	}
	return n
}

// submitOnly submits a bulk. A two-phase system then holds the bulk.
func (s *suite) submitOnly(b adapters.Bulk) adapters.Receipt {
	s.Helper()
	s.needBulks(b.N)
	s.made = append(s.made, b.Tag)
	r, err := s.Adapter.Submit(s.Context(), b)
	if err != nil {
		s.because(refusal(err))
		s.Fatalf("%v", err)
	}
	if r.ID == "" {
		s.Fatalf("the receipt has no id")
	}
	return r
}

// submit submits a bulk. On a two-phase system it also releases the bulk.
func (s *suite) submit(b adapters.Bulk) adapters.Receipt {
	s.Helper()
	r := s.submitOnly(b)
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

// jobRef returns a reference to a job by the job's own id.
func jobRef(r jjm.Report) adapters.Ref { return adapters.Ref{Tag: r.Tag, ID: r.ID, Index: -1} }

// control applies an operation to jobs and expects success for each job.
func (s *suite) control(op adapters.Op, jobs ...adapters.Ref) {
	s.Helper()
	for i, err := range s.answers(op, jobs) {
		if err != nil {
			s.Errorf("%v of %+v: %v", op, jobs[i], err)
		}
	}
}

// answers applies an operation to jobs and expects one answer for each job.
func (s *suite) answers(op adapters.Op, jobs []adapters.Ref) []error {
	s.Helper()
	answers, err := s.Adapter.Control(s.Context(), s.Owner, op, jobs)
	if op == adapters.Cancel && s.ForgetsCancelled {
		s.unseen.forget(jobs)
	}
	if err != nil || len(answers) != len(jobs) {
		s.Fatalf("%v: %s for %s, error %v", op, jjm.Count(len(answers), "answer"), jjm.Count(len(jobs), "job"), err)
	}
	return answers
}

// reports lists all jobs since the start of the check. If the batch system is busy, it repeats the listing up to four
// times.
func (s *suite) reports() []jjm.Report {
	s.Helper()
	l, err := s.Adapter.List(s.Context(), s.Owner, s.began.Add(-time.Minute))
	for try := 1; jjm.KindOf(err) == jjm.Busy && try < 5; try++ {
		s.Logf("list, try %d: %v", try, err)
		s.pause()
		l, err = s.Adapter.List(s.Context(), s.Owner, s.began.Add(-time.Minute))
	}
	if err != nil {
		s.because(causeList)
		s.Fatalf("%v", err)
	}
	if l.At.Before(s.began.Add(-time.Minute)) || l.At.After(time.Now().Add(time.Minute)) {
		s.Errorf("the time of the listing is %v", l.At)
	}
	return l.Reports
}

// list returns the reports for one tag by index, and fails the check if a job is listed twice.
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
		if running(r) || r.State == jjm.BatchEndedOK {
			s.aJobStarted()
		}
	}
	return found
}

// aJobStarted records for the other checks of a site that the batch system starts jobs.
func (s *suite) aJobStarted() {
	if s.Site != nil {
		s.Site.started.Store(true)
	}
}

// until waits until all n jobs of a tag are in a state that ok accepts.
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
	s.becauseOf(n, found)
	s.Fatalf("%s did not get %s within %v: %s", jjm.Count(n, "job"), what, s.Patience, some(found))
	return nil
}

// becauseOf records the cause of a failure if the last listing lacks some of the n jobs or shows waiting jobs.
func (s *suite) becauseOf(n int, found map[int32]jjm.Report) {
	waits := 0
	for _, r := range found {
		if waiting(r) {
			waits++
		}
	}
	switch {
	case len(found) < n:
		s.because(causeUnlisted)
	case waits > 0:
		s.because(causeWaiting)
	}
}

// some returns the first few reports as text.
func some(found map[int32]jjm.Report) string {
	text, n := "", 0
	for _, r := range found {
		if n++; n > 5 {
			return fmt.Sprintf("%sand so on, %d in all", text, len(found))
		}
		text += tell(r) + "; "
	}
	if n == 0 {
		return "none is listed"
	}
	return strings.TrimSuffix(text, "; ")
}

// pause waits until the next listing may differ from the last.
func (s *suite) pause() {
	var changed <-chan struct{}
	if w, ok := s.under.(adapters.Watcher); ok {
		changed = w.Changed()
	}
	select {
	case <-changed:
	case <-time.After(s.Pause):
	case <-s.Context().Done():
		s.Fatalf("stopped: %v", jjm.Plainly(s.Context().Err()))
	}
}

func ended(r jjm.Report) bool   { return r.State.Ended() }
func running(r jjm.Report) bool { return r.State == jjm.BatchRunning }
func waiting(r jjm.Report) bool { return r.State == jjm.BatchQueued || r.State == jjm.BatchHold }

// wait waits until all jobs of a bulk have ended, and returns their reports.
func (s *suite) wait(b adapters.Bulk) map[int32]jjm.Report {
	s.Helper()
	return s.until("over", b.Tag, b.N, ended)
}

// waitCancelled waits until all cancelled jobs have ended, and returns their reports. If the batch system forgets
// cancelled jobs, it returns only the reports of jobs that are still listed.
func (s *suite) waitCancelled(b adapters.Bulk) map[int32]jjm.Report {
	s.Helper()
	var found map[int32]jjm.Report
	for end := time.Now().Add(s.Patience); time.Now().Before(end); s.pause() {
		found = s.list(b.Tag)
		over := 0
		for _, r := range found {
			if ended(r) {
				over++
			}
		}
		if over == b.N || s.ForgetsCancelled && over == len(found) {
			return found
		}
	}
	s.becauseOf(b.N, found)
	for _, r := range found {
		if running(r) {
			s.because(causeCancel)
		}
	}
	s.Fatalf("cancelled, %s did not end within %v: %s", jjm.Count(b.N, "job"), s.Patience, some(found))
	return nil
}

// path returns the path of a file in the check's folder.
func (s *suite) path(name string) string { return filepath.Join(s.Dir, name) }

// file waits for a file that a job writes, and returns the content.
func (s *suite) file(name string) string {
	s.Helper()
	for end := time.Now().Add(s.Patience); time.Now().Before(end) &&
		s.Context().Err() == nil; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(s.path(name)); err == nil && len(text) > 0 {
			s.aJobStarted()
			return string(text)
		}
	}
	for _, tag := range s.made {
		for _, r := range s.list(tag) {
			if waiting(r) {
				s.because(causeWaiting)
			}
		}
	}
	s.Fatalf("no job wrote %s within %v", s.path(name), s.Patience)
	return ""
}

// absent checks that no job wrote a file.
func (s *suite) absent(name string) {
	s.Helper()
	if _, err := os.Stat(s.path(name)); err == nil {
		s.Errorf("the job ran although it must not: it wrote %s", name)
	}
}

func (s *suite) write(name string) {
	s.Helper()
	if err := os.WriteFile(s.path(name), []byte("x"), 0o666); err != nil {
		s.Fatalf("%v", err)
	}
}

// maxFill is the largest number of slots that a check fills.
const maxFill = 128

// tooBig returns the reason why the check cannot fill the system, "" if it can.
func tooBig(s *suite) string {
	c := s.Adapter.Capabilities()
	return unless(c.Slots > 0 && c.Slots <= maxFill && (c.MaxBulk == 0 || c.Slots+2 <= c.MaxBulk),
		fmt.Sprintf("a system of %d slots and bulks of %d cannot be filled", c.Slots, c.MaxBulk))
}

// unless returns "" if the condition holds, otherwise the text.
func unless(so bool, text string) string {
	if so {
		return ""
	}
	return text
}

// fill occupies the whole system, so that the next bulk waits. It starts jobs for all slots, and two more jobs that
// wait in front of all later jobs. It returns the bulk of these jobs. A check that calls fill must have tooBig in
// lacks.
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
		// A job may need more than one slot, for example because of its memory; then fewer jobs run.
		if same++; run == c.Slots && wait == 2 || run > 0 && wait >= 2 && same >= 20 {
			return b, r
		}
	}
	s.Fatalf("the system was not filled by %s within %v: %s", jjm.Count(b.N, "job"), s.Patience, some(s.list(b.Tag)))
	return b, r
}

// wantKind fails the check unless err is of one of the kinds.
func (s *suite) wantKind(what string, err error, kinds ...jjm.Kind) {
	s.Helper()
	for _, k := range kinds {
		if err != nil && jjm.KindOf(err) == k {
			return
		}
	}
	var words []string
	for _, k := range kinds {
		words = append(words, k.String())
	}
	s.Errorf("%s: error %v of kind %q, want %s", what, err, jjm.KindOf(err), jjm.AnyOf(words))
}
