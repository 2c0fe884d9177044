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

// BenchmarkShortJobs tells what a job of /bin/true costs the daemon.
func BenchmarkShortJobs(t *testing.B) {
	for t.Loop() {
		shortJobs(t)
	}
}

func shortJobs(t *testing.B) {
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
	t.ReportMetric(float64((cpu(t)-before).Microseconds())/n, "µs-CPU/job")
	t.ReportMetric(float64(time.Since(began).Microseconds())/n, "µs/job")
}
