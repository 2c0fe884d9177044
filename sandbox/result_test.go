package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func resultAt(pos int32) jjm.Result {
	return jjm.Result{Version: 1, Tag: tag, Pos: pos, Grid: 17, Local: pos, Exit: int(pos) % 3,
		Claim: jjm.Claim{Holder: jjm.HolderWrapper, Nonce: "n"}, GLF: "2008-03-13T12:00:00Z INFO x\n",
		Outputs: []jjm.Output{{Name: "work/a.root", Bytes: 5, SHA256: strings.Repeat("0", 64)}}}
}

// resultsOf returns all results of a bulk of a thousand positions, except the skipped positions, and the problems.
func resultsOf(a *Area, tag jjm.Tag, skip func(int32) bool) (rs []jjm.Result, problems []jjm.Problem, err error) {
	next, problems, err := a.Results(context.Background(), tag, Look{N: 1000, Skip: skip}, func(r *jjm.Result) bool {
		rs = append(rs, *r)
		return true
	})
	if err == nil && next != All {
		err = fmt.Errorf("ended before position %d", next)
	}
	return rs, problems, err
}

func TestResults_ReturnsUnseenOnesInOrder(t *testing.T) {
	a := newBulk(t, 20)
	for pos := int32(19); pos >= 0; pos-- {
		if err := a.PutResult(resultAt(pos)); err != nil {
			t.Fatal(err)
		}
	}
	got, problems, err := resultsOf(a, tag, func(pos int32) bool { return pos%2 == 0 })
	if err != nil || len(problems) != 0 || len(got) != 10 {
		t.Fatalf("%d results, %v, %v", len(got), problems, err)
	}
	for i, r := range got {
		if diff := cmp.Diff(resultAt(int32(2*i+1)), r); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	if list := leftovers(t, a); list != nil {
		t.Errorf("left: %v", list)
	}
}

func TestResults_BadFilesAreProblemsAndDoNotStopOthers(t *testing.T) {
	a := newBulk(t, 1)
	if err := a.PutResult(resultAt(3)); err != nil {
		t.Fatal(err)
	}
	done := BulkDir(tag) + "/done/"
	encode := func(edit func(*jjm.Result)) string {
		r := resultAt(7)
		edit(&r)
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	bad := map[string]string{
		"4.json": "{", "5.json": "", "6.json": "[]\x00",
		"7.json":        encode(func(r *jjm.Result) { r.Tag = "jother" }),
		"8.json":        encode(func(*jjm.Result) {}),
		"9.json":        encode(func(r *jjm.Result) { r.Pos, r.Version = 9, 2 }),
		"10.json":       encode(func(r *jjm.Result) { r.Pos, r.GLF = 10, strings.Repeat("x", MaxResult) }),
		"007.json":      encode(func(*jjm.Result) {}),
		"-1.json":       "{}",
		"note.txt":      "",
		"99999999999.j": "",
	}
	for name, content := range bad {
		put(t, a, done+name, content)
	}
	put(t, a, done+tmpPrefix+"x", "half")
	dir := filepath.Join(a.Root(), done)
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "11.json"), 0o600),
		os.Mkdir(filepath.Join(dir, "12.json"), 0o700),
		os.Symlink("3.json", filepath.Join(dir, "13.json")),
		os.Symlink("/etc/passwd", filepath.Join(dir, "14.json"))); err != nil {
		t.Fatal(err)
	}
	got, problems, err := resultsOf(a, tag, nil)
	if err != nil || len(got) != 1 || got[0].Pos != 3 {
		t.Errorf("%d results, %v", len(got), err)
	}
	if len(problems) != maxProblems { // one problem for all names without a position
		t.Errorf("%d problems, want %d: %v", len(problems), maxProblems, problems)
	}
	for _, p := range problems {
		if p.Field == "" || p.Text == "" {
			t.Errorf("problem %+v", p)
		}
	}
	_, problems, err = resultsOf(a, tag, func(int32) bool { return true })
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Text, "4 more such names") {
		t.Errorf("all seen: %v, %v", problems, err)
	}
}

func TestPutResult_RefusesWhatReadResultWould(t *testing.T) {
	a := newBulk(t, 1)
	r := resultAt(0)
	r.GLF = strings.Repeat("\x00", MaxResult/6)
	mustNot(t, "too long", a.PutResult(r), jjm.Invalid)
	r = resultAt(0)
	r.Outputs = make([]jjm.Output, MaxOutputs+1)
	mustNot(t, "too many outputs", a.PutResult(r), jjm.Invalid)
	put(t, a, BulkDir(tag)+"/done/0.json",
		`{"v":1,"tag":"`+string(tag)+`","pos":0,"outputs":[{}`+strings.Repeat(",{}", MaxOutputs)+`]}`)
	_, err := a.ReadResult(tag, 0)
	mustNot(t, "a list of nothing", err, jjm.Unclassified)
	if _, _, err := resultsOf(newArea(t), tag, nil); jjm.KindOf(err) != jjm.Gone {
		t.Errorf("no bulk: %v", err)
	}
	mustNot(t, "no bulk", newArea(t).PutResult(resultAt(0)), jjm.Gone)
}

func TestDoneChanged_ChangesWithAResult(t *testing.T) {
	a := newBulk(t, 1)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(a.Root(), BulkDir(tag), "done"), old, old); err != nil {
		t.Fatal(err)
	}
	before, err := a.DoneChanged(tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.PutResult(resultAt(0)); err != nil {
		t.Fatal(err)
	}
	if after, err := a.DoneChanged(tag); err != nil || !after.After(before) {
		t.Errorf("%v, then %v, %v", before, after, err)
	}
}

func FuzzReadResult(f *testing.F) {
	b, err := json.Marshal(resultAt(0))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"v":1,"tag":"jtest7k2m9q4abc","pos":0,"exit":1e400}`))
	a := newBulk(f, 1)
	f.Fuzz(func(t *testing.T, text []byte) {
		put(t, a, BulkDir(tag)+"/done/0.json", string(text))
		got, problems, err := resultsOf(a, tag, nil)
		if err != nil || len(got)+len(problems) != 1 {
			t.Errorf("%v %v %v", got, problems, err)
		}
	})
}

func TestResults_OfAThousand(t *testing.T) {
	a := newBulk(t, 1)
	for pos := range int32(1000) {
		b, err := json.Marshal(resultAt(pos))
		if err != nil {
			t.Fatal(err)
		}
		put(t, a, posFile(tag, "done", pos, ".json"), string(b))
	}
	start := time.Now()
	got, problems, err := resultsOf(a, tag, nil)
	if err != nil || len(problems) > 0 || len(got) != 1000 {
		t.Error(len(got), problems, err)
	}
	t.Logf("1000 results: %v", time.Since(start))
}

func TestProgress_ReturnsNewAndValidFiles(t *testing.T) {
	a := newBulk(t, 5)
	early := jjm.AppPhase{Progress: jjm.Progress{Phase: "early"}, Started: 1000, Ended: 1000}
	want := map[int32][]jjm.AppPhase{
		1: {early, {Progress: jjm.Progress{Phase: "d0gstar", Done: 117, Total: 250}, Started: 2000, Ended: 3000}},
		2: {early, {Progress: jjm.Progress{Phase: "sim", Done: 5}, Started: 1001, Ended: 1001}}}
	for _, said := range []struct {
		pos int32
		p   jjm.Progress
		at  jjm.Time
	}{{1, jjm.Progress{Phase: "early"}, 1000}, {1, jjm.Progress{Phase: "d0gstar", Done: 3, Total: 250}, 2000},
		{1, jjm.Progress{Phase: "d0gstar", Done: 117, Total: 250}, 3000}, {2, jjm.Progress{Phase: "early"}, 1000},
		{2, jjm.Progress{Phase: "sim", Done: 5}, 1000}} {
		if err := a.PutProgress(tag, said.pos, said.p, said.at); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"3": "one two three", "4": "", "5": strings.Repeat("x", 5000),
		"6": "a -1 2", "7": "a\x00b 1 2",
		"8": "a 1 2 3", "x": "a 1 2", "9": "a 1 2\na 2 2\n", "10": "a 1 2 5 4\n", "11": "a 1 2 3 999999999999999\n",
		"12": strings.Repeat("a 1 2\n", 40), tmpPrefix + "q": "a 1 2"} {
		put(t, a, BulkDir(tag)+"/progress/"+name, content)
	}
	if err := syscall.Mkfifo(filepath.Join(a.Root(), BulkDir(tag), "progress/13"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err := a.Progress(t.Context(), tag, Look{N: 14}, time.Time{})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(a.Root(), BulkDir(tag), "progress/1"), old, old); err != nil {
		t.Fatal(err)
	}
	if got, _, err = a.Progress(t.Context(), tag, Look{N: 10}, old.Add(time.Minute)); len(got) != 1 ||
		got[2][LastPhase(got[2])].Phase != "sim" || err != nil {
		t.Errorf("new ones: %v %v", got, err)
	}
}

func TestPutProgress_RefusesWhatWouldNotBeReadBack(t *testing.T) {
	a := newBulk(t, 1)
	for _, p := range []jjm.Progress{{}, {Phase: "two words"}, {Phase: "a\n"}, {Phase: "x", Done: -1},
		{Phase: "x", Total: -1},
		{Phase: strings.Repeat("x", maxPhase+1)}, {Phase: "a\x00"}, {Phase: "\xff"}} {
		mustNot(t, fmt.Sprintf("%+v", p), a.PutProgress(tag, 0, p, 1000), jjm.Invalid)
	}
}

// If an application returns to an earlier phase, that phase becomes its last phase again, even if both reports have the
// same time. A clock that was set back has no effect, and the number of stored phases is limited.
func TestPutProgress_KeepsEveryPhase(t *testing.T) {
	a := newBulk(t, 1)
	say := func(phase string, done int64, at jjm.Time) error {
		return a.PutProgress(tag, 0, jjm.Progress{Phase: phase, Done: done}, at)
	}
	if err := errors.Join(say("gen", 1, 1000), say("sim", 2, 1000), say("gen", 3, 900)); err != nil {
		t.Fatal(err)
	}
	want := []jjm.AppPhase{{Progress: jjm.Progress{Phase: "gen", Done: 3}, Started: 1000, Ended: 1002},
		{Progress: jjm.Progress{Phase: "sim", Done: 2}, Started: 1001, Ended: 1001}}
	got, err := a.Phases(tag, 0)
	if diff := cmp.Diff(want, got); diff != "" || err != nil || LastPhase(got) != 0 {
		t.Errorf("%v, last %d (-want +got):\n%s", err, LastPhase(got), diff)
	}
	for i := range maxPhases - 2 {
		if err := say(fmt.Sprint("p", i), 1, 2000); err != nil {
			t.Fatal(err)
		}
	}
	mustNot(t, "one too many", say("more", 1, 3000), jjm.Invalid)
	if err := say("gen", 4, 3000); err != nil {
		t.Error(err)
	}
	if got, err := a.Phases(tag, 0); len(got) != maxPhases || err != nil {
		t.Errorf("%d phases, %v", len(got), err)
	}
}

// A result may list phases that no wrapper reports. These phases are removed from the result, which is otherwise
// accepted.
func TestResult_WithStrangePhasesCounts(t *testing.T) {
	a := newBulk(t, 1)
	r := jjm.Result{Version: 1, Tag: tag, Phases: []jjm.AppPhase{{Progress: jjm.Progress{Phase: "two words"}}}}
	if err := a.PutResult(r); err != nil {
		t.Fatal(err)
	}
	if got, err := a.ReadResult(tag, 0); err != nil || got == nil || got.Phases != nil {
		t.Errorf("%+v %v", got, err)
	}
}

func FuzzParsePhases(f *testing.F) {
	f.Add("d0gstar 117 250\nsim 1 2 1000 2000\n")
	f.Fuzz(func(t *testing.T, s string) {
		said, ok := parsePhases(s)
		if back, again := parsePhases(string(formatPhases(said))); ok && (!again || !slices.Equal(back, said)) {
			t.Errorf("%q gave %+v, then %+v", s, said, back)
		}
	})
}
