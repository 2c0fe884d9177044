package condor

import (
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// adapterOf returns an adapter whose configuration was changed by change. The adapter runs no commands.
func adapterOf(t testing.TB, change func(c *Config)) *Adapter {
	t.Helper()
	a, err := New("pool", adapters.Env{}, func(config any) error {
		if change != nil {
			change(config.(*Config))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.(*Adapter)
}

func TestCheck_NamesTheField(t *testing.T) {
	a := adapterOf(t, func(c *Config) {
		c.Queues = map[string]string{"long": "true", "gpu": "TARGET.GPUs > 0"}
		c.MaxCores, c.MaxMemoryMB, c.MaxWalltime = 8, 16000, jjm.Duration(48*time.Hour)
		c.ProjectAttribute, c.AllowDirectives = "ProjectName", true
	})
	tests := map[string]struct {
		request jjm.Request
		says    string
	}{
		"nothing": {},
		"all that fits": {request: jjm.Request{Cores: 8, MemoryMB: 16000, Walltime: jjm.Duration(48 * time.Hour),
			Queue: "gpu", GPUs: 2, ScratchMB: 1 << 20, Account: "a.b", Project: "x",
			Directives: "+WantX = true\nrank = Mips\n\n"}},
		"cores":              {jjm.Request{Cores: 9}, "request.cores"},
		"negative cores":     {jjm.Request{Cores: -1}, "request.cores"},
		"memory":             {jjm.Request{MemoryMB: 16001}, "request.memory_mb"},
		"scratch":            {jjm.Request{ScratchMB: -1}, "request.scratch_mb"},
		"too much scratch":   {jjm.Request{ScratchMB: 1 << 60}, "request.scratch_mb"},
		"gpus":               {jjm.Request{GPUs: 5000}, "request.gpus"},
		"walltime":           {jjm.Request{Walltime: jjm.Duration(49 * time.Hour)}, "request.walltime"},
		"queue":              {jjm.Request{Queue: "short"}, "gpu, long"},
		"account":            {jjm.Request{Account: "a b"}, "request.account"},
		"account of 2 lines": {jjm.Request{Account: "a\nqueue 5"}, "request.account"},
		"project":            {jjm.Request{Project: `x" || true`}, "request.project"},
		"qos":                {jjm.Request{QOS: "fast"}, "qos_attribute is not set"},
		"directives":         {jjm.Request{Directives: "queue 7"}, "request.directives"},
		"owned directive":    {jjm.Request{Directives: "rank = Mips\nhold = false"}, "hold"},
	}
	for name, tt := range tests {
		err := a.Check(tt.request)
		if tt.says == "" && err == nil {
			continue
		}
		if tt.says == "" || err == nil || jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v, want %q", name, err, tt.says)
		}
	}
	closed := adapterOf(t, nil)
	if err := closed.Check(jjm.Request{Directives: "rank = Mips"}); err == nil ||
		!strings.Contains(err.Error(), "allow_directives") {
		t.Errorf("directives where none are allowed: error %v", err)
	}
}

func TestDirective_WhatJjmSetsItselfIsRefused(t *testing.T) {
	good := []string{
		"rank = Mips", "  priority=5 ", "concurrency_limits = db:2", `+SingularityImage = "/x.sif"`, "My.WantIO = true",
		"request_fpgas = 1",
		"container_image = docker://debian", "nice_user = true",
	}
	for _, line := range good {
		if problem := directiveProblem(line); problem != "" {
			t.Errorf("%q: %s", line, problem)
		}
	}
	bad := []string{
		"queue", "queue 5", "queue = 5", "executable = /bin/x", "Arguments = x", "environment = x", "HOLD = false",
		"+JJMTag = \"x\"",
		"my.jjmtag = \"x\"", "MY.JJMTag = 1", "+Owner = \"root\"", "requirements = true", "+Requirements = true",
		"leave_in_queue = true", "+LeaveJobInQueue = true",
		"periodic_remove = true", "on_exit_remove = false", "max_retries = 3", "output = x", "error = x", "log = x",
		"initialdir = /x",
		"should_transfer_files = YES", "universe = local", "request_cpus = 5", "max_materialize = 5", "include : /etc/x",
		"rank = a \\",
		"a = b\nqueue 5", "if true", "", "rank", "rank @= end", "+NumJobStarts = 0", "hold", "batch_name = x",
		"deferral_time = 5",
		"kill_sig = 9", "X = $(Y)",
	}
	for _, line := range bad {
		if problem := directiveProblem(line); problem == "" {
			t.Errorf("%q is accepted", line)
		}
	}
}

func FuzzDirective(f *testing.F) {
	for _, line := range []string{"rank = Mips", "+A = 1", "My.B = 2", "queue", "hold = true", "request_x = 1",
		"a\nb = c"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if directiveProblem(line) != "" {
			return
		}
		name, _, ok := strings.Cut(line, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if !ok || strings.ContainsAny(line, "\n\r\x00") || strings.HasPrefix(name, "queue") || name == "hold" ||
			strings.Contains(name, "jjm") {
			t.Errorf("%q is accepted", line)
		}
	})
}

func TestConfig_MistakesNameTheKey(t *testing.T) {
	tests := map[string]func(c *Config){
		"bin":               func(c *Config) { c.Bin = "bin" },
		"keep":              func(c *Config) { c.Keep = -1 },
		"keep: 10m":         func(c *Config) { c.History, c.Keep = false, jjm.Duration(10*time.Minute) },
		"grace":             func(c *Config) { c.Grace = 0 },
		"max_bulk":          func(c *Config) { c.MaxBulk = 0 },
		"max_cores":         func(c *Config) { c.MaxMemoryMB = -1 },
		"hook":              func(c *Config) { c.Hook = "hook.sh" },
		"event_log":         func(c *Config) { c.EventLog = "EventLog" },
		"queue":             func(c *Config) { c.Queue = "long" },
		"queues.long":       func(c *Config) { c.Queues = map[string]string{"long": "(true"} },
		"requirements":      func(c *Config) { c.Requirements = "a\nqueue 5" },
		"project_attribute": func(c *Config) { c.ProjectAttribute = "a b" },
		"project":           func(c *Config) { c.Project = "x" },
		"qos":               func(c *Config) { c.QOS = "x" },
		"account":           func(c *Config) { c.Account = "a b" },
		"directives":        func(c *Config) { c.Directives = []string{"rank = Mips", "hold = false"} },
	}
	for key, change := range tests {
		_, err := New("pool", adapters.Env{}, func(config any) error {
			change(config.(*Config))
			return nil
		})
		if err == nil || jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), key) ||
			!strings.Contains(err.Error(), "cluster pool") {
			t.Errorf("%s: error %v", key, err)
		}
	}
}

func TestCapabilities_TheScheddsLimitsCount(t *testing.T) {
	a := adapterOf(t, nil)
	before := a.Capabilities()
	if before.MaxBulk != 5000 || before.MaxQueued != 0 || !before.TwoPhase || !before.Accounting {
		t.Errorf("%+v", before)
	}
	a.found = limits{bulk: 100, queued: 7000, slots: 12}
	if c := a.Capabilities(); c.MaxBulk != 100 || c.MaxQueued != 7000 || c.Slots != 12 {
		t.Errorf("%+v", c)
	}
}

func TestLimitsOf(t *testing.T) {
	tests := map[string]limits{
		"20000\n100000\n2147483647\ntrue\n":              {bulk: 20000, queued: 100000},
		"20000\n100000\n5000\nFalse\n":                   {bulk: 20000, queued: 5000, copies: true},
		"Not defined\nNot defined\n-1\nNot defined: X\n": {},
		"0\n0\n300\n false \n":                           {queued: 300, copies: true},
		"2147483647\n2147483647\n 99 \nMaybe\n":          {queued: 99},
	}
	for text, want := range tests {
		if got, err := limitsOf(text); err != nil || got != want {
			t.Errorf("%q: %+v, error %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5\n", "a\nb\nc\ntrue\n", "1\n2\n3\n", "1\n2\n3\n4\n5\n", "1\n2\nError\ntrue\n"} {
		if got, err := limitsOf(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func FuzzLimitsOf(f *testing.F) {
	f.Add("20000\n100000\n2147483647\ntrue\n")
	f.Add("Not defined\n1\n-1\nFalse\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := limitsOf(text); err == nil && (got.bulk < 0 || got.queued < 0) {
			t.Errorf("%q: %+v", text, got)
		}
	})
}

func TestJobDirective_NamesNoFilesOfTheSubmitHostAndNoPrograms(t *testing.T) {
	for _, line := range []string{"rank = Mips", `+WantScratch = true`, `+SingularityImage = "/x.sif"`,
		"container_image = docker://debian:12",
		"container_image = /cvmfs/images/x", "request_fpgas = 1", "notify_user = a@b.c"} {
		if problem := jobDirectiveProblem(line); problem != "" {
			t.Errorf("%q: %s", line, problem)
		}
	}
	for _, line := range []string{
		`+UserLog = "/var/lib/jjm/x"`, `My.userlog = "/x"`, `+DAGManNodesLog = "/x"`, `+PreCmd = "/tmp/x"`,
		`+PostCmd = "/tmp/x"`, `+HookKeyword = "X"`,
		`+StarterUserLog = "/x"`, `+RunAsOwner = false`, `+SpooledOutputFiles = "x"`, `+GridResource = "batch pbs"`,
		`+OAuthServicesNeeded = "x"`,
		"rank = $ENV(HOME)", "+X = \"$(X)\"", "+X = \"$F(y)\"", "container_image = /work/bob/x.sif",
		"container_image = x.sif",
		"container_image = file:///x", "container_image = docker://x, /etc/passwd", "notify_user = -Ox",
		"include command : /tmp/x",
		"include : /tmp/x |", "queue x from /tmp/x |", "use feature : x", "executable = /tmp/x",
		"transfer_input_files = /etc/shadow",
		"accounting_group_user = bob", "delegate_job_GSI_credentials_lifetime = 1", "x509userproxy = /x", "dagman_log = /x",
		"hold_kill_sig = 9",
	} {
		if problem := jobDirectiveProblem(line); problem == "" {
			t.Errorf("%q is accepted", line)
		}
	}
}
