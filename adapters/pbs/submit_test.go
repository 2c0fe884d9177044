package pbs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

func TestRefusal_OfRecordedAnswers(t *testing.T) {
	for name, want := range map[string]jjm.Kind{
		"down_qsub_again": jjm.Busy, "iff_not_setuid": jjm.Busy, "qsub_unknown_server": jjm.Busy,
		"qsub_disabled_queue": jjm.Busy, "qsub_unknown_queue": jjm.Invalid, "qsub_acl_user": jjm.Denied,
		"qsub_bad_walltime": jjm.Invalid, "qsub_bad_resource": jjm.Invalid, "qsub_over_limit": jjm.Invalid,
		"qsub_mixed_old_new": jjm.Invalid, "qsub_W_bad": jjm.Invalid, "qsub_bad_option": jjm.Invalid,
		"qsub_nofile": jjm.Ambiguous,
	} {
		out := recorded(t, name)
		if name == "iff_not_setuid" {
			out.Exit, out.Stdout = 255, nil // the recording has the outputs of two commands
		}
		if _, err := receiptID(out, false); jjm.KindOf(err) != want {
			t.Errorf("%s: %v of kind %v, want %v", name, err, jjm.KindOf(err), want)
		}
	}
}

func TestReceiptID_IsAmbiguousInDoubt(t *testing.T) {
	tests := []struct {
		name  string
		out   run.Output
		array bool
		id    string
		kind  jjm.Kind
	}{
		{"a job", run.Output{Stdout: []byte("25.pbshost\n")}, false, "25", 0},
		{"an array", run.Output{Stdout: []byte("25[].pbshost.site.org\n")}, true, "25", 0},
		{"a banner before it", run.Output{Stdout: []byte("Maintenance on Monday.\n25.pbshost\n")}, false, "25", 0},
		{"a job for an array", run.Output{Stdout: []byte("25.pbshost\n")}, true, "", jjm.Ambiguous},
		{"half an id", run.Output{Stdout: []byte("25.pbs")}, false, "", jjm.Ambiguous},
		{"nothing", run.Output{}, false, "", jjm.Ambiguous},
		{"a cut connection", run.Output{Exit: 1,
			Stderr: []byte("qsub: End of File\nqsub: SIGPIPE received, job submission interrupted.: Success\n")}, false, "",
			jjm.Ambiguous},
		{"a killed qsub", run.Output{Exit: 137, Signal: 9}, false, "", jjm.Ambiguous},
		{"an exit code alone", run.Output{Exit: 38}, false, "", jjm.Ambiguous},
		{"max_queued", run.Output{Exit: 38, Stderr: []byte("qsub: would exceed queue generic's per-user limit\n")}, false, "",
			jjm.Busy},
		{"an id and an error", run.Output{Exit: 1, Stdout: []byte("25.pbshost\n")}, false, "", jjm.Ambiguous},
		{"refused by a hook", run.Output{Exit: 32, Stderr: []byte("qsub: no money left\n")}, false, "", jjm.Invalid},
		{"an unknown error", run.Output{Exit: 163, Stderr: []byte("qsub: Internal error\n")}, false, "", jjm.Ambiguous},
		{"torque: unknown queue", run.Output{Exit: 172,
			Stderr: []byte("qsub: submit error (Unknown queue MSG=cannot locate queue)\n")}, false, "", jjm.Invalid},
		{"torque: full", run.Output{Exit: 198,
			Stderr: []byte("qsub: submit error (Maximum number of jobs already in queue MSG=x)\n")}, false, "", jjm.Busy},
	}
	for _, tt := range tests {
		id, err := receiptID(tt.out, tt.array)
		if id != tt.id || (err == nil) != (tt.kind == 0) || err != nil && jjm.KindOf(err) != tt.kind {
			t.Errorf("%s: id %q, error %v of kind %v", tt.name, id, err, jjm.KindOf(err))
		}
	}
}

// refusal takes the first text of the table that it finds in the output of qsub. Each text must therefore be found
// with its own kind and mark, and not be hidden by an earlier text.
func TestRefusal_EachTextHasItsKindAndMark(t *testing.T) {
	for _, r := range refusalTexts {
		err := refusal(run.Output{Exit: 163, Stderr: []byte("qsub: " + r.text + "\n")})
		want := err
		if r.mark != nil {
			want = r.mark(err)
		}
		if jjm.KindOf(err) != r.kind || adapters.IsTooMany(err) != adapters.IsTooMany(want) ||
			adapters.IsUnexplained(err) != adapters.IsUnexplained(want) {
			t.Errorf("%s: %v of kind %s", r.text, err, jjm.KindOf(err))
		}
	}
	for exit, many := range map[int]bool{3: true, 38: true, 39: true, 198: true, 13: false, 188: false} {
		if err := refusal(run.Output{Exit: exit, Stderr: []byte("qsub: words\n")}); adapters.IsTooMany(err) != many {
			t.Errorf("exit %d: too many: %v", exit, !many)
		}
	}
	for exit, odd := range map[int]bool{163: true, 1: false, 38: false} {
		if err := refusal(run.Output{Exit: exit, Stderr: []byte("qsub: words\n")}); adapters.IsUnexplained(err) != odd {
			t.Errorf("exit %d: unexplained: %v", exit, !odd)
		}
	}
}

// The texts are those in pbs_messages.c of OpenPBS 20 and in pbs_error_db.h and svr_jobfunc.c of Torque 6 about limits
// on the number of queued jobs. A submission that is rejected with one of them may succeed later.
func TestRefusal_LimitsOnQueuedJobsPass(t *testing.T) {
	var texts []string
	for _, state := range []string{"", " in 'Q' state"} {
		for _, who := range []string{"", " for group g", " for project p", " for user u"} {
			for _, where := range []string{"queue workq", "complex"} {
				texts = append(texts, "Maximum number of jobs"+state+who+" already in "+where)
			}
		}
	}
	for _, end := range []string{"", " of jobs in 'Q' state"} {
		for _, where := range []string{"queue workq's", "complex's"} {
			for _, who := range []string{"group", "project", "user"} {
				texts = append(texts, "would exceed "+where+" per-"+who+" limit"+end)
			}
		}
	}
	for _, end := range []string{"", " for jobs in 'Q' state"} {
		for _, where := range []string{"queue workq", "complex"} {
			for _, whose := range []string{"", "per-group ", "per-project ", "per-user ", "group g's ", "project p's ",
				"user u's "} {
				texts = append(texts, "would exceed "+whose+"limit on resource ncpus in "+where+end)
			}
		}
	}
	for _, more := range []string{"total number of jobs in queue exceeds the queue limit: user u, queue q",
		"total number of current user's jobs exceeds the queue limit: user u, queue q"} {
		texts = append(texts, "submit error (Maximum number of jobs already in queue MSG="+more+")",
			"submit error (Maximum number of jobs already in queue for user MSG="+more+")")
	}
	for _, text := range texts {
		err := refusal(run.Output{Exit: 163, Stderr: []byte("qsub: " + text + "\n")})
		if jjm.KindOf(err) != jjm.Busy || !adapters.IsTooMany(err) {
			t.Errorf("%s: %v of kind %s", text, err, jjm.KindOf(err))
		}
	}
}

func TestSubmitArgs(t *testing.T) {
	full := jjm.Request{
		Cores: 4, MemoryMB: 2000, Walltime: jjm.Duration(90*time.Minute + time.Millisecond), GPUs: 1, ScratchMB: 500,
		Queue: "long", Account: "atlas", Project: "p1", QOS: "high",
	}
	config := Config{Common: adapters.Common{Queue: "short"}, Scratch: "scratch", QOSResource: "qos", Chunk: "arch=linux"}
	const shell = "-S /bin/sh -o /dev/null -e /dev/null"
	const common = "-r n " + shell
	tests := []struct {
		name string
		n    int
		r    jjm.Request
		d    dialect
		want string
	}{
		{"one job is no array", 1, jjm.Request{}, openpbs,
			"qsub -h -N jt " + common + " -q short -l select=1:ncpus=1:arch=linux"},
		{"an array", 3, full, openpbs, "qsub -h -N jt -J 0-2 " + shell + " -q long -A atlas -P p1 " +
			"-l select=1:ncpus=4:mem=2000mb:ngpus=1:scratch=500mb:arch=linux -l walltime=5401 -l qos=high"},
		{"torque", 3, full, torque, "qsub -h -N jt -t 0-2 " + common + " -q long -A atlas " +
			"-l nodes=1:ppn=4:gpus=1:arch=linux -l mem=2000mb -l scratch=500mb -l walltime=5401 -l qos=high"},
	}
	for _, tt := range tests {
		got := strings.Join(submitArgs(adapters.Bulk{Tag: "jt", N: tt.n, Request: tt.r}, config, tt.d), " ")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	bare := strings.Join(submitArgs(adapters.Bulk{Tag: "jt", N: 1}, Config{}, openpbs), " ")
	if bare != "qsub -h -N jt "+common {
		t.Errorf("nothing asked for: %s", bare)
	}
}

func TestScript_NoUserTextIsADirective(t *testing.T) {
	s := script(adapters.Bulk{Tag: "jt", N: 1, Dir: "/d", Argv: []string{"/bin/echo", "\n#PBS -q evil\n"}})
	lines := strings.Split(s, "\n")
	if lines[0] != "#!/bin/sh" || strings.HasPrefix(lines[1], "#") || lines[1] == "" {
		t.Errorf("qsub stops to look for directives at the first line that does something:\n%s", s)
	}
}

func TestDirectives(t *testing.T) {
	good, err := directives("-l place=scatter:excl\n#PBS -W group_list=atlas\n\n-p 10\n-m n\n")
	want := []string{"-l", "place=scatter:excl", "-W", "group_list=atlas", "-p", "10", "-m", "n"}
	if err != nil || !cmp.Equal(good, want) {
		t.Errorf("%q, error %v", good, err)
	}
	for _, bad := range []string{
		"-N x", "-J 1-5", "-t 1", "-o /x", "-e /x", "-h", "-r y", "-v A=1", "-V", "-I", "-z", "-C x", "-d /", "-q x", "-A x",
		"-P x",
		"-l select=2", "-l nodes=2", "-l place=free,walltime=9", "-W block=true", "-W depend=after:1",
		"-W group_list=a,umask=0",
		"place=excl", "-l", "-l a b", `-l a="b"`, "-l a\\b", "-l ü", "-l prologue=/tmp/x", "-l walltime=1,epilogue=/tmp/x",
		"-W User_List=root", "-W user_list=root", "-W group_list=a,stagein=a@b:/c", "-W Shell_Path_List=/tmp/x", "-M -Ox",
		"-M a,-Ox", "-M a|b", "-x", "--version", "-- /bin/sh", "-l a\x01",
	} {
		if args, err := directives(bad); err == nil {
			t.Errorf("%q is taken: %q", bad, args)
		} else if name, _, _ := strings.Cut(bad, " "); strings.HasPrefix(bad, "-") && len(name) == 2 &&
			!strings.Contains(err.Error(), name) {
			t.Errorf("%q: the error does not name it: %v", bad, err)
		}
	}
}

func TestCheck_NamesWhatCannotBeExpressed(t *testing.T) {
	a := makeAdapter(t, func(*Config) {})
	for field, r := range map[string]jjm.Request{
		"request.qos": {QOS: "high"}, "request.scratch_mb": {ScratchMB: 1}, "request.queue": {Queue: "workq@other"},
		"request.account": {Account: `a\b`}, "request.project": {Project: "a b"}, "request.directives": {Directives: "-p 1"},
	} {
		if err := a.Check(r); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := a.Check(jjm.Request{Cores: 500, MemoryMB: 9, Walltime: 9, Queue: "q", GPUs: 1, Account: "a",
		Project: "b"}); err != nil {
		t.Error(err)
	}
}

func TestNew_ChecksItsSettings(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"bin": func(c *Config) { c.Bin = "here" }, "dialect": func(c *Config) { c.Dialect = "lsf" },
		"queue": func(c *Config) { c.Queue = "a@b" }, "qos_resource": func(c *Config) { c.QOS = "high" },
		"chunk": func(c *Config) { c.Chunk = "a b" }, "directives": func(c *Config) { c.Directives = []string{"-N x"} },
		"hook": func(c *Config) { c.Hook = "hook" }, "shared_fs": func(c *Config) { c.SharedFS = false },
		"max_bulk": func(c *Config) {
			c.MaxBulk = -1
		}, "TZ": func(c *Config) { c.Env = map[string]string{"TZ": "Nowhere/Town"} },
	} {
		_, err := New("site", adapters.Env{}, func(c any) error { change(c.(*Config)); return nil })
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestHook_AddsOptionsOrRefuses(t *testing.T) {
	dir := t.TempDir()
	hook := func(body string) *Adapter {
		path := filepath.Join(dir, "hook")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
			t.Fatal(err)
		}
		return makeAdapter(t, func(c *Config) { c.Hook = adapters.Hook(path) })
	}
	b := adapters.Bulk{Tag: "jt", N: 2, Owner: jjm.Owner{User: "me"}, Request: jjm.Request{Cores: 3}}
	a := hook(`cat >` + filepath.Join(dir, "asked") + `; echo; echo "-W group_list=g"; echo "-p 3"`)
	args, err := a.askHook(t.Context(), b)
	if err != nil || !cmp.Equal(args, []string{"-W", "group_list=g", "-p", "3"}) {
		t.Errorf("%q, error %v", args, err)
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	want := `{"cluster":"site","tag":"jt","owner":{"uid":0,"gid":0,"user":"me"},"n":2,"request":{"cores":3}}` + "\n"
	if err != nil || string(asked) != want {
		t.Errorf("it was asked %q, error %v", asked, err)
	}
	for body, text := range map[string]string{"echo 'no money left' >&2; exit 3": "no money left",
		"echo '-N mine'": "-N"} {
		if _, err := hook(body).askHook(t.Context(), b); jjm.KindOf(err) != jjm.Invalid ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", body, err)
		}
	}
	missing := makeAdapter(t, func(c *Config) { c.Hook = "/no/such/hook" })
	if _, err := missing.askHook(t.Context(), b); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("no hook there: %v", err)
	}
}

// A submission that failed before qsub was started is marked as not started, so jjm need not search for its jobs.
func TestSubmit_WhatEndsBeforeQsubIsNotStarted(t *testing.T) {
	bin := t.TempDir()
	qstat := filepath.Join(bin, "qstat")
	if err := os.WriteFile(qstat, []byte("#!/bin/sh\necho neither\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := adapters.Bulk{Tag: "jt", N: 2, Dir: "/", Argv: []string{"/bin/true"}}
	for name, change := range map[string]func(c *Config){
		"no hook":          func(c *Config) { c.Hook, c.Dialect = "/no/such/hook", "openpbs" },
		"no qstat":         func(c *Config) { c.Bin = "/no/such/folder" },
		"no known version": func(*Config) {},
		"no qsub":          func(c *Config) { c.Dialect = "openpbs" },
	} {
		a := makeAdapter(t, func(c *Config) { c.Bin = bin; change(c) })
		if _, err := a.Submit(t.Context(), b); !adapters.IsNotStarted(err) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestDirectives_OfJobFilesSetKnownAttributesOnly(t *testing.T) {
	for _, good := range []string{"-W group_list=atlas", "#PBS -W tolerate_node_failures=all", "-l place=excl", "-m n"} {
		if err := checkJobDirective(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"-W x=PARTITION:a", "-W group_list=a,what=b", "-W Mail_Users=a", "-W User_List=root",
		"-Wblock=true", "-W", "-W group_list=a,"} {
		if err := checkJobDirective(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
