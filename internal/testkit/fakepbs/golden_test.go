package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	jjmrun "jjm/internal/sys/run"

	"jjm/internal/testkit/await"
)

// TestMain makes the test's own binary act as the commands of PBS.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if verbs[name].do != nil || len(os.Args) == 2 && os.Args[1] == "serve" {
		os.Exit(run(name, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// recorded is a shell command with its exit code and output, as recorded on a host with OpenPBS 23.06.06.
type recorded struct {
	user, command  string
	exit           int
	stdout, stderr string
}

func read(t *testing.T, name string) recorded {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		key, value, ok := strings.Cut(strings.TrimPrefix(string(line), "### "), ": ")
		switch {
		case ok && key == "user":
			r.user = value
		case ok && key == "command":
			r.command = value
		case ok && key == "exit":
			r.exit, _ = strconv.Atoi(value)
		}
		var n int
		if k, _ := fmt.Sscanf(string(line), "### stdout (%d bytes):", &n); k == 1 {
			r.stdout, text = string(text[:n]), text[n:]
		}
		if k, _ := fmt.Sscanf(string(line), "### stderr (%d bytes):", &n); k == 1 {
			r.stderr, text = string(text[:n]), text[n:]
		}
	}
	return r
}

// bed is a fake PBS complex, with a home for its users.
type bed struct {
	t                *testing.T
	bin, state, home string
	env              map[string]string
}

func newBed(t *testing.T, env map[string]string) *bed {
	t.Helper()
	home := fmt.Sprintf("/tmp/jjm%05d", rand.IntN(100000))
	if err := os.Mkdir(home, 0o777); err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, bin: filepath.Join(home, "bin"), state: filepath.Join(home, "state"), home: home, env: env}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if err := install(b.bin); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.home, "p"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(b.state); err != nil {
			t.Error(err)
		}
	})
	b.sh("root", `printf '#!/bin/bash\necho out $PBS_JOBID $PBS_ARRAY_INDEX; echo err >&2; sleep ${S:-1}; exit ${X:-0}\n' > p/j.sh`)
	return b
}

func (b *bed) sh(user, command string) jjmrun.Output {
	b.t.Helper()
	env := []string{
		"HOME=" + b.home, "LANG=C.UTF-8", "LOGNAME=" + user, "SHELL=/bin/bash", "FAKEPBS_DIR=" + b.state,
		"PATH=" + b.bin + ":/usr/local/bin:/usr/bin:/bin", "FAKEPBS_USER=" + user,
	}
	for k, v := range b.env {
		env = append(env, k+"="+v)
	}
	out, err := jjmrun.Run(b.t.Context(),
		jjmrun.Cmd{Argv: []string{"/bin/bash", "-c", command}, Dir: b.home, Env: env, Deadline: await.Guard(time.Minute)})
	if err != nil {
		b.t.Fatalf("%s: %v", command, err)
	}
	return out
}

// fault sets or removes a fault.
func (b *bed) fault(name string, on bool) {
	b.t.Helper()
	path := filepath.Join(b.state, "faults", name)
	err := os.Remove(path)
	if on {
		if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			err = os.WriteFile(path, nil, 0o666)
		}
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// until repeats a command until it prints the expected text, and returns the output.
func (b *bed) until(command, want string) string {
	b.t.Helper()
	var out string
	for end := time.Now().Add(await.Guard(4 * time.Minute)); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if out = string(b.sh("jjmuser", command).Stdout); strings.Contains(out, want) {
			return out
		}
	}
	b.t.Fatalf("%s: no %q in\n%s", command, want, out)
	return ""
}

// different lists the texts that differ between two runs of the same command, with their replacements.
var different = []struct{ from, to string }{
	{`\b\d+(\[[^]]*\])?\.pbshost`, `N$1.pbshost`},
	{`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}`, `TIME`},
	{`[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d at \d\d:\d\d`, `MINUTE`},
	{`\b1[789]\d{8}\b`, `EPOCH`},
	{`\d+kb\b`, `SIZE`},
	{`/tmp/jjm\d{5}`, `/home/jjmuser`},
	{`\b00:00:\d\d\b`, `CLOCK`},
	{`pbshost/\d+`, `pbshost/SLOT`},
	{`[ \t]+\n`, "\n"},
	{`[ -]{2,}`, ` `},
}

func same(s string) string {
	s = shown(s)
	for _, d := range different {
		s = regexp.MustCompile(d.from).ReplaceAllString(s, d.to)
	}
	return s
}

// leftOut matches the parts of recordings that the fake does not print: jobs as text, usage texts, and attributes that
// jjm does not read. It also matches the Submit_arguments of the job js_badutf, which the test submits with another
// value of qsub's option -v.
var leftOut = regexp.MustCompile(`(?m)^Job id .*\n[- ]+\n.*\n|^usage: (?s:.*?)--version\n|` +
	`^ *"Resource_List":\{(?s:.*?)\},?\n|^ *"Submit_arguments":".*-N js_badutf .*\n|` +
	`^ *"(queue|server|Checkpoint|Error_Path|exec_vnode|Join_Path|Keep_Files|Mail_Points|Output_Path|Priority|qtime|` +
	`jobdir|etime|Stageout_status|project|Submit_Host|array|array_state_count|array_indices_remaining|` +
	`cpupercent|ncpus|vmem|walltime|PBS_O_(LANG|LOGNAME|PATH|SHELL|WORKDIR|SYSTEM|QUEUE|HOST))":.*\n`)

// lastComma matches the comma after a member that became the last member because later members are left out.
var lastComma = regexp.MustCompile(`,(\n *\})`)

// shown removes the members that the fake does not print from an output.
func shown(text string) string {
	text = strings.ReplaceAll(leftOut.ReplaceAllString(text, ""), ` p/j.sh"`, `"`)
	return lastComma.ReplaceAllString(text, "$1")
}

// scriptFile matches a script's file among the operands of qsub.
var scriptFile = regexp.MustCompile(`([^>]) p/j\.sh`)

// asFake removes from a recorded command and its output everything that the fake does not support: scripts come only
// from standard input, arrays have no steps, and jobs are selected only by name.
func asFake(r recorded) recorded {
	r.command, _, _ = strings.Cut(r.command, "; qstat -f $(")
	r.stdout, _, _ = strings.Cut(r.stdout, "    Variable_List = ")
	const glob = `qselect -x -N "jjm*"; echo glob rc=$?; `
	r.command = strings.NewReplacer(`qstat -x "$B"; `, "", "timeout 60 ", "", glob, "",
		"0-9:3", "0-9", "grep -A25", "grep -a -A25", // -v A takes another value in Submit_arguments, which is binary
		"qselect -A jjm-acct-1", "qselect -N jjm.0123456789abcdef", "qselect -P jjmproj", "qselect -N jjm.0123456789abcdef",
		"qselect -x -A jjm-acct-1", "qselect -x -N jjm.0123456789abcdef").Replace(r.command)
	r.command = scriptFile.ReplaceAllString(r.command, "$1 <p/j.sh")
	r.stdout = strings.Replace(r.stdout, "glob rc=2\n", "", 1)
	r.stderr = strings.Replace(r.stderr, "qselect: illegal -N value\n", "", 1)
	return r
}

// TestGolden runs recorded shell commands on the fake.
func TestGolden(t *testing.T) {
	submit := func(args string) string { return "qsub -h -o p/ -e p/ " + args + " <p/j.sh" }
	tests := []struct {
		names []string
		setup string
		fault string
	}{
		{names: strings.Fields(`qsub_array_bad qsub_bad_option qsub_disabled_queue qsub_unknown_queue qsub_over_limit
			qsub_max_queued qsub_acl_user qdel_unknown qhold_unknown qstat_unknown qstat_unknown_json`)},
		{names: strings.Fields(`qsub_ok qsub_stdin qsub_unsat`)},
		{names: []string{"qsub_array"}},
		{names: []string{"down_pbsnodes", "down_qdel", "down_qselect", "down_qstat", "down_qstat_B", "down_qstat_json",
			"down_qsub_again"}, fault: "refused"},
		{names: []string{"iff_not_setuid"}, fault: "unauthorized"},
		{names: []string{"tag_search"}},
		{names: []string{"array_json"}},
		{names: []string{"qdel_other", "qhold_other"}, setup: submit("-A jjm/tag:0001 -N acct")},
		{names: []string{"jsonraw_js_back"}, setup: submit(`-N js_back -v 'A=C:\temp\new'`)},
		{names: []string{"jsonraw_js_badutf"}, setup: submit(`-N js_badutf -v A=$'\xff\xfe'`)},
		{names: []string{"jsonraw_js_nl"}, setup: submit(`-N js_nl -v $'A=line1\nline2'`)},
		{names: []string{"jsonraw_js_quote"}, setup: submit(`-N js_quote -v 'A=he said "hi"'`)},
		{names: []string{"jsonraw_js_num"},
			setup: submit(`-N js_num -v A=007,B=1e5,C=12345678901234567890,D=+5,E=.5,F=0x10,G=1_0,H=-,I=1.0.0`)},
		{names: []string{"exit7_json"},
			setup: "qmgr -c 'set fake next=31'; qsub -o p/ -e p/ -N exit7 -v X=7 <p/j.sh; " +
				"until qstat -x -f -F json 31 | grep -q Exit; do sleep .1; done"},
	}
	for _, tt := range tests {
		t.Run(tt.names[0], func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			if tt.setup != "" {
				b.sh("jjmuser", tt.setup)
			}
			if tt.fault != "" {
				b.fault(tt.fault, true)
			}
			for _, name := range tt.names {
				want := asFake(read(t, name))
				got := b.sh(want.user, want.command)
				if got.Exit != want.exit {
					t.Errorf("%s: exit %d, recorded %d", name, got.Exit, want.exit)
				}
				if diff := cmp.Diff(same(want.stdout), same(string(got.Stdout))); diff != "" {
					t.Errorf("%s: stdout (-recorded +fake):\n%s", name, diff)
				}
				if diff := cmp.Diff(same(want.stderr), same(string(got.Stderr))); diff != "" {
					t.Errorf("%s: stderr (-recorded +fake):\n%s", name, diff)
				}
			}
		})
	}
}

// attribute returns a value from qstat -f -F json, without quotes; "" for none.
func attribute(text, name string) string {
	_, after, _ := strings.Cut(text, `"`+name+`":`)
	value, _, _ := strings.Cut(after, "\n")
	return strings.Trim(value, `",`)
}
