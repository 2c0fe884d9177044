package xmldb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

func changesOf(n int) (all []jjm.JournalEntry) {
	for i := range n {
		e := jjm.JournalEntry{Seq: int64(i + 1), Time: jjm.Time(1700000000000 + int64(i)), Grid: 17, First: int32(i),
			Last: int32(i + 1),
			From: "running", To: "failed/limit", Cause: "exit code 3 <&>", Source: "verdict"}
		if i%3 == 0 {
			e.First, e.Last, e.From, e.Cause, e.Actor = -1, -1, "", "", "alice (uid 1000)"
		}
		all = append(all, e)
	}
	return all
}

func TestHistory_ComesBackAsItWasAndFollowsTheSchema(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 1)
	want := changesOf(7)
	if err := db.PublishHistory(17, want, false); err != nil {
		t.Fatal(err)
	}
	got, err := head.ReadHistory(dir, 17)
	if diff := cmp.Diff(want, got.Changes); diff != "" || err != nil || got.Older || got.Written == 0 {
		t.Errorf("%+v, %v (-want +got):\n%s", got, err, diff)
	}
	wantValid(t, filepath.Join(dir, "17", head.HistoryFile))
}

func TestHistory_KeepsTheLastThatFit(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 1)
	all := changesOf(1000)
	for i := range all {
		all[i].Cause = strings.Repeat("ß", 5000)
	}
	if err := db.PublishHistory(17, all, false); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "17", head.HistoryFile))
	got, errRead := head.ReadHistory(dir, 17)
	if err != nil || errRead != nil || info.Size() > head.MaxHistory || !got.Older || len(got.Changes) < 100 ||
		got.Changes[len(got.Changes)-1].Seq != 1000 {
		t.Errorf("%v, %v, %v, %d changes", info, err, errRead, len(got.Changes))
	}
}

func TestReadHistory_SaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"": "no element history", "<gridjob/>": "want history", "<history gridjob=\"18\"/>": "is the history of grid job 18",
		"<history gridjob=\"17\"><change seq=\"x\"/></history>": "not a number", "<!DOCTYPE x><history/>": "document type",
		"<history gridjob=\"17\">": "unexpected EOF",
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "17"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "17", head.HistoryFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := head.ReadHistory(dir, 17); jjm.KindOf(err) != jjm.Internal || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := head.ReadHistory(t.TempDir(), 17); jjm.KindOf(err) != jjm.Gone {
		t.Errorf("none: %v", err)
	}
}

// For any texts of changes, the written file is a valid history.
func TestHistory_IsReadableWhateverCausesHold(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	publish(t, db, 17, 1)
	rapid.Check(t, func(t *rapid.T) {
		e := changesOf(2)[1]
		e.Cause, e.To = rapid.String().Draw(t, "cause"), rapid.String().Draw(t, "to")
		e.Actor = rapid.String().Draw(t, "actor")
		if err := db.PublishHistory(17, []jjm.JournalEntry{e}, true); err != nil {
			t.Fatal(err)
		}
		if h, err := head.ReadHistory(dir, 17); err != nil || len(h.Changes) != 1 || !h.Older {
			t.Fatalf("%+v, %v", h, err)
		}
	})
}
