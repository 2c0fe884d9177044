package condor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
)

// recorded returns the recorded output of a command of HTCondor 23.9.6.
func recorded(t testing.TB, name string) run.Output {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "recorded", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(text), "## stdout:\n")
	stdout, stderr, ok2 := strings.Cut(rest, "## stderr:\n")
	_, exit, ok3 := strings.Cut(head, "## exit: ")
	code, err := strconv.Atoi(strings.Fields(exit)[0])
	if !ok1 || !ok2 || !ok3 || err != nil {
		t.Fatalf("%s is no record", name)
	}
	return run.Output{Stdout: []byte(stdout), Stderr: []byte(stderr), Exit: code}
}

func TestVerdict_OnRecordedSubmissions(t *testing.T) {
	tests := map[string]struct {
		n       int
		cluster string
		kind    jjm.Kind
		says    string
	}{
		"submit_terse":         {n: 1, cluster: "2"},
		"submit_stdin_terse":   {n: 1, cluster: "13"},
		"bulk_submit_args":     {n: 1000, cluster: "115"},
		"frozen_submit":        {n: 1, cluster: "155"}, // recorded when condor_submit had waited 135 s
		"submit_as_root":       {n: 1, kind: jjm.Denied, says: "run the daemon as the jobs' owner"},
		"submit_bad2":          {n: 1, kind: jjm.Invalid, says: "invalid Queue statement"},
		"submit_bad3":          {n: 1, kind: jjm.Invalid, says: "does not exist"},
		"submit_bad4":          {n: 1, kind: jjm.Invalid},
		"submit_bad8":          {n: 1, kind: jjm.Invalid},
		"submit_bad9":          {n: 1, kind: jjm.Invalid},
		"submit_bad10":         {n: 1, kind: jjm.Invalid, says: "Parse error"},
		"submit_bad11":         {n: 1, kind: jjm.Invalid},
		"submit_empty":         {n: 1, kind: jjm.Invalid},
		"submit_terse_multi":   {n: 3, kind: jjm.Invalid},
		"submit_noschedd":      {n: 1, kind: jjm.Busy, says: "Can't find address"},
		"down_submit":          {n: 1, kind: jjm.Busy, says: "Failed to connect"},
		"submit_over_limit":    {n: 200, kind: jjm.Busy, says: "max_bulk"},
		"submit_over_owner":    {n: 20, kind: jjm.Busy, says: "MAX_JOBS_PER_OWNER"},
		"submit_nofile":        {n: 1, kind: jjm.Ambiguous}, // jjm never calls condor_submit in this way
		"submit_badopt":        {n: 1, kind: jjm.Ambiguous},
		"submit_spool_missing": {n: 1, kind: jjm.Ambiguous}, // exit 1, although the job is there
		"submit_ok":            {n: 1, kind: jjm.Ambiguous}, // without -terse the ids are not known
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, err := verdict(recorded(t, name), tt.n)
			if cluster != tt.cluster || jjm.KindOf(err) != tt.kind {
				t.Fatalf("cluster %q, error %v of kind %v", cluster, err, jjm.KindOf(err))
			}
			if many := strings.HasPrefix(name, "submit_over_"); adapters.IsTooMany(err) != many {
				t.Errorf("%v: too many: %v", err, !many)
			}
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestVerdict_DoubtIsAmbiguous(t *testing.T) {
	tests := map[string]run.Output{
		"nothing said":           {},
		"fewer jobs than asked":  {Stdout: []byte("5.0 - 5.6\n")},
		"not from the first one": {Stdout: []byte("5.1 - 5.8\n")},
		"two clusters":           {Stdout: []byte("5.0 - 5.7\n6.0 - 6.7\n")},
		"two numbers":            {Stdout: []byte("5.0 - 6.7\n")},
		"said and then failed": {Stdout: []byte("5.0 - 5.7\n"), Exit: 1,
			Stderr: []byte("ERROR: Failed to connect to x\n")},
		"killed":                   {Exit: 137, Signal: 9},
		"killed by a shell's word": {Exit: 137},
		"an unknown complaint":     {Exit: 1, Stderr: []byte("ERROR: something new\n")},
		"the commit was cut":       {Exit: 1, Stderr: []byte("\nERROR: Failed to commit job submission into the queue.\n")},
		"signal and a refusal":     {Exit: 139, Signal: 11, Stderr: []byte("ERROR: Parse error in expression\n")},
	}
	for name, out := range tests {
		if cluster, err := verdict(out, 8); jjm.KindOf(err) != jjm.Ambiguous || cluster != "" {
			t.Errorf("%s: cluster %q, error %v", name, cluster, err)
		}
	}
	refused := run.Output{Exit: 1,
		Stderr: []byte("\nERROR: Failed to commit job submission into the queue.\nERROR: no such jobs here\n")}
	if _, err := verdict(refused, 8); jjm.KindOf(err) != jjm.Invalid ||
		!strings.Contains(err.Error(), "no such jobs here") {
		t.Errorf("a submit requirement: error %v", err)
	}
	asRoot := run.Output{Exit: 1, Stderr: []byte(
		"\nERROR: Failed to commit job submission into the queue.\nERROR: Setting job owner to \"root\" is not permitted\n")}
	if _, err := verdict(asRoot, 8); jjm.KindOf(err) != jjm.Denied {
		t.Errorf("as root: error %v", err)
	}
	bannered := run.Output{Stdout: []byte("Welcome!\n5.0 - 5.7\n"), Stderr: []byte("WARNING: be nice\n")}
	if cluster, err := verdict(bannered, 8); cluster != "5" || err != nil {
		t.Errorf("with a banner: cluster %q, error %v", cluster, err)
	}
}

// sh runs a script in the same way as HTCondor's starter runs a submitted command, and returns its output.
func sh(t testing.TB, script string) string {
	t.Helper()
	out, err := run.Run(t.Context(), run.Cmd{
		Argv:     []string{"/bin/sh", "-c", "eval \"`printf %b $1`\"", "jjm", encode(script)},
		Env:      []string{"JJM_INDEX=3", "JJM_BATCH_ID=7.3"},
		Deadline: await.Guard(5 * time.Minute),
	})
	if err != nil || out.Exit != 0 {
		t.Fatalf("exit %d, error %v: %s", out.Exit, err, out.Stderr)
	}
	return string(out.Stdout)
}

func TestEncode_AnyTextReachesTheShell(t *testing.T) {
	every := make([]byte, 0, 255)
	for c := 1; c < 256; c++ {
		every = append(every, byte(c))
	}
	for _, text := range []string{"", "plain", "$(Process) $$(Name) $ENV(HOME) `id`", `a\nb\\c\0101`, "\"''\"", "end\n\n",
		string(every)} {
		if got := sh(t, "printf '%s|' "+adapters.Quote(text)); got != text+"|" {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := sh(t, `echo "$JJM_INDEX $JJM_BATCH_ID"`); got != "3 7.3\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzEncode(f *testing.F) {
	for _, text := range []string{"", "plain", "$(X) $$(Y)", "a\nb", "\x00\x01\xff", `\0101`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		code := encode(text)
		if strings.Trim(code, `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.,:=+@-\`) != "" {
			t.Fatalf("%q became %q", text, code)
		}
		var back strings.Builder
		for i := 0; i < len(code); i++ {
			if code[i] != '\\' {
				back.WriteByte(code[i])
				continue
			}
			n, err := strconv.ParseUint(code[i+2:i+5], 8, 8)
			if err != nil || code[i+1] != '0' {
				t.Fatalf("%q in %q", code[i:i+5], code)
			}
			back.WriteByte(byte(n))
			i += 4
		}
		if back.String() != text {
			t.Fatalf("%q came back as %q", text, back.String())
		}
	})
}

func TestDescription_WhatIsSubmitted(t *testing.T) {
	c := DefaultConfig()
	c.Account, c.Queues, c.Queue = "physics", map[string]string{"long": `TARGET.Kind == "long"`}, "long"
	c.Requirements, c.ProjectAttribute = "TARGET.HasCVMFS", "ProjectName"
	b := adapters.Bulk{Tag: "jx1", N: 3, Request: jjm.Request{
		Cores: 2, MemoryMB: 2000, ScratchMB: 10, GPUs: 1, Walltime: 90500 * 1e6, Project: "atlas", Account: "phys.prod",
	}}
	got := c.description(b, "true", []string{"rank = Mips"})
	for _, want := range []string{
		"request_cpus = 2\n", "request_memory = 2000\n", "request_disk = 10240\n", "request_gpus = 1\n",
		"allowed_job_duration = 91\n", "accounting_group = phys.prod\n", "+ProjectName = \"atlas\"\n",
		"requirements = (NumJobStarts == 0) && (TARGET.HasCVMFS) && (TARGET.Kind == \"long\")\n",
		"hold = true\n", "+JJMTag = \"jx1\"\n",
		"leave_in_queue = (JobStatus == 4) && (time() - EnteredCurrentStatus < 3600)\n", "job_max_vacate_time = 30\n",
	} {
		if !strings.Contains(got, "\n"+want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if !strings.HasPrefix(got, "rank = Mips\n") || !strings.HasSuffix(got, "\nqueue 3\n") {
		t.Errorf("what others add comes first, queue last:\n%s", got)
	}
	plain := DefaultConfig().description(adapters.Bulk{Tag: "jx1", N: 1}, "true", nil)
	for _, not := range []string{"request_", "accounting_group", "allowed_job_duration"} {
		if strings.Contains(plain, not) {
			t.Errorf("%s, though nothing is asked for:\n%s", not, plain)
		}
	}
}
