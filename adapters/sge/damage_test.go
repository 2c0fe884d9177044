package sge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func damagedSite(t *testing.T, listing, accounting string) *Adapter {
	t.Helper()
	bin := t.TempDir()
	for name, text := range map[string]string{"listing": listing, "accounting": accounting,
		"qstat": "#!/bin/sh\ncase \"$*\" in *-j*) echo \"<?xml version='1.0'?><unknown_jobs></unknown_jobs>\"; exit 0;; esac\n" +
			"cat " + filepath.Join(bin, "listing") + "\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a, err := lonely(t, func(c *Config) { c.Bin, c.Accounting = bin, filepath.Join(bin, "accounting") })
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestList_AnUnreadTaskWithTheNoteOfACancelIsNotCancelled(t *testing.T) {
	whole := string(tagged(recorded(t, "qstat_xml.xml")))
	good, _, err := parseListing([]byte(whole), "jjmuser")
	if err != nil || len(good) == 0 {
		t.Fatal(err)
	}
	e := good[0]
	a := damagedSite(t, strings.ReplaceAll(whole, "<state>"+e.letters+"</state>", "<state>Z</state>"), "")
	now := jjm.At(time.Now())
	note := noteLine{At: now, User: "jjmuser", Tag: e.tag, Job: e.bulk, Tasks: "1", Submitted: now}
	if err := a.notes.add([]noteLine{note}); err != nil {
		t.Fatal(err)
	}
	l, err := a.List(t.Context(), jjm.Owner{User: "jjmuser"}, time.Unix(0, 0))
	if err != nil || len(l.Unread) == 0 {
		t.Fatalf("unread %+v, error %v", l.Unread, err)
	}
	for _, r := range l.Reports {
		if r.Tag == e.tag && r.State == jjm.BatchCancelled {
			t.Errorf("listed and unreadable, but reported ended: %+v", r)
		}
	}
}

func TestFind_AnUnreadAccountingLineIsNotAbsence(t *testing.T) {
	f := make([]string, columns)
	for i := range f {
		f[i] = "0"
	}
	f[colOwner], f[colName], f[colJob], f[colTask] = "jjmuser", "jgone", "77", "1"
	f[colPETask], f[colEnd] = "NONE", "17952x"
	a := damagedSite(t, "<?xml version='1.0'?>\n<job_info>\n<queue_info></queue_info><job_info></job_info></job_info>\n",
		strings.Join(f, ":")+"\n")
	owner := jjm.Owner{User: "jjmuser"}
	l, err := a.List(t.Context(), owner, time.Unix(0, 0))
	found, err2 := a.Find(t.Context(), owner, []jjm.Tag{"jgone"})
	if err != nil || len(l.Unread) != 1 || l.Unread[0].Tag != "jgone" {
		t.Errorf("list: %+v, error %v", l, err)
	}
	if err2 != nil || found[0].Presence != adapters.NotYetKnown {
		t.Errorf("find: %+v, error %v", found, err2)
	}
	ref := adapters.Ref{Tag: "jgone", ID: "77", Index: 0}
	got, err := a.Account(t.Context(), owner, []adapters.Ref{ref})
	if err != nil || len(got) != 1 || got[0].State != jjm.BatchUnknown {
		t.Errorf("account: %+v, error %v", got, err)
	}
}
