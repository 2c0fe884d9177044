package local_test

import (
	"syscall"
	"testing"
	"time"

	"jjm"
	"jjm/adapters"
)

// cpu is what this process itself has used.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

func TestRun_ShortJobsAreCheap(t *testing.T) {
	const n = 2000
	a := open(t, t.TempDir(), config(4))
	serve(t, a)
	before := cpu(t)
	began := time.Now()
	var bulks []adapters.Bulk
	for range n / 1000 {
		b := bulk(t, 1000, "/bin/true")
		submit(t, a, b)
		bulks = append(bulks, b)
	}
	for _, b := range bulks {
		for _, r := range waitEnd(t, a, b) {
			if r.State != jjm.BatchEndedOK {
				t.Fatalf("%+v", r)
			}
		}
	}
	used, took := cpu(t)-before, time.Since(began)
	t.Logf("%d jobs in %v; %v CPU each", n, took.Round(time.Millisecond), (used / n).Round(time.Microsecond))
	if used/n > time.Millisecond && !raced {
		t.Errorf("a job costs the daemon %v CPU, more than 1 ms", used/n)
	}
}
