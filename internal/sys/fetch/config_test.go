package fetch

import (
	"testing"

	"jjm/internal/jjm"
)

func TestConfig_SaysEveryMistake(t *testing.T) {
	if ps := Defaults().Check(); len(ps) > 0 {
		t.Error(ps)
	}
	bad := Config{MaxBytes: -1, MinRate: -1, ParallelPerUser: -1, Networks: []string{"10.0.0.0/8", "10.0.0.1", "x"},
		Certificates: "ca.pem"}
	want := []string{"max_bytes", "max_time", "min_rate", "tries", "parallel_per_user", "networks[1]", "networks[2]",
		"certificates"}
	ps := bad.Check()
	if len(ps) != len(want) {
		t.Fatal(ps)
	}
	for i, field := range want {
		if ps[i].Field != field || ps[i].Text == "" {
			t.Errorf("%v: want one of %s", ps[i], field)
		}
	}
}

func TestTries_CountThoseInVain(t *testing.T) {
	var n Tries
	for i, c := range []struct{ bytes, want int64 }{{0, 1}, {100, 2}, {2 << 20, 1}, {2 << 20, 2}, {0, 3}, {2<<20 + 5, 4},
		{4 << 20, 1}} {
		if got := n.Add(Report{Bytes: c.bytes}); int64(got) != c.want {
			t.Errorf("try %d with %d bytes: %d in vain, want %d", i, c.bytes, got, c.want)
		}
	}
}

// The account of the child process controls what the child reports. Therefore bounded limits the numbers and texts of a
// report.
func TestReport_IsBounded(t *testing.T) {
	r := Report{Bytes: -5, Total: -1, Trouble: "a\x1b[31m\n" + string(make([]byte, 10_000)),
		Wait: jjm.Duration(-1)}.bounded()
	if r.Bytes != 0 || r.Total != 0 || len(r.Trouble) > maxTrouble+3 || r.Trouble[:6] != "a [31m" {
		t.Errorf("%+v", r)
	}
}
