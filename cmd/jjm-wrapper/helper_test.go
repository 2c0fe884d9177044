package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

func TestLogHelper_AppendsOneRecord(t *testing.T) {
	tests := []struct {
		name string
		args []string
		exit int
		says string // expected text on standard error
		want []glf.Record
	}{
		{"words are found again", []string{"RETRY", "from scratch", "3", ""}, 0, "",
			[]glf.Record{{Keyword: "RETRY", Data: `"from scratch" 3 ""`}}},
		{"a diagnostic is text", []string{"FAILED", "no  space", "left"}, 0, "",
			[]glf.Record{{Keyword: "FAILED", Data: "no  space left"}}},
		{"newlines", []string{"HOLD", "a\nb"}, 0, "", []glf.Record{{Keyword: "HOLD", Data: `a b`}}},
		{"no data", []string{"SUCCEEDED"}, 0, "SUCCEEDED without words does not count", []glf.Record{{Keyword: "SUCCEEDED"}}},
		{"no count", []string{"INFO", "processed=10", "evts"}, 0, `"processed=10 evts" does not count: want processed=N`, nil},
		{"unknown keyword", []string{"DONE", "well"}, 2, `"DONE" is not known: logged as INFO; known are SUCCEEDED FAILED RETRY HOLD INFO RETURN_FILE`,
			nil},
		{"lower case", []string{"failed", "x"}, 2, `"failed" is not known`, nil},
		{"none", nil, 2, "keywords: SUCCEEDED FAILED RETRY HOLD INFO RETURN_FILE", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "job.glf")
			getenv := func(name string) string { return map[string]string{glfEnv: file}[name] }
			var stdout, stderr bytes.Buffer
			before := time.Now().Truncate(time.Second)
			if exit := logHelper(tt.args, getenv, &stdout, &stderr); exit != tt.exit ||
				(stderr.Len() > 0) != (tt.says != "") || !strings.Contains(stderr.String(), tt.says) || stdout.Len() > 0 {
				t.Errorf("exit %d, %s, want %q; %s", exit, &stderr, tt.says, &stdout)
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
		var stdout, stderr bytes.Buffer
		exit := logHelper([]string{"FAILED", "x"}, func(string) string { return file }, &stdout, &stderr)
		if exit != 0 || stderr.Len() == 0 || stdout.Len() > 0 {
			t.Errorf("%s: exit %d, %q", name, exit, stderr.String())
		}
	}
}

// The help explains every keyword and fits a terminal. It is also printed outside of a job.
func TestLogHelper_ExplainsItself(t *testing.T) {
	for _, flag := range []string{"--help", "-h"} {
		var stdout, stderr bytes.Buffer
		exit := logHelper([]string{flag}, func(string) string { return "" }, &stdout, &stderr)
		if exit != 0 || stderr.Len() > 0 {
			t.Errorf("%s: exit %d, %s", flag, exit, &stderr)
		}
		for _, w := range glf.Words() {
			for _, want := range []string{"\n  " + w.Keyword + " ", "\n  \"$GBS_LOG\" " + w.Keyword + " " + w.Example + "\n"} {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("%s lacks %q:\n%s", flag, want, &stdout)
				}
			}
		}
		for line := range strings.Lines(stdout.String()) {
			if len(line) > 90 || strings.Contains(line, "`") {
				t.Errorf("%s: %q", flag, line)
			}
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

// jjm_record checks the elements that an application adds immediately. An element replaces an earlier element with the
// same name, and the result contains the elements.
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
	for _, want := range []string{"want an attribute name or id", "this is job 17.3", "element progress belongs to jjm"} {
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
	want := areaEnv + " is not set: this is not a job of jjm"
	if code, stderr := runCommand(t, cmd); code != 0 || !strings.Contains(stderr, want) {
		t.Errorf("exit %d: %q", code, stderr)
	}
}

// The help is also printed outside of a job.
func TestProgressHelper_ExplainsItself(t *testing.T) {
	for _, flag := range []string{"--help", "-h"} {
		var out, said strings.Builder
		code := progressHelper([]string{flag}, func(string) string { return "" }, &out, &said)
		if code != exitOK || said.Len() > 0 || !strings.Contains(out.String(), `"$JJM_PROGRESS" PHASE DONE [TOTAL]`) {
			t.Errorf("%s: exit %d, %q, %q", flag, code, out.String(), said.String())
		}
	}
}

// The error for a wrong argument quotes the argument.
func TestProgressHelper_SaysWhatIsWrong(t *testing.T) {
	for want, args := range map[string][]string{
		"jjm_progress: DONE \"-1\": want a whole number from 0 on\n": {"sim", "-1"},
		"jjm_progress: TOTAL \"x\": want a whole number from 0 on\n": {"sim", "1", "x"},
		"jjm_progress: want: jjm_progress PHASE DONE [TOTAL]\n":      {"sim"},
	} {
		var said strings.Builder
		inJob := func(string) string { return "/area" }
		if code := progressHelper(args, inJob, io.Discard, &said); code != exitUsage || said.String() != want {
			t.Errorf("%q: exit %d, %q, want %q", args, code, said.String(), want)
		}
	}
}
