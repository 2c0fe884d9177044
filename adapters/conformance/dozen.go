package conformance

import (
	"fmt"
	"os"
	"time"

	"jjm/internal/jjm"
)

// dozenLooks listings must each show dozenMost of a dozen jobs running at once, or as many as there are slots.
const (
	dozen      = 12
	dozenMost  = 8
	dozenLooks = 5
	// dozenFor is how long the jobs run at most where no shared file can end them.
	dozenFor = 20 * time.Second
)

// onlooker judges listings of a dozen jobs.
type onlooker struct {
	book *ledger
	// want is how many jobs must be seen running at once, most the largest number that was seen. looks counts the
	// listings that showed at least want running jobs.
	want, most, looks int
}

func newOnlooker(slots int, lag time.Duration) *onlooker {
	want := dozenMost
	if slots > 0 {
		want = min(want, slots)
	}
	return &onlooker{book: newLedger(lag), want: want}
}

// look judges one more listing.
func (o *onlooker) look(now time.Time, reports []jjm.Report) (problems []string) {
	problems = o.book.look(now, reports)
	n := o.book.running()
	if o.most = max(o.most, n); n >= o.want {
		o.looks++
	}
	return problems
}

// lacking returns why the listings show too little to judge by, "" if they show enough.
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

// staying returns a script of jobs that run until letGo is called, or the folder of the check is
// gone. Where files are not shared they run for some listings.
func staying(s *suite) (script string, letGo func()) {
	if !sharesFiles(s) {
		lasts := min(max(dozenLooks*s.Pause, time.Second), dozenFor)
		return fmt.Sprintf("exec sleep %d", int(lasts.Seconds())+1), func() {}
	}
	s.write("stay")
	// cat opens the file, so that a network file system asks its server whether the file is still there.
	return `while cat stay >/dev/null 2>&1; do sleep 0.5; done`, func() { _ = os.Remove(s.path("stay")) }
}

// longestStay is how long jobs are kept running for listings at most: they must have time left to
// end within their walltime and the patience of the check.
func longestStay(s *suite) time.Duration {
	if w := s.Request.Walltime.D(); w > 0 {
		return min(s.Patience, w/2)
	}
	return s.Patience
}
