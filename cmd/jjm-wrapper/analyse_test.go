package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
)

func TestAnalyse_TheTypesCommandSaysWhatBecomesOfTheAttempt(t *testing.T) {
	hold := func(text string) *jjm.Opinion { return &jjm.Opinion{Action: jjm.Hold, Text: text} }
	const command = "its command /bin/sh -c SCRIPT failed: "
	tests := []struct {
		name, script string
		want         *jjm.Opinion
	}{
		{"retry with arguments", `echo '{"action": "retry", "text": "no licence", "retry_args": ["--slow", "2"]}'`,
			&jjm.Opinion{Action: jjm.Retry, Text: "no licence", RetryArgs: []string{"--slow", "2"}}},
		{"complete", `echo '{"action": "complete", "text": "7 means: all was there"}'`,
			&jjm.Opinion{Action: jjm.Complete, Text: "7 means: all was there"}},
		{"it sees the result and the part", `grep -q '"exit":7' && echo '{"action": "fail", "text": "seven"}'`,
			&jjm.Opinion{Action: jjm.Fail, Text: "seven"}},
		{"it sees the log", `grep -q 'INFO half of it' && echo '{"action": "fail", "text": "half"}'`,
			&jjm.Opinion{Action: jjm.Fail, Text: "half"}},
		{"it sees the files", `echo "{\"action\": \"fail\", \"text\": \"$(cat core.txt)\"}"`,
			&jjm.Opinion{Action: jjm.Fail, Text: "segmentation violation in G4Navigator"}},
		{"no opinion", `echo '{}'`, nil},
		{"nothing is said", `true`, hold(command + `its answer "": EOF: want {"action": ..., "text": ...}, or {} for no opinion`)},
		{"a word that is not known", `echo '{"akcion": "retry"}'`, hold(command + `its answer "{\"akcion\": \"retry\"}\n": ` +
			`json: unknown field "akcion": want {"action": ..., "text": ...}, or {} for no opinion`)},
		{"an action that is not known", `echo '{"action": "again", "text": "x"}'`,
			hold(command + `its answer has action "again": want complete, retry, hold or fail`)},
		{"arguments of no retry", `echo '{"action": "fail", "text": "x", "retry_args": []}'`,
			hold(command + `its answer has retry_args, which mean nothing unless action is retry`)},
		{"no reason", `echo '{"action": "fail"}'`, hold(command + `its answer has no text: why, for people`)},
		{"it fails", `echo Traceback >&2; echo '  KeyError' >&2; exit 1`,
			hold(command + `it ended with exit code 1: Traceback KeyError`)},
		{"it writes without end", `yes '{"action": "retry", "text": "x"}'`,
			hold(command + `it writes more than 64 KiB: make the answer shorter`)},
		{"it never ends", `sleep 1000 & sleep 1000`, hold(command + `it did not end within 1 s`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, `echo 'segmentation violation in G4Navigator' >core.txt; $GBS_LOG INFO half of it; exit 7`)
			if strings.Contains(tt.script, "sleep") {
				s.job.Grace = jjm.Duration(time.Second)
			}
			s.as[0].Analyse = []string{"/bin/sh", "-c", tt.script}
			s.run(exitOK)
			r := s.result()
			if r.Exit != 7 || r.Error != "" {
				t.Errorf("exit %d, error %q: want those of the application", r.Exit, r.Error)
			}
			if tt.want != nil {
				tt.want.Text = strings.Replace(tt.want.Text, "SCRIPT", glf.JoinArgs([]string{tt.script}), 1)
			}
			if diff := cmp.Diff(tt.want, r.Opinion); diff != "" {
				t.Errorf("opinion (-want +got):\n%s", diff)
			}
			if said := strings.Contains(r.GLF, "the job type says"); said != (tt.want != nil) {
				t.Errorf("log:\n%s", r.GLF)
			}
		})
	}
}

func TestAnalyse_AnAttemptThatIsToEndIsNotAnalysed(t *testing.T) {
	s := newSite(t, `trap 'exit 3' TERM; `+sayPID+`while :; do sleep 0.01; done`)
	s.as[0].Analyse = []string{"/bin/sh", "-c", `touch asked; echo '{"action": "complete", "text": "x"}'`}
	w, _ := s.startJob()
	w.signal(syscall.SIGTERM)
	w.wait()
	if r := s.result(); r.Exit != 3 || r.Opinion != nil {
		t.Errorf("exit %d, opinion %+v: want 3 and none", r.Exit, r.Opinion)
	}
	if exists(filepath.Join(s.attemptDir(), "work", "asked")) {
		t.Error("the command was run")
	}
}
