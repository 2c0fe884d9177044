package sge

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// If a listing is incomplete, or its command complains, the tasks that it lacks do not count as absent.
func TestUnanswered_APartialListingIsBusyNotGone(t *testing.T) {
	listing := filepath.Join(t.TempDir(), "listing")
	if err := os.WriteFile(listing, tagged(recorded(t, "qstat_xml.xml")), 0o666); err != nil {
		t.Fatal(err)
	}
	owner, ref := jjm.Owner{User: "jjmuser"}, []adapters.Ref{{Tag: "jjmarr", ID: "9", Index: 3}}
	for name, body := range map[string]string{
		"nothing":      "exit 0",
		"cut":          "head -n 12 " + listing,
		"a complaint":  "cat " + listing + "; echo 'error: commlib error: got read error' >&2",
		"an exit code": "cat " + listing + "; exit 1",
	} {
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "qstat"), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		a, err := lonely(t, func(c *Config) { c.Bin, c.Accounting = bin, filepath.Join(bin, "accounting") })
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.List(t.Context(), owner, time.Unix(0, 0)); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: listed %+v, error %v", name, got, err)
		}
		if got, err := a.Find(t.Context(), owner, []jjm.Tag{"jjmarr"}); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: found %+v, error %v", name, got, err)
		}
		if got, err := a.Control(t.Context(), owner, adapters.Cancel, ref); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: cancelled %+v, error %v", name, got, err)
		}
	}
}

// qstat -j answers about one of two arrays. The adapter concludes nothing about the other array.
func TestUnanswered_DetailsOfOneArrayEndNoOther(t *testing.T) {
	a, err := lonely(t)
	if err != nil {
		t.Fatal(err)
	}
	entries := []entry{
		{tag: "jone", bulk: 1, tasks: []span{{1, 1, 1}}, letters: "r", state: jjm.BatchRunning},
		{tag: "jtwo", bulk: 2, tasks: []span{{1, 1, 1}}, letters: "r", state: jjm.BatchRunning},
	}
	a.memory.learn([]detail{{bulk: 1, name: "jone"}}, time.Unix(1000, 0))
	if got := a.memory.reports(entries); len(got) != 2 {
		t.Errorf("reported %+v", got)
	}
}
