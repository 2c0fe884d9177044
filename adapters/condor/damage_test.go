package condor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// An unreadable record makes only its own job doubtful.
func TestUnread_ARecordCostsItsOwnJob(t *testing.T) {
	lines := bytes.SplitAfter(recorded(t, "q_states").Stdout, []byte("\n"))
	records, _, err := parseTable(bytes.Join(lines, nil))
	if err != nil || len(records) < 2 || len(lines) < 4 {
		t.Fatalf("the recording: %d jobs, %v", len(records), err)
	}
	odd, good := records[0], records[1]
	f := strings.Split(string(lines[1]), "\t") // the first line after the heading
	f[3] = "x"                                 // a state that is no number
	lines[1] = []byte(strings.Join(f, "\t"))
	bin := t.TempDir()
	answer := string(bytes.Join(lines, nil))
	files := map[string]string{"answer": answer, sourceQueue: "#!/bin/sh\ncat " + bin + "/answer\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := adapterOf(t, func(c *Config) { c.Bin, c.History = bin, false })
	owner := jjm.Owner{User: odd.owner}
	refs := []adapters.Ref{{Tag: odd.tag, ID: odd.String(), Index: -1}, {Tag: "jother", ID: "999999", Index: 0}}
	found, err := a.Find(t.Context(), owner, []jjm.Tag{good.tag, "jother"})
	if err != nil || found[0].Presence != adapters.Present || found[1].Presence != adapters.Absent {
		t.Errorf("find: %+v, %v", found, err)
	}
	reports, err := a.Account(t.Context(), owner, refs)
	i := len(reports) - 1
	if err != nil || i < 0 || reports[i].ID != odd.String() || reports[i].State != jjm.BatchUnknown {
		t.Errorf("account: %+v, %v", reports, err)
	}
	answers, err := a.Control(t.Context(), owner, adapters.Cancel, refs)
	if err != nil || jjm.KindOf(answers[0]) != jjm.Busy || answers[1] != nil {
		t.Errorf("cancel: %v, %v", answers, err)
	}
}
