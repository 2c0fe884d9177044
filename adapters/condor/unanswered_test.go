package condor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// If a listing is incomplete, or its command complains, the jobs that it lacks do not count as absent.
func TestUnanswered_APartialListingIsBusyNotGone(t *testing.T) {
	queue := filepath.Join(t.TempDir(), "queue")
	if err := os.WriteFile(queue, recorded(t, "q_none").Stdout, 0o666); err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(t.TempDir(), "states")
	if err := os.WriteFile(whole, recorded(t, "q_states").Stdout, 0o666); err != nil {
		t.Fatal(err)
	}
	owner, ref := jjm.Owner{User: "ann"}, []adapters.Ref{{Tag: "rlost", ID: "99", Index: 0}}
	good := "cat " + queue
	partial := map[string]string{
		"nothing":           "exit 0",
		"cut within a line": "head -c 700 " + whole,
		"a complaint":       good + "; echo 'SECMAN:2007: Failed to end classad message.' >&2",
		"an exit code":      good + "; exit 1",
	}
	for name, body := range partial {
		for _, bad := range []string{sourceQueue, sourceHistory} {
			bin := t.TempDir()
			for _, command := range []string{sourceQueue, sourceHistory} {
				text := good
				if command == bad {
					text = body
				}
				if err := os.WriteFile(filepath.Join(bin, command), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			a := adapterOf(t, func(c *Config) { c.Bin = bin })
			if got, err := a.List(t.Context(), owner, time.Unix(0, 0)); jjm.KindOf(err) != jjm.Busy {
				t.Errorf("%s, %s: listed %+v, error %v", bad, name, got, err)
			}
			if got, err := a.Find(t.Context(), owner, []jjm.Tag{"rlost"}); jjm.KindOf(err) != jjm.Busy {
				t.Errorf("%s, %s: found %+v, error %v", bad, name, got, err)
			}
			if got, err := a.Account(t.Context(), owner, ref); jjm.KindOf(err) != jjm.Busy {
				t.Errorf("%s, %s: accounted %+v, error %v", bad, name, got, err)
			}
			if bad != sourceQueue {
				continue
			}
			if got, err := a.Control(t.Context(), owner, adapters.Cancel, ref); jjm.KindOf(err) != jjm.Busy {
				t.Errorf("%s, %s: cancelled %+v, error %v", bad, name, got, err)
			}
		}
	}
}
