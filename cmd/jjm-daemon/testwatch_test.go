package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// While no check begins or ends, a line names the running checks every 30 s. The end of a check restarts the 30 s.
func TestTestWatch_SaysWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := newTestWatch(&out, sayAfter)
		for _, name := range []string{"a", "b", "c"} {
			w.began(name)
		}
		time.Sleep(31 * time.Second)
		w.ended("a")
		time.Sleep(29 * time.Second)
		w.ended("b")
		time.Sleep(31 * time.Second)
		w.ended("c")
		time.Sleep(time.Hour)
		w.stop()
		want := "after 30 s still waiting for: a, b, and 1 more\nafter 1 min 30 s still waiting for: c\n"
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	})
}
