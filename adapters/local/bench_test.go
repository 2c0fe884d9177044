package local_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// cpu returns the CPU time of this process.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// BenchmarkShortJobs measures the cost of a job of /bin/true for the daemon.
func BenchmarkShortJobs(t *testing.B) {
	for t.Loop() {
		shortJobs(t, t.TempDir(), func(b *adapters.Bulk) {})
	}
}

// BenchmarkShortJobsOfAnother measures the cost of the same jobs if they run as another account than the daemon's.
func BenchmarkShortJobsOfAnother(t *testing.B) {
	base := rootOnly(t)
	for i := 0; t.Loop(); i++ {
		state := filepath.Join(base, strconv.Itoa(i))
		if err := os.Mkdir(state, 0o755); err != nil {
			t.Fatal(err)
		}
		shortJobs(t, state, func(b *adapters.Bulk) { b.Owner, b.Dir = nobody, "/" })
	}
}

func shortJobs(t *testing.B, state string, change func(*adapters.Bulk)) {
	const n = 2000
	a := open(t, state, config(4))
	serve(t, a)
	before := cpu(t)
	began := time.Now()
	var bulks []adapters.Bulk
	for range n / 1000 {
		b := bulk(t, 1000, "/bin/true")
		change(&b)
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
