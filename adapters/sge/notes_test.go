package sge

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func TestNotes_SurviveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cancels")
	n, err := openNotes(path, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	recent, old := jjm.At(time.Now().Add(-time.Minute)), jjm.At(time.Now().Add(-2*time.Hour))
	err = errors.Join(
		n.add([]noteLine{{At: old, User: "ann", Tag: "jold", Job: 1, Tasks: "1-3"}}),
		n.add([]noteLine{{At: recent, User: "ann", Tag: "jnew", Job: 2, Tasks: "2-3,5", Submitted: 7},
			{At: recent, User: "bob", Tag: "jbob", Job: 3, Tasks: "1"}}),
		n.add(nil),
	)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`{"at":1795281100000,"user":"ann","tag":"jto`) // a full disk
	_ = f.Close()
	n, err = openNotes(path, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	note := note{user: "ann", at: recent, submitted: 7}
	want := map[key]any{{"jnew", 2, 2}: note, {"jnew", 2, 3}: note, {"jnew", 2, 5}: note}
	got := map[key]any{}
	for k, t := range n.all("ann", time.Now()) {
		got[k] = t
	}
	if len(got) != 3 || got[key{"jnew", 2, 5}] != want[key{"jnew", 2, 5}] {
		t.Errorf("%+v", got)
	}
	if err := n.add([]noteLine{{At: recent, User: "ann", Tag: "jlater", Job: 4, Tasks: "1"}}); err != nil {
		t.Fatal(err)
	}
	if n, err = openNotes(path, time.Hour); err != nil || len(n.all("ann", time.Now())) != 4 {
		t.Errorf("%+v, error %v", n, err)
	}
	if left := n.all("ann", time.Now().Add(2*time.Hour)); len(left) != 0 {
		t.Errorf("after two hours, kept for one: %+v", left)
	}
}

func TestEndReports_OfCancelledTasks(t *testing.T) {
	k := key{"jtag", 42, 7}
	waited, ran := note{at: 5000}, note{at: 5000, started: 3000}
	killed := mustRecord(t, line("jtag", 42, 7, 100, 137))
	stuck := mustRecord(t, line("jtag", 42, 7, 26, 0))
	lateReport := jjm.Report{Tag: "jtag", Index: 6, ID: "42.7", State: jjm.BatchRunning}
	tests := []struct {
		name   string
		alive  bool
		late   bool
		record *record
		note   *note
		want   jjm.BatchState
	}{
		{"waiting, gone", false, false, nil, &waited, jjm.BatchCancelled},
		{"waiting, just gone", false, true, nil, &waited, jjm.BatchCancelled},
		{"waiting, not gone", true, false, nil, &waited, jjm.BatchUnknown},
		{"running, its record is late", false, true, nil, &ran, jjm.BatchRunning},
		{"running, no record ever came", false, false, nil, &ran, jjm.BatchCancelled},
		{"running, killed", false, false, &killed, &ran, jjm.BatchCancelled},
		{"killed by another", false, false, &killed, nil, jjm.BatchEndedFailed},
		{"in error, deleted", false, false, &stuck, &waited, jjm.BatchCancelled},
		{"in error, deleted by another", false, false, &stuck, nil, jjm.BatchAborted},
		{"in error", true, false, &stuck, nil, jjm.BatchUnknown},
	}
	for _, tt := range tests {
		alive, notes := map[key]jjm.Report{}, map[key]note{}
		var late []jjm.Report
		var records []record
		if tt.alive {
			alive[k] = jjm.Report{}
		}
		if tt.late {
			late = append(late, lateReport)
		}
		if tt.record != nil {
			records = append(records, *tt.record)
		}
		if tt.note != nil {
			notes[k] = *tt.note
		}
		got := endReports(alive, late, records, notes, 0, func(key) bool { return tt.record != nil })
		state := jjm.BatchUnknown
		if len(got) > 0 {
			state = got[0].State
		}
		if len(got) > 1 || state != tt.want {
			t.Errorf("%s: %+v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestMemory_AsksOnlyWhatItDoesNotKnow(t *testing.T) {
	m := newMemory()
	waiting := entry{tag: "ja", bulk: 1, tasks: []span{{1, 9, 1}}, letters: "qw", state: jjm.BatchQueued,
		submitted: jjm.At(now)}
	running := entry{tag: "jb", bulk: 2, tasks: []span{{1, 9, 1}}, letters: "r", state: jjm.BatchRunning,
		started: jjm.At(now)}
	blocked := entry{tag: "jc", bulk: 3, tasks: []span{{2, 2, 1}}, letters: "Eqw", state: jjm.BatchHold,
		submitted: jjm.At(now)}
	all := []entry{waiting, running, blocked}
	if ask := m.toAskAbout(all, now); !cmp.Equal(ask, []int64{2, 3}) {
		t.Errorf("asks about %v", ask)
	}
	m.learn([]detail{
		{bulk: 2, name: "jb", submitted: 5000},
		{bulk: 3, name: "stranger", submitted: 6000, errors: map[int32]string{2: "not ours"}},
		{bulk: 3, name: "jc", submitted: 7000, errors: map[int32]string{2: "no folder"}},
	}, now)
	if ask := m.toAskAbout(all, now.Add(time.Minute)); len(ask) != 0 {
		t.Errorf("asks again about %v", ask)
	}
	if ask := m.toAskAbout(all, now.Add(3*time.Minute)); !cmp.Equal(ask, []int64{1}) {
		t.Errorf("of what waits for long it asks about %v", ask)
	}
	reports := m.reports(all)
	if r := reports[key{"jb", 2, 9}]; r.Submitted != 5000 || r.Index != 8 || r.ID != "2.9" {
		t.Errorf("%+v", r)
	}
	if r := reports[key{"jc", 3, 2}]; r.Reason != "in error: no folder" || r.Hold != "Eqw" {
		t.Errorf("%+v", r)
	}
}

func TestMemory_ReportsAnEndedTaskUntilItsRecordIsWritten(t *testing.T) {
	m, f := newMemory(), newFile(t)
	k := key{"ja", 1, 1}
	told := jjm.Time(1795281016000) // three seconds before the start in the record of the accounting file
	alive := map[key]jjm.Report{k: {Tag: "ja", ID: "1.1", State: jjm.BatchRunning, Started: told}}
	if late := m.awaitingRecords("jjmtest", alive, f.h, now, time.Minute); len(late) != 0 {
		t.Errorf("%+v", late)
	}
	none := map[key]jjm.Report{}
	late := m.awaitingRecords("jjmtest", none, f.h, now.Add(time.Second), time.Minute)
	if len(late) != 1 || late[0].ID != "1.1" ||
		!late[0].State.Alive() {
		t.Errorf("in the gap: %+v", late)
	}
	if late := m.awaitingRecords("other", none, f.h, now.Add(time.Second), time.Minute); len(late) != 0 {
		t.Errorf("another user's: %+v", late)
	}
	f.add(line("ja", 1, 1, 0, 0) + "\n")
	f.count()
	if late := m.awaitingRecords("jjmtest", none, f.h, now.Add(2*time.Second), time.Minute); len(late) != 0 {
		t.Errorf("with its record: %+v", late)
	}
	if r, _ := f.h.get(k, "jjmtest"); r.started != told {
		t.Errorf("its start became %v", r.started)
	}
	m.awaitingRecords("jjmtest", map[key]jjm.Report{{"jb", 2, 1}: {Tag: "jb", ID: "2.1"}}, f.h, now, time.Minute)
	if late := m.awaitingRecords("jjmtest", none, f.h, now.Add(2*time.Minute), time.Minute); len(late) != 0 {
		t.Errorf("after the gap: %+v", late)
	}
}

func TestControl_NamesOnlyLivingTasksWithTheTag(t *testing.T) {
	living := map[key]task{
		{"ja", 1, 1}: {letters: "qw"}, {"ja", 1, 2}: {letters: "hqw"}, {"ja", 1, 3}: {letters: "r"},
		{"ja", 1, 4}: {letters: "dr"}, {"ja", 1, 5}: {letters: "Eqw"},
	}
	var jobs []adapters.Ref
	for i := range int32(7) {
		jobs = append(jobs, adapters.Ref{Tag: "ja", ID: "1", Index: i})
	}
	jobs = append(jobs, jobs[0], adapters.Ref{Tag: "jb", ID: "1", Index: 0}, adapters.Ref{Tag: "ja", ID: "1.1", Index: -1},
		adapters.Ref{Tag: "ja", ID: "1", Index: -1}, adapters.Ref{Tag: "ja", ID: "1.1", Index: 0},
		adapters.Ref{Tag: "ja", ID: "x"})
	for op, want := range map[adapters.Op][]string{
		adapters.Cancel: {"1.1-3", "1.5"}, adapters.HoldJobs: {"1.1", "1.5"}, adapters.Release: {"1.2", "1.5"},
	} {
		if got := taskSets(needing(op, jobs, living)); !cmp.Equal(got, want) {
			t.Errorf("%v: %q, want %q", op, got, want)
		}
	}
}

func TestControl_AnswersFromTheListingAfterTheCommand(t *testing.T) {
	k := key{"ja", 1, 1}
	for _, tt := range []struct {
		op      adapters.Op
		letters string // state letters of qstat; "" if the task is gone
		said    string
		kind    jjm.Kind
	}{
		{adapters.Cancel, "", "", jjm.Unclassified}, {adapters.Cancel, "dr", "", jjm.Unclassified},
		{adapters.Cancel, "qw", "?", jjm.Busy},
		{adapters.Cancel, "r", `bob - you do not have the necessary privileges to delete the job "1"`, jjm.Denied},
		{adapters.Release, "qw", "", jjm.Unclassified}, {adapters.Release, "hqw", "", jjm.Denied},
		{adapters.Release, "Eqw", "", jjm.Busy},
		{adapters.HoldJobs, "hqw", "", jjm.Unclassified}, {adapters.HoldJobs, "r", "", jjm.Unclassified},
		{adapters.HoldJobs, "qw", "", jjm.Busy},
	} {
		after := map[key]task{}
		if tt.letters != "" {
			after[k] = task{letters: tt.letters}
		}
		if err := verdict(tt.op, k, after, tt.said); jjm.KindOf(err) != tt.kind {
			t.Errorf("%v, now %q: %v", tt.op, tt.letters, err)
		}
	}
}

func FuzzParseNote(f *testing.F) {
	f.Add([]byte(`{"at":1795281100000,"user":"ann","tag":"jtag","job":2,"tasks":"1-3,5"}`))
	f.Add([]byte(`{"at":1`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if l, err := parseNote(text); err == nil && (!l.Tag.Valid() || l.Job < 1) {
			t.Errorf("%+v", l)
		}
	})
}

func TestRanBefore_ARecordOfTheCurrentRunIsNoRestart(t *testing.T) {
	for name, c := range map[string]struct {
		alive jjm.Time // start of its present run; 0 if it waits
		last  record
		want  int
	}{
		"this run, ended meanwhile":     {1000, record{started: 3000, runs: 1}, 0},
		"rescheduled, runs again":       {9000, record{started: 3000, runs: 1}, 1},
		"rescheduled, waits":            {0, record{started: 3000, runs: 2}, 2},
		"second run, ended meanwhile":   {9000, record{started: 9000, runs: 2}, 1},
		"a record without a start time": {9000, record{runs: 1}, 1},
	} {
		if got := ranBefore(jjm.Report{Started: c.alive}, c.last); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
