package cost

import (
	"testing"
	"time"
)

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Logf(string, ...any)   {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func square(n int) func() {
	return func() {
		sum := 0
		for i := range n {
			for j := range n {
				sum += i ^ j
			}
		}
		sink = sum
	}
}

var sink int

func TestLinear_FindsQuadraticCost(t *testing.T) {
	for _, c := range []struct {
		name         string
		small, large func()
		want         bool
	}{
		{"a square", square(2000), square(20_000), true},
		{"ten times", square(2000), square(6325), false},
	} {
		r := &recorder{TB: t}
		if Linear(r, c.small, c.large); r.failed != c.want {
			t.Errorf("%s: failed %v", c.name, r.failed)
		}
	}
}

func TestCPU_DoesNotCountSleep(t *testing.T) {
	if took := CPU(t, func() { time.Sleep(20 * time.Millisecond) }); took > 10*time.Millisecond {
		t.Errorf("sleeping 20 ms took %v of processor time", took)
	}
}
