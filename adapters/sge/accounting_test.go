package sge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
)

// line returns a record of the accounting file as Grid Engine 8.1.9 writes it, with the columns that jjm reads.
// change holds pairs of texts, of which the second replaces the first in the record.
func line(tag string, job, task, failed, exit int, change ...string) string {
	text := fmt.Sprintf(
		"all.q:node7:jjmtest:jjmtest:%s:%d:sge:0:1795281015:1795281019:1795281022:%d:%d:3:0.004849:0.005245:4740.000000:"+
			"0:0:0:0:446:0:0:0.000000:8:0:0:0:9:6:NONE:defaultdepartment:NONE:1:%d:0.010094:0.000000:0.000030:NONE:0.000000:NONE:3231744.000000:0:0",
		tag, job, failed, exit, task)
	return strings.NewReplacer(change...).Replace(text)
}

func mustRecord(t testing.TB, text string) record {
	t.Helper()
	r, ok, err := parseRecord(text)
	if err != nil || !ok {
		t.Fatalf("%s: ok %v, error %v", text, ok, err)
	}
	return r
}

func TestRecord_DistinguishesKindsOfEnds(t *testing.T) {
	limit := []string{":NONE:0.000000:NONE:", ":-l h_rt=2,h_vmem=300M:0.000000:NONE:"}
	memory := append([]string{"3231744.000000", "330000000.000000"}, limit[0], ":-l h_vmem=300M:0.000000:NONE:")
	tests := []struct {
		name         string
		failed, code int
		change       []string
		cancelled    bool
		state        jjm.BatchState
		exit, signal int
	}{
		{name: "well", state: jjm.BatchEndedOK},
		{name: "exit 7", code: 7, state: jjm.BatchEndedFailed, exit: 7},
		{name: "exit 137 is no signal", code: 137, state: jjm.BatchEndedFailed, exit: 137},
		{name: "KILL", failed: 100, code: 137, state: jjm.BatchEndedFailed, exit: 137, signal: 9},
		{name: "KILL after a cancel", failed: 100, code: 137, cancelled: true, state: jjm.BatchCancelled, exit: 137,
			signal: 9},
		{name: "an end of its own after a cancel", code: 3, cancelled: true, state: jjm.BatchEndedFailed, exit: 3},
		{name: "success before a cancel came", cancelled: true, state: jjm.BatchEndedOK},
		{name: "h_rt by the qmaster", failed: 37, code: 137, change: limit, state: jjm.BatchTimeout, exit: 137, signal: 9},
		{name: "h_rt by the execd", failed: 100, code: 137, change: limit, state: jjm.BatchTimeout, exit: 137, signal: 9},
		{name: "h_vmem", failed: 37, code: 137, change: memory, state: jjm.BatchOOM, exit: 137, signal: 9},
		{name: "h_vmem by the execd", failed: 100, code: 137, change: memory, state: jjm.BatchOOM, exit: 137, signal: 9},
		{name: "a shielded exit 99", failed: 100, code: 128 + signalFor99, state: jjm.BatchEndedFailed, exit: 99},
		{name: "a shielded exit 100", failed: 100, code: 128 + signalFor100, state: jjm.BatchEndedFailed, exit: 100},
		{name: "a bare exit 100", failed: 30, code: 100, state: jjm.BatchEndedFailed, exit: 100},
		{name: "no output file", failed: 26, state: jjm.BatchAborted},
		{name: "no working directory", failed: 28, state: jjm.BatchAborted},
		{name: "rescheduled and gone", failed: 25, code: 99, state: jjm.BatchAborted, exit: 99},
		{name: "the epilog failed", failed: 15, state: jjm.BatchAborted},
		{name: "a code of the future", failed: 77, state: jjm.BatchAborted},
	}
	for _, tt := range tests {
		r := mustRecord(t, line("jtag", 6, 3, tt.failed, tt.code, tt.change...)).report(tt.cancelled)
		if r.State != tt.state || r.Exit != tt.exit || r.Signal != tt.signal {
			t.Errorf("%s: %+v", tt.name, r)
		}
		if tt.state == jjm.BatchAborted && r.Reason == "" {
			t.Errorf("%s: no reason", tt.name)
		}
	}
}

func TestRecord_HasTheFacts(t *testing.T) {
	r := mustRecord(t, line("jtag", 6, 3, 0, 0)).report(false)
	want := jjm.Report{
		Tag: "jtag", Index: 2, ID: "6.3", State: jjm.BatchEndedOK, Host: "node7", Source: "accounting",
		Submitted: 1795281015000, Started: 1795281019000, Ended: 1795281022000, CPUms: 10, RSSKB: 4740,
	}
	if r != want {
		t.Errorf("%+v", r)
	}
	// Univa Grid Engine writes times in milliseconds.
	if r := mustRecord(t, line("jtag", 6, 3, 0, 0, "1795281022:", "1795281022123:")); r.ended != 1795281022123 {
		t.Errorf("ended %v", r.ended)
	}
}

func TestRecord_OthersAreLeftOut(t *testing.T) {
	for _, text := range []string{"", "# Version: 8.1.9", "all.q:node7:a:a:my_job:6", line("jtag", 6, 0, 0, 0),
		line("My Job", 6, 1, 0, 0),
		line("jtag", 6, 1, 0, 0, ":NONE:3231744", ":1.node7:3231744")} {
		if r, ok, err := parseRecord(text); ok || err != nil {
			t.Errorf("%q: %+v, error %v", text, r, err)
		}
	}
	for _, text := range []string{line("jtag", 6, 1, 0, 0)[:90], line("jtag", 6, 1, 0, 0, "1795281022", "soon"),
		line("jtag", 6, 1, 0, 0, "4740.", "nan")} {
		if r, ok, err := parseRecord(text); ok || err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

func TestRecord_AFailureNearTheMemoryLimitIsLabelled(t *testing.T) {
	r := mustRecord(t, line("jtag", 6, 1, 0, 1, ":NONE:0.000000:NONE:3231744",
		":-l h_vmem=300M:0.000000:NONE:300000000")).report(false)
	if r.State != jjm.BatchEndedFailed || !strings.Contains(r.Reason, "memory limit") {
		t.Errorf("%+v", r)
	}
}

// now is a time shortly after the end of the task in the records of line.
var now = time.Unix(1795281100, 0)

type file struct {
	testing.TB
	path string
	h    *history
	said int
}

func newFile(t testing.TB) *file {
	f := &file{TB: t, path: filepath.Join(t.TempDir(), "accounting")}
	f.h = newHistory(f.path, time.Hour, func(string, ...any) { f.said++ })
	return f
}

func (f *file) add(text string) {
	f.Helper()
	w, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = w.WriteString(text)
		_ = w.Close()
	}
	if err != nil {
		f.Fatal(err)
	}
}

// count reads the new records of the file, and returns the number of all records known so far.
func (f *file) count() int {
	f.Helper()
	if err := f.h.refresh(f.Context(), now); err != nil {
		f.Fatal(err)
	}
	return len(f.h.of("jjmtest", 0))
}

func TestHistory_ReadsWhatIsAdded(t *testing.T) {
	f := newFile(t)
	if n := f.count(); n != 0 {
		t.Errorf("%d records of a file that is not there yet", n)
	}
	f.add("# Version: 8.1.9\n" + line("ja", 1, 1, 0, 0) + "\n")
	if n := f.count(); n != 1 {
		t.Errorf("%d records", n)
	}
	half := line("ja", 1, 2, 0, 7) + "\n"
	f.add(half[:50])
	if n := f.count(); n != 1 {
		t.Errorf("%d records with half a line", n)
	}
	f.add(half[50:])
	if n := f.count(); n != 2 {
		t.Errorf("%d records", n)
	}
	if r, ok := f.h.get(key{"ja", 1, 2}, "jjmtest"); !ok || r.exit != 7 {
		t.Errorf("%+v", r)
	}
	if _, ok := f.h.get(key{"ja", 1, 2}, "other"); ok {
		t.Error("another user has it")
	}
}

func TestHistory_ARotationLosesNothing(t *testing.T) {
	f := newFile(t)
	f.add(line("ja", 1, 1, 0, 0) + "\n")
	f.count()
	f.add(line("ja", 1, 2, 0, 0) + "\n")
	if err := os.Rename(f.path, f.path+".1"); err != nil {
		t.Fatal(err)
	}
	if n := f.count(); n != 2 {
		t.Errorf("%d records after the renaming", n)
	}
	f.add(line("ja", 1, 3, 0, 0) + "\n")
	if n := f.count(); n != 3 {
		t.Errorf("%d records of both files", n)
	}
	if err := os.Truncate(f.path, 0); err != nil {
		t.Fatal(err)
	}
	f.add("#\n" + line("ja", 2, 4, 0, 0)[:1])
	if n := f.count(); n != 3 {
		t.Errorf("%d records after the file was cut", n)
	}
}

func TestHistory_ARerunIsCountedAndTheLastRecordCounts(t *testing.T) {
	f := newFile(t)
	f.add(line("ja", 1, 1, 25, 99) + "\n" + line("ja", 1, 1, 25, 0, "1795281015:1795281019:1795281022", "0:0:0") + "\n" +
		line("ja", 1, 1, 0, 0) + "\n")
	f.count()
	r, ok := f.h.get(key{"ja", 1, 1}, "jjmtest")
	if got := r.report(false); !ok || got.Restarts != 2 || got.State != jjm.BatchEndedOK {
		t.Errorf("%+v", got)
	}
	// A record with the same job number and another tag belongs to another job, because Grid Engine reuses numbers.
	f.add(line("jb", 1, 1, 0, 4) + "\n")
	f.count()
	if r, _ := f.h.get(key{"ja", 1, 1}, "jjmtest"); r.exit != 0 {
		t.Errorf("%+v", r)
	}
}

func TestHistory_ABadLineIsWarnedAboutAndSkipped(t *testing.T) {
	f := newFile(t)
	f.add(line("ja", 1, 1, 0, 0)[:80] + "\n" + line("ja", 1, 2, 0, 0) + "\n")
	if n := f.count(); n != 1 || f.said != 1 {
		t.Errorf("%d records, %d warnings", n, f.said)
	}
}

func TestHistory_ForgetsWhatIsOld(t *testing.T) {
	f := newFile(t)
	f.add(line("ja", 1, 1, 0, 0) + "\n")
	f.count()
	if err := f.h.refresh(t.Context(), now.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := len(f.h.of("jjmtest", 0)); n != 0 {
		t.Errorf("%d records after two hours, kept for one", n)
	}
	late := newFile(t)
	late.add(line("ja", 1, 1, 0, 0) + "\n")
	if err := late.h.refresh(t.Context(), now.Add(2*time.Hour)); err != nil || len(late.h.of("jjmtest", 0)) != 0 {
		t.Errorf("an old record was taken, error %v", err)
	}
}

func TestKeep_IsHowLongEndsAreRemembered(t *testing.T) {
	for keep, want := range map[time.Duration]int{time.Hour: 0, 3 * time.Hour: 1} {
		f := newFile(t)
		f.add(line("ja", 1, 1, 0, 0) + "\n")
		a, err := lonely(t, func(c *Config) { c.Accounting, c.Keep = f.path, jjm.Duration(keep) })
		if err != nil {
			t.Fatal(err)
		}
		if err := a.history.refresh(t.Context(), now.Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if n := len(a.history.of("jjmtest", 0)); n != want {
			t.Errorf("%d records after two hours, kept for %v: want %d", n, keep, want)
		}
	}
}

func TestHistory_AMissingFolderIsTrouble(t *testing.T) {
	h := newHistory(filepath.Join(t.TempDir(), "not", "mounted"), time.Hour, func(string, ...any) {})
	if err := h.refresh(t.Context(), now); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("error %v", err)
	}
}

func FuzzParseRecord(f *testing.F) {
	for text := range strings.Lines(string(recorded(f, "accounting"))) {
		f.Add(strings.TrimSpace(text))
	}
	f.Add(line("jtag", 6, 3, 37, 137))
	f.Fuzz(func(t *testing.T, text string) {
		r, ok, err := parseRecord(text)
		if !ok {
			return
		}
		rep := r.report(false)
		if err != nil || !rep.State.Ended() || !rep.Tag.Valid() || rep.Index < 0 || rep.Restarts < 0 {
			t.Errorf("%q: %+v, error %v", text, rep, err)
		}
	})
}
