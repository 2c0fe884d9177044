package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm"
	"jjm/glf"
	"jjm/sandbox"
)

func TestLogHelper_AppendsOneRecord(t *testing.T) {
	tests := []struct {
		name string
		args []string
		exit int
		want []glf.Record
	}{
		{"words are found again", []string{"RETRY", "from scratch", "3", ""}, 0,
			[]glf.Record{{Keyword: "RETRY", Data: `"from scratch" 3 ""`}}},
		{"a diagnostic is text", []string{"FAILED", "no  space", "left"}, 0,
			[]glf.Record{{Keyword: "FAILED", Data: "no  space left"}}},
		{"newlines", []string{"HOLD", "a\nb"}, 0, []glf.Record{{Keyword: "HOLD", Data: `a b`}}},
		{"no data", []string{"SUCCEEDED"}, 0, []glf.Record{{Keyword: "SUCCEEDED"}}},
		{"unknown keyword", []string{"DONE", "well"}, 2, nil},
		{"lower case", []string{"failed", "x"}, 2, nil},
		{"none", nil, 2, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "job.glf")
			getenv := func(name string) string { return map[string]string{glfEnv: file}[name] }
			var stderr bytes.Buffer
			before := time.Now().Truncate(time.Second)
			if exit := logHelper(tt.args, getenv, &stderr); exit != tt.exit || exit == 0 && stderr.Len() > 0 {
				t.Errorf("exit %d, %s", exit, &stderr)
			}
			text, _ := os.ReadFile(file)
			l := glf.Parse(text)
			if len(l.Terminals) > 0 && (l.Terminals[0].Time.Before(before) || l.Bad > 0) {
				t.Errorf("got %+v", l)
			}
			for i := range l.Terminals {
				l.Terminals[i].Time = time.Time{}
			}
			if diff := cmp.Diff(tt.want, l.Terminals); tt.name != "newlines" && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.exit == 2 && tt.args != nil && (len(l.Infos) != 1 || l.Infos[0].Data != strings.Join(tt.args, " ")) {
				t.Errorf("infos %+v", l.Infos)
			}
		})
	}
}

func TestLogHelper_NeverFailsTheApplicationForWantOfALog(t *testing.T) {
	for name, file := range map[string]string{"unset": "", "no folder": "/no/such/folder/job.glf",
		"a folder": t.TempDir()} {
		var stderr bytes.Buffer
		exit := logHelper([]string{"FAILED", "x"}, func(string) string { return file }, &stderr)
		if exit != 0 || stderr.Len() == 0 {
			t.Errorf("%s: exit %d, %q", name, exit, stderr.String())
		}
	}
}

func TestLogHelper_ManyAtOnceTearNoLine(t *testing.T) {
	s := newSite(t, `for i in 1 2 3 4 5 6 7 8; do (for j in 1 2 3 4 5; do $GBS_LOG INFO $i $j `+strings.Repeat("x", 2000)+
		`; done) & done; wait`)
	s.run(exitOK)
	if l := glf.Parse([]byte(s.file("job.glf"))); len(l.Infos) != 40 || l.Bad != 0 {
		t.Errorf("%d infos, %d bad lines", len(l.Infos), l.Bad)
	}
}

func TestProgressHelper_PublishesForThePosition(t *testing.T) {
	s := newSite(
		t, `$JJM_PROGRESS d0gstar 117 250; echo $?; $JJM_PROGRESS sim 5; echo $?; $JJM_PROGRESS "two words" 1 2; echo $?; $JJM_PROGRESS sim x; echo $?; $JJM_PROGRESS; echo $?; $JJM_PROGRESS sim -1 2; echo $?`)
	s.run(exitOK)
	if got := s.file("stdout"); got != "0\n0\n2\n2\n2\n2\n" {
		t.Errorf("exit codes %q: %s", got, s.file("stderr"))
	}
	got, _, err := s.area.Progress(t.Context(), testTag, sandbox.Look{N: 1}, time.Time{})
	if err != nil || len(got[0]) != 2 || got[0][0].Progress != (jjm.Progress{Phase: "d0gstar", Done: 117, Total: 250}) ||
		got[0][1].Progress != (jjm.Progress{Phase: "sim", Done: 5}) || got[0][0].Started == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if r := s.result(); !slices.Equal(r.Phases, got[0]) {
		t.Errorf("the result tells %+v", r.Phases)
	}
}

// What an application adds to its record is checked at once; elements of a name replace
// one another, and the result carries them.
func TestRecordHelper_GathersElements(t *testing.T) {
	s := newSite(t, `say() { printf '%s' "$1" | "$JJM_RECORD"; echo $?; }
say '<plot name="mass" peak="91.1"/>'; say '<plot name="mass" peak="91.2"/><host id="n1"/>'
say '<plot/>'; say '<plot'; say ''; say '<progress name="x"/>'; say '<fragment job="17.4"><a id="1"/></fragment>'
say '<fragment job="17.3"><a id="1"/></fragment>'
echo '<b id="2"/>' >b.xml; "$JJM_RECORD" b.xml; echo $?; "$JJM_RECORD" gone.xml; echo $?; "$JJM_RECORD" a b; echo $?`)
	s.run(exitOK)
	if got := s.file("stdout"); got != "0\n0\n2\n2\n2\n2\n2\n0\n0\n2\n2\n" {
		t.Errorf("exit codes %q: %s", got, s.file("stderr"))
	}
	for _, want := range []string{"want an attribute name or id", "this is job 17.3", "progress is jjm's own"} {
		if !strings.Contains(s.file("stderr"), want) {
			t.Errorf("no %q in %s", want, s.file("stderr"))
		}
	}
	want := `<fragment job="17.3"><plot name="mass" peak="91.2"/><host id="n1"/><a id="1"/><b id="2"/></fragment>`
	if got := s.result().Fragment; got != want {
		t.Errorf("the result tells\n%s, want\n%s", got, want)
	}
}

func TestProgressHelper_WithoutAJobSaysSo(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, sandbox.ProgressHelper)
	if err := os.Symlink(wrapperBinary, link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(link, "sim", "1", "2")
	cmd.Env = []string{}
	if code, stderr := runCommand(t, cmd); code != 0 || !strings.Contains(stderr, areaEnv) {
		t.Errorf("exit %d: %q", code, stderr)
	}
}
