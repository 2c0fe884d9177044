package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lasts returns how long a job runs that the check cancels: longer than the check may wait for the job's end, so that
// an end by itself is never mistaken for an effect of the cancel.
func lasts(s *suite) time.Duration { return 2*s.Patience + 10*time.Minute }

// beat is how often a lasting job shows that it runs.
const beat = 100 * time.Millisecond

// lasting returns a script that runs for the time of lasts. Where files are shared, the script writes a beat all the
// time that it runs, and ends when the check's folder is gone.
func lasting(s *suite) string {
	if !sharesFiles(s) {
		return fmt.Sprintf("exec sleep %d", int64(lasts(s).Seconds()))
	}
	return fmt.Sprintf(`i=0; while [ $i -lt %d ] && echo x >> "beats.$JJM_INDEX"; do i=$((i+1)); sleep %g; done`,
		lasts(s)/beat, beat.Seconds())
}

// No process of a job that was reported as cancelled may beat for longer than dyingFor. The processes count as gone
// after quietLooks looks, a beat apart, without a new beat.
const (
	dyingFor   = 2 * time.Minute
	quietLooks = 30
)

// nothingBeats fails the check if a process of its lasting jobs still runs after the jobs were reported as cancelled.
// Where files are not shared, it checks nothing.
func nothingBeats(s *suite) {
	s.Helper()
	if !sharesFiles(s) {
		return
	}
	end := time.Now().Add(min(s.Patience, dyingFor))
	last := beats(s)
	for quiet := 0; quiet < quietLooks; quiet++ {
		time.Sleep(beat)
		now := beats(s)
		if now == last {
			continue
		}
		last, quiet = now, -1
		if time.Now().After(end) {
			s.because(causeCancel)
			s.Errorf("a process of a job that is reported as cancelled still runs")
			return
		}
	}
}

// beating waits until n lasting jobs have written a beat. A listing shows a job as running before the batch system can
// end it. (Grid Engine 8.1.9 kills a process group that the job makes a few ms after its start, and does not kill again
// if it was too early: seen in 1 of some 100 runs.)
func (s *suite) beating(n int) {
	for i := range n {
		s.file(fmt.Sprintf("beats.%d", i))
	}
}

// beats returns how much all lasting jobs of the check have written.
func beats(s *suite) (n int) {
	paths, _ := filepath.Glob(s.path("beats.*"))
	for _, path := range paths {
		// Opening a file makes a network file system show what other hosts wrote to it.
		text, err := os.ReadFile(path)
		if err != nil {
			s.Fatalf("%v", err)
		}
		n += len(text)
	}
	return n
}
