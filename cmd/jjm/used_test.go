package main

import (
	"testing"

	"jjm/internal/jjm"
)

// The text about used resources contains the host and the batch job only if they are known.
func TestUsageText_EndsWithWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		usage jjm.Usage
		want  string
	}{
		{jjm.Usage{Batch: "3_0", Host: "n1"}, "batch job 3_0 on n1"},
		{jjm.Usage{Batch: "3_0"}, "batch job 3_0"},
		{jjm.Usage{}, ""},
		{jjm.Usage{Batch: "3_0", Ended: 5}, "wall 0 ms, CPU 0 ms user and 0 ms system, 0 MiB at most; first batch job 3_0"},
		{jjm.Usage{Ended: 5, MaxRSSKB: 1025}, "wall 0 ms, CPU 0 ms user and 0 ms system, 2 MiB at most"},
		{jjm.Usage{Ended: 5}, "wall 0 ms, CPU 0 ms user and 0 ms system, 0 MiB at most"},
	} {
		if got := usageText(&c.usage); got != c.want {
			t.Errorf("%+v: %q, want %q", c.usage, got, c.want)
		}
	}
}
