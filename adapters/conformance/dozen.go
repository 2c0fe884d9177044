package conformance

import (
	"fmt"
	"os"
	"time"

	"jjm/internal/jjm"
)

// At least dozenLooks listings must show dozenMost of a dozen jobs running at the same time, or as many jobs as there
// are slots.
const (
	dozen      = 12
	dozenMost  = 8
	dozenLooks = 5
	// dozenFor is the longest run time of the jobs if no shared file can end them.
	dozenFor = 20 * time.Second
)

// onlooker judges listings of a dozen jobs.
type onlooker struct {
	book *ledger
	// want is the number of jobs that must be seen running at the same time; most is the largest number that was seen.
	// looks counts the listings that showed at least want running jobs.
	want, most, looks int
}

func newOnlooker(slots int, lag time.Duration) *onlooker {
	want := dozenMost
	if slots > 0 {
		want = min(want, slots)
	}
	return &onlooker{book: newLedger(lag), want: want}
}

// look judges the next listing and returns the problems that it found.
func (o *onlooker) look(now time.Time, reports []jjm.Report) (problems []string) {
	problems = o.book.look(now, reports)
	n := o.book.running()
	if o.most = max(o.most, n); n >= o.want {
		o.looks++
	}
	return problems
}

// lacking returns the reason why the listings so far are not enough for a verdict, "" if the listings are enough.
func (o *onlooker) lacking() string {
	switch {
	case o.looks >= dozenLooks:
		return ""
	case o.most == 0:
		return fmt.Sprintf("no listing was made while any of the %d jobs ran", dozen)
	case o.most < o.want:
		return fmt.Sprintf("at most %d of %d jobs were seen running at once, and %d are needed: try again when the queue is less busy",
			o.most, dozen, o.want)
	}
	return fmt.Sprintf("only %s showed %d jobs running at once, and %d are needed", jjm.Count(o.looks, "listing"), o.want,
		dozenLooks)
}

// wholeRunning lists a dozen jobs while they wait and run. If files are shared, the jobs run until enough listings have
// shown them, however slow submissions and listings are.
func wholeRunning(s *suite) {
	c := s.Adapter.Capabilities()
	o := newOnlooker(c.Slots, c.Lag)
	script, letGo := staying(s)
	defer letGo()
	size := s.fit(dozen)
	for submitted := 0; submitted < dozen; submitted += size {
		b := s.shell(min(size, dozen-submitted), script)
		s.submit(b)
		o.book.expect(b.Tag, b.N)
	}
	began := time.Now()
	for ; !o.book.done(dozen); s.pause() {
		for _, problem := range o.look(time.Now(), s.reports()) {
			s.Errorf("%s", problem)
		}
		if s.Failed() {
			return
		}
		if o.lacking() == "" || time.Since(began) > longestStay(s) {
			letGo()
		}
		if time.Since(began) > 2*s.Patience {
			s.because(causeWaiting)
			s.Fatalf("%d of %d jobs had ended after %v", o.book.ended, dozen, 2*s.Patience)
		}
	}
	s.Logf("%s of %d jobs, of which %d ran at once", jjm.Count(o.book.looks, "listing"), dozen, o.most)
	if why := o.lacking(); why != "" {
		notTried(s, why)
	}
}

// staying returns a script for jobs that run until letGo is called, or until the folder of the check is gone. If files
// are not shared, the jobs run for the duration of some listings.
func staying(s *suite) (script string, letGo func()) {
	if !sharesFiles(s) {
		lasts := min(max(dozenLooks*s.Pause, time.Second), dozenFor)
		return fmt.Sprintf("exec sleep %d", int(lasts.Seconds())+1), func() {}
	}
	s.write("stay")
	// cat opens the file, which makes a network file system ask its server whether the file still exists.
	return `while cat stay >/dev/null 2>&1; do sleep 0.5; done`, func() { _ = os.Remove(s.path("stay")) }
}

// longestStay returns the longest time for which jobs are kept running for listings: afterwards the jobs must still
// have time to end within their walltime and the patience of the check.
func longestStay(s *suite) time.Duration {
	if w := s.Request.Walltime.D(); w > 0 {
		return min(s.Patience, w/2)
	}
	return s.Patience
}
