package plain

import "testing"

func TestShare(t *testing.T) {
	for fraction, want := range map[float64]string{0: "0 %", 0.0001: "0.1 %", 0.0694: "6.9 %", 0.9999: "99.9 %",
		1: "100 %", 1.315: "131.5 %"} {
		if got := Share(fraction); got != want {
			t.Errorf("%v: %q, want %q", fraction, got, want)
		}
	}
}
