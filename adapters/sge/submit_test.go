package sge

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
)

// lonely returns an adapter for a Grid Engine that does not exist.
func lonely(t testing.TB, change ...func(*Config)) (*Adapter, error) {
	t.Helper()
	a, err := New("far", adapters.Env{State: t.TempDir()}, func(c any) error {
		for _, f := range change {
			f(c.(*Config))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.(*Adapter), nil
}

func TestReceipt_AcceptsOnlyTheIDOfTheWholeArray(t *testing.T) {
	for text, want := range map[string]string{
		"42.1-3:1\n": "42", "Welcome!\n42.1-3:1\n": "42",
		"": "", "42\n": "", "42.1-4:1\n": "", "42.1-3:1\n43.1-3:1\n": "", "042.1-3:1": "",
		"Your job-array 42.1-3:1 (\"x\") has been submitted\n": "",
	} {
		id, err := receipt(run.Output{Stdout: []byte(text)}, 3)
		if id != want || want == "" && jjm.KindOf(err) != jjm.Ambiguous {
			t.Errorf("%q: id %q, error %v", text, id, err)
		}
	}
}

func TestRefusal_IsAmbiguousUnlessTheMessageIsKnown(t *testing.T) {
	tests := []struct {
		kind   jjm.Kind
		exit   int
		stderr string
	}{
		{jjm.Invalid, 1, `Unable to run job: job rejected: the requested parallel environment "nosuch" does not exist`},
		{jjm.Invalid, 1, `Unable to run job: unknown resource "nosuchres"`},
		{jjm.Invalid, 1, `Unable to run job: attribute "h_rt" is not a time value`},
		{jjm.Invalid, 1, `Unable to run job: Job was rejected because job requests unknown queue "nosuch"`},
		{jjm.Invalid, 1, `Unable to run job: job rejected: the requested project "nope" does not exist`},
		{jjm.Invalid, 1, `Unable to run job: can't resolve hostname "nohost"`},
		{jjm.Busy, 25, `Unable to run job: job rejected: you tried to submit a job with more than 50 tasks`},
		{jjm.Denied, 1, `Unable to run job: job rejected: your user id 0 is lower than minimum user id 1000 of cluster configuration`},
		{jjm.Busy, 25, `Unable to run job: job rejected: only 2 jobs are allowed per user (current job count: 2)`},
		{jjm.Busy, 1, "error: commlib error: got select error (Connection refused)\nUnable to run job: unable to send message to qmaster using port 6444 on host \"localhost\": got send error"},
		// The qmaster was killed after qsub had sent its request.
		{jjm.Ambiguous, 1, "error: commlib error: got select error (Connection reset by peer)\nUnable to run job: unable to send message to qmaster using port 16444 on host \"localhost\": got send error"},
		// The qmaster was stopped, and then qsub received TERM.
		{jjm.Ambiguous, 1, `Unable to run job: unable to send message to qmaster using port 6444 on host "localhost": got send error`},
		{jjm.Ambiguous, 1, "error: failed receiving gdi request response for mid=1 (got syncron message receive timeout error)."},
		{jjm.Ambiguous, 137, ""},
	}
	for _, tt := range tests {
		_, err := receipt(run.Output{Exit: tt.exit, Stderr: []byte(tt.stderr)}, 1)
		many := strings.Contains(tt.stderr, "tasks")
		if jjm.KindOf(err) != tt.kind || adapters.IsTooMany(err) != many || adapters.IsUnexplained(err) {
			t.Errorf("%q: kind %q, want %q; too many: %v, unexplained: %v", tt.stderr, jjm.KindOf(err), tt.kind,
				adapters.IsTooMany(err), adapters.IsUnexplained(err))
		}
	}
}

func TestRefusal_InUnknownWordsIsMarked(t *testing.T) {
	_, err := receipt(run.Output{Exit: 1, Stderr: []byte("Unable to run job: the moon is full")}, 1)
	if jjm.KindOf(err) != jjm.Ambiguous || !adapters.IsUnexplained(err) {
		t.Errorf("%v of kind %s", err, jjm.KindOf(err))
	}
}

func TestRequest_InTheWordsOfQsub(t *testing.T) {
	cfg := defaults()
	cfg.PE, cfg.Queue, cfg.ScratchResource = "smp", "all.q", "scratch"
	got := cfg.options(jjm.Request{
		Cores: 4, MemoryMB: 1001, Walltime: jjm.Duration(1500 * time.Millisecond), GPUs: 2, ScratchMB: 10,
		Account: "a1", Project: "p1",
	})
	want := strings.Fields("-pe smp 4 -l h_vmem=251M -l h_rt=2 -l gpu=2 -l scratch=10M -q all.q -A a1 -P p1")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	cfg.MemoryPerSlot, cfg.MemoryResource = false, "mem_total_job"
	got = cfg.options(jjm.Request{Cores: 4, MemoryMB: 1001, Queue: "long.q"})
	if d := cmp.Diff(strings.Fields("-pe smp 4 -l mem_total_job=1001M -q long.q"), got); d != "" {
		t.Error(d)
	}
}

func TestCheck_NamesTheFieldsThatCannotBeExpressed(t *testing.T) {
	a, err := lonely(t, func(c *Config) { c.MemoryResource, c.GPUResource = "", "" })
	if err != nil {
		t.Fatal(err)
	}
	err = a.Check(jjm.Request{
		Cores: 2, MemoryMB: 1, GPUs: 1, ScratchMB: 1, QOS: "x", Queue: "a b", Account: "a:b", Project: "-x",
		Directives: "-l a=b",
	})
	for _, field := range []string{"cores", "memory_mb", "gpus", "scratch_mb", "qos", "queue", "account", "project",
		"directives"} {
		if err == nil || !strings.Contains(err.Error(), "request."+field+":") {
			t.Errorf("%s is not refused: %v", field, err)
		}
	}
	if jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("kind %q", jjm.KindOf(err))
	}
	if err := a.Check(jjm.Request{Queue: "all.q@@hosts", Walltime: 1}); err != nil {
		t.Error(err)
	}
}

func TestDirectives_JJMsOwnOptionsAreRefused(t *testing.T) {
	got, err := words([]string{"-l os=el9,arch=lx-amd64", "-p -100", "-hard", "  -R y "})
	if d := cmp.Diff([]string{"-l", "os=el9,arch=lx-amd64", "-p", "-100", "-hard", "-R", "y"}, got); err != nil ||
		d != "" {
		t.Errorf("error %v\n%s", err, d)
	}
	for _, text := range []string{"-N evil", "-t 1-9", "-h", "-r y", "-o /tmp/x", "-wd /tmp", "-V", "-sync y", "-C x",
		"-@ file",
		"-l a=b -N evil", "-l", "-hard x", "-l -h", "/tmp/script", "-what ever", "-l a=b\n-N x", "-pe smp 8", "-clear",
		"-jsv /tmp/x", "-jsv=/tmp/x", "-jsv", "-jsv shell:mallory@/tmp/x", " -jsv  /tmp/x", "-jsv\t/tmp/x", "\"-jsv\" /tmp/x",
		"'-jsv' /tmp/x", "-js -jsv",
		"-js v /tmp/x", "-JSV /tmp/x", "--jsv /tmp/x", "-l a=b\r-jsv x", "-l a=b -jsv /tmp/x", "-q all.q -jsv /tmp/x",
		"-hard -jsv", "-@/tmp/x",
		"#$ -jsv /tmp/x", "-C #J", "-p -jsv /tmp/x", "-p -jsv", "-M -Ox", "-M a,-Ox", "-M a;b", "-w v", "-w p", "-S /tmp/x",
		"-v SGE_JSV_TIMEOUT=1"} {
		if got, err := words([]string{text}); err == nil {
			t.Errorf("%q gave %q", text, got)
		}
	}
}

func TestConfig_MistakesNameTheirKey(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"bin":             func(c *Config) { c.Bin = "here" },
		"queue":           func(c *Config) { c.Queue = "a b" },
		"account":         func(c *Config) { c.Account = "a:b" },
		"project":         func(c *Config) { c.Project = "-x" },
		"pe":              func(c *Config) { c.PE = "smp 4" },
		"memory_resource": func(c *Config) { c.MemoryResource = "h=v" },
		"hook":            func(c *Config) { c.Hook = "hook" },
		"accounting":      func(c *Config) { c.Accounting = "accounting" },
		"shared_fs":       func(c *Config) { c.SharedFS = false },
		"max_bulk":        func(c *Config) { c.MaxBulk = -1 },
		"keep":            func(c *Config) { c.Keep = jjm.Duration(time.Minute) },
		"qos":             func(c *Config) { c.QOS = "high" },
		"directives[0]":   func(c *Config) { c.Directives = []string{"-N x"} },
	} {
		if _, err := lonely(t, change); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), " "+key+":") {
			t.Errorf("%s: error %v", key, err)
		}
	}
}

func TestConfig_TheAccountingFileIsBelowSGERoot(t *testing.T) {
	cfg := defaults()
	cfg.Env = map[string]string{"SGE_ROOT": "/opt/sge", "SGE_CELL": "p6444"}
	if got := cfg.accounting(); got != "/opt/sge/p6444/common/accounting" {
		t.Error(got)
	}
	cfg.Accounting = "/var/acct"
	if got := cfg.accounting(); got != "/var/acct" {
		t.Error(got)
	}
}

func TestHook_AddsOptionsOrRefuses(t *testing.T) {
	hook := filepath.Join(t.TempDir(), "hook")
	a, err := lonely(t, func(c *Config) { c.Hook = adapters.Hook(hook) })
	if err != nil {
		t.Fatal(err)
	}
	b := adapters.Bulk{Tag: "jhook", N: 2, Owner: jjm.Owner{User: "ann"}, Dir: "/", Argv: []string{"true"}}
	try := func(script string) ([]string, error) {
		if err := os.WriteFile(hook, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
		return a.prepare(t.Context(), b)
	}
	argv, err := try(`grep -q '"cluster":"far","tag":"jhook".*"user":"ann".*"n":2' || exit 9; echo; echo "-l site=hep"`)
	if err != nil || !slices.Equal(argv[len(argv)-2:], []string{"-l", "site=hep"}) {
		t.Errorf("%q, error %v", argv, err)
	}
	for script, want := range map[string]string{"echo no beam today >&2; exit 1": "no beam today", "echo -N evil": "-N"} {
		if _, err := try(script); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", script, err)
		}
	}
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Submit(t.Context(), b); !adapters.IsNotStarted(err) {
		t.Errorf("a missing hook: error %v", err)
	}
}

// The test runs the job script with each awk that is installed, and once without awk.
func TestScript_EndsAsItsCommandDid(t *testing.T) {
	awks := map[string]string{"the shell alone": "exit 127"}
	for _, awk := range []string{"mawk", "gawk", "busybox awk", "original-awk"} {
		if _, err := exec.LookPath(strings.Fields(awk)[0]); err == nil {
			awks[awk] = "exec " + awk + ` "$@"`
		}
	}
	for name, body := range awks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, "awk"), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			deaf := name == "busybox awk" // busybox awk cannot end itself by a signal; see shield
			for _, tt := range []struct {
				script       string
				exit, signal int
			}{
				{"exit 0", 0, 0}, {"exit 7", 7, 0}, {"exit 99", 0, signalFor99}, {"exit 100", 0, signalFor100},
				{"exit 255", 255, 0},
				{"exit 137", 137, 0}, {"kill -KILL $$", 0, 9}, {"kill -TERM $$", 0, 15}, {"ulimit -c 0; kill -SEGV $$", 0, 11},
			} {
				if deaf && tt.exit > 128 && tt.exit <= 192 { // 255 is not a signal
					tt.exit, tt.signal = 0, tt.exit-128
				}
				if name == "the shell alone" {
					tt.exit, tt.signal = 96, 0 // without awk there is no shield, and the command never runs
				}
				exit, signal, log := runScript(t, bin, tt.script)
				if exit != tt.exit || signal != tt.signal {
					t.Errorf("%s: exit %d, signal %d\n%s", tt.script, exit, signal, log)
				}
			}
		})
	}
}

// runScript runs a job script with one command as Grid Engine would.
func runScript(t *testing.T, bin, command string) (exit, signal int, log string) {
	t.Helper()
	dir := t.TempDir()
	b := adapters.Bulk{Tag: "j", N: 1, Dir: dir, Log: filepath.Join(dir, "log"), Argv: []string{"/bin/sh", "-c",
		`[ "$JJM_INDEX $JJM_BATCH_ID $2" = "6 42.7 it's \"odd\"" ] || exit 55; ` + command, "sh", "", `it's "odd"`}}
	out, err := run.Run(t.Context(), run.Cmd{
		Argv:     []string{"/bin/sh", "-c", jobScript(b, true)},
		Env:      []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "JOB_ID=42", "SGE_TASK_ID=7"},
		Deadline: await.Guard(5 * time.Minute),
	})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(b.Log)
	if out.Signal != 0 {
		out.Exit = 0
	}
	return out.Exit, out.Signal, fmt.Sprintf("%s%s%s", out.Stdout, out.Stderr, text)
}

func TestScript_WithoutShieldIsTheCommand(t *testing.T) {
	b := adapters.Bulk{Dir: "/", Argv: []string{"/bin/true"}}
	if text := jobScript(b, false); strings.Contains(text, "awk") || !strings.Contains(text, "exec '/bin/true'") {
		t.Error(text)
	}
}

func FuzzReceipt(f *testing.F) {
	f.Add("42.1-3:1\n", "", 0)
	f.Add("", "Unable to run job: unknown resource", 1)
	f.Fuzz(func(t *testing.T, stdout, stderr string, exit int) {
		id, err := receipt(run.Output{Stdout: []byte(stdout), Stderr: []byte(stderr), Exit: exit}, 3)
		if (err == nil) == (id == "") || err == nil && (exit != 0 || !strings.Contains(stdout, id+".1-3:1")) {
			t.Errorf("id %q, error %v", id, err)
		}
	})
}

func FuzzWords(f *testing.F) {
	f.Add("-l os=el9")
	f.Add("-l a=b -N evil")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := words([]string{text})
		if err != nil {
			return
		}
		for i, w := range got {
			if i == 0 && slices.Contains(owned, w) || i > 0 && got[0] != "-p" && strings.HasPrefix(w, "-") || i > 1 {
				t.Errorf("%q gave %q", text, got)
			}
		}
	})
}
