package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lasts returns the run time of a job that the check will cancel. The check waits for the end of that job for less than
// this time, so that it never takes a job that ended by itself for a cancelled job.
func lasts(s *suite) time.Duration { return 2*s.Patience + 10*time.Minute }

// beat is the interval at which a lasting job shows that it runs.
const beat = 100 * time.Millisecond

// lasting returns a script that runs for lasts(s). If jobs see the check's folder, the script appends a line every beat
// and exits when the folder is gone.
func lasting(s *suite) string {
	if !sharesFiles(s) {
		return fmt.Sprintf("exec sleep %d", int64(lasts(s).Seconds()))
	}
	return fmt.Sprintf(`i=0; while [ $i -lt %d ] && echo x >> "beats.$JJM_INDEX"; do i=$((i+1)); sleep %g; done`,
		lasts(s)/beat, beat.Seconds())
}

// A beat is a line that a process of a lasting job writes to show that it runs. After a job was reported as cancelled,
// its processes may beat for at most dyingFor. The processes count as gone if quietLooks consecutive looks, a beat
// apart, find no new beat.
const (
	dyingFor   = 2 * time.Minute
	quietLooks = 30
)

// nothingBeats fails the check if a process of its lasting jobs still runs after the jobs were reported as cancelled.
// If the jobs do not share files with the check, nothingBeats checks nothing.
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

// beating waits until n lasting jobs have written a beat. A listing alone does not prove that a job can be ended: it
// shows a job as running before the batch system can end it. (Grid Engine 8.1.9 kills a process group that the job
// makes a few ms after its start, and does not repeat a kill that was too early: seen in 1 of some 100 runs.)
func (s *suite) beating(n int) {
	for i := range n {
		s.file(fmt.Sprintf("beats.%d", i))
	}
}

// beats returns the number of bytes that all lasting jobs of the check have written.
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
