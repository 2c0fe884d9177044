package globus2

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/plain"
	"jjm/internal/jjm"
)

const full = `grami_logfile='/tmp/log'
grami_directory="/home/u"
grami_program='/home/u/my prog'
grami_args='"a" "b c" "d\"e"'
grami_env='"GREETING" "hello world" "HOME" "/home/u"'
grami_count="4"
grami_stdin="in"
grami_stdout='/home/u/.globus/stdout'
grami_stderr='err'
grami_max_wall_time="90"
grami_max_memory="512"
grami_min_memory="1"
grami_queue='long'
grami_project='dzero'
grami_job_type='multiple'
grami_uniq_id='12345.67 8'
. /etc/profile
export X=1
grami_evil=$(touch /tmp/evil)
`

func TestJob_ReadsEveryAssignment(t *testing.T) {
	g, err := Parse(strings.NewReader(full))
	if err != nil {
		t.Fatal(err)
	}
	if len(g) != 15 || g["evil"] != "" || g["args"] != `"a" "b c" "d"e"` && g["args"] != `"a" "b c" "d\"e"` {
		t.Errorf("read %d: %q", len(g), g)
	}
}

func TestJob_IsAPlainJob(t *testing.T) {
	g, err := Parse(strings.NewReader(full))
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.Job()
	if err != nil {
		t.Fatal(err)
	}
	want := &Job{Key: "globus2-12345.67_8",
		Wants: []gatekeeper.Delivery{{Name: "stdout", To: "/home/u/.globus/stdout"}, {Name: "stderr", To: "/home/u/err"}},
		Plain: plain.Job{Name: "my prog", Executable: "/home/u/my prog", Stage: true, Arguments: []string{"a", "b c", `d"e`},
			Env: map[string]string{"GREETING": "hello world", "HOME": "/home/u"}, Stdin: "/home/u/in", Folder: "/home/u",
			Count:   4,
			Request: jjm.Request{Walltime: jjm.Duration(90 * time.Minute), MemoryMB: 512, Queue: "long", Account: "dzero"}}}
	want.Streamed = want.Wants
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := os.Stat("/tmp/evil"); err == nil {
		t.Error("the file was run")
	}
}

func TestJob_ParsesOtherForms(t *testing.T) {
	for name, c := range map[string]struct {
		g     Grami
		check func(*Job) bool
	}{
		"a program there": {Grami{"program": "/bin/date", "directory": "/w"}, func(j *Job) bool {
			return !j.Plain.Stage && j.Key == ""
		}},
		"cores of one": {Grami{"program": "/bin/date", "directory": "/w", "count": "8", "job_type": "single"},
			func(j *Job) bool { return j.Plain.Count == 0 && j.Plain.Request.Cores == 8 }},
		"a grid job": {Grami{"directory": "/w", "env": `"JJM_JOB_FILE" "mc.toml" "HOME" "/h"`}, func(j *Job) bool {
			return j.JobFile == "/w/mc.toml" && len(j.Plain.Env) == 1 && j.Wants[0].To == "/w/jjm-output.tar" &&
				len(j.Streamed) == 0
		}},
		"its tar on stdout": {Grami{"directory": "/w", "stdout": "o", "stderr": "e",
			"env": `"JJM_JOB_FILE" "mc.toml" "JJM_STDOUT" "tar"`}, func(j *Job) bool {
			return len(j.Wants) == 2 && j.Wants[0].Name == "*.tar" && j.Wants[0].To == "/w/o" && len(j.Streamed) == 2
		}},
		"CPU time for time": {Grami{"program": "/bin/date", "directory": "/w", "max_cpu_time": "3", "min_memory": "7"},
			func(j *Job) bool {
				return j.Plain.Request.Walltime.D() == 3*time.Minute && j.Plain.Request.CPUTime.D() == 3*time.Minute &&
					j.Plain.Request.MemoryMB == 7
			}},
	} {
		if j, err := c.g.Job(); err != nil || !c.check(j) {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
	}
	for _, env := range []string{`"JJM_STDOUT" "tar"`, `"JJM_JOB_FILE" "j" "JJM_STDOUT" "tar"`,
		`"JJM_JOB_FILE" "j" "JJM_STDOUT" "zip"`} {
		if _, err := (Grami{"directory": "/w", "program": "/bin/date", "env": env}).Job(); err == nil {
			t.Errorf("%s is taken", env)
		}
	}
	_, err := Grami{"directory": "/w", "count": "many", "host_count": "2", "job_type": "mpi", "env": `"A"`, "args": `"`,
		"max_time": "-1"}.Job()
	var ps jjm.Problems
	if !errors.As(err, &ps) || len(ps) != 7 {
		t.Errorf("%v", err)
	}
}

func TestAnswers_AreLinesOfTheContract(t *testing.T) {
	if got := Submitted("h"); got != "GRAM_SCRIPT_JOB_ID:h\nGRAM_SCRIPT_SUCCESS:1\n" {
		t.Errorf("%q", got)
	}
	for s, want := range map[jjm.GRAM]string{32: "1", 1: "1", 2: "2", 8: "8", 16: "16"} {
		if got := State(s); got != "GRAM_SCRIPT_SUCCESS:"+want+"\n" {
			t.Errorf("%q", got)
		}
	}
	if Error(17) != "GRAM_SCRIPT_ERROR:17\n" || ErrorOf(jjm.Errorf(jjm.Denied, "x")) != Denied ||
		ErrorOf(jjm.Errorf(jjm.Busy, "x")) != NoResources || ErrorOf(errors.New("x")) != Failed {
		t.Error("codes")
	}
}

// FuzzParse checks that no file causes a panic.
func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Add("grami_args='\"a")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		if j, err := g.Job(); err == nil && j.JobFile == "" {
			if _, _, err := j.Plain.File(); err != nil && jjm.KindOf(err) != jjm.Invalid {
				t.Fatal(err)
			}
		}
	})
}
