package command

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// small is a correct description, into which tests insert mistakes.
const small = `name = "small"

[capabilities]
max_bulk = 10

[ids]
job = "%__BATCH_JOB_ID__.%__ARRAY_INDEX__"

[job]
id_variable = "ID"
index_variable = "INDEX"

[submit]
command = ["sub", "%__TAG__", "%__COUNT__", "%__OPTIONS__"]

[submit.options]
queue = ["-q", "%__QUEUE__"]

[[submit.outcome]]
word = "ok"
stdout = "job %__BATCH_JOB_ID__"

[list]
command = ["stat"]
columns = ["job", "state", "name"]

[[list.outcome]]
word = "ok"

[cancel]
command = ["del", "%__JOB_IDS__"]

[[cancel.outcome]]
word = "ok"

[states]
R = "RUNNING"
`

func TestParse_ContradictionsAreNamedWithTheirPlace(t *testing.T) {
	if _, err := Parse("small.toml", []byte(small)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown key", `max_bulk`, `max_bluk`,
			`small.toml:4: capabilities.max_bluk: unknown key "max_bluk": did you mean "max_bulk"?`},
		{"unknown name", `%__COUNT__`, `%__CUONT__`, `did you mean "COUNT"?`},
		{"name of another verb", `["stat"]`, `["stat", "%__JOB_ID__"]`, `%__JOB_ID__ cannot be used here`},
		{"unfinished name", `["stat"]`, `["stat", "%__owner__"]`, `write a name as %__NAME__`},
		{"no tag", `"%__TAG__", `, ``, `want %__TAG__`},
		{"no id", `job %__BATCH_JOB_ID__`, `done`, `small.toml:19: submit.outcome[0]: want a text with %__BATCH_JOB_ID__`},
		{"bulk without index", `.%__ARRAY_INDEX__`, ``, `ids.job has no %__ARRAY_INDEX__`},
		{"ids run together", `.%__ARRAY_INDEX__`, `0%__ARRAY_INDEX__`, `want something other than a digit`},
		{"no size", `"%__COUNT__", `, ``, `no %__COUNT__ or %__LAST_INDEX__`},
		{"held without release", `max_bulk = 10`, "max_bulk = 10\ntwo_phase = true", `no verb release`},
		{"option without place", `, "%__OPTIONS__"`, ``, `submit.command has no %__OPTIONS__`},
		{"unknown option", `queue = [`, `qeue = [`,
			`small.toml:17: submit.options.qeue: unknown key "qeue": did you mean "queue"?`},
		{"unknown state", `"RUNNING"`, `"RUNING"`, `did you mean "RUNNING"?`},
		{"unknown word", "[[list.outcome]]\nword = \"ok\"", "[[list.outcome]]\nword = \"bussy\"", `did you mean "busy"?`},
		{"two forms", `columns`, "line = '(?P<job>.*)'\ncolumns", `want the form of the listing`},
		{"unknown column", `"state", "name"]`, `"stat", "name"]`, `did you mean "state"?`},
		{"column twice", `"state", "name"]`, `"state", "name", "state"]`, `"state" is given twice`},
		{"no name", `"state", "name"]`, `"state"]`, `want the field "name"`},
		{"half an id", `["job", "state"`, `["bulk", "state"`, `both "bulk" and "index"`},
		{"bad expression", `[list]`, "[list]\nheader = '('", `is not a regular expression`},
		{"bad exit", `stdout = "job`, "exit = \"300\"\nstdout = \"job", `want exit codes such as`},
		{"never reached", `stdout = "job %__BATCH_JOB_ID__"`,
			"stdout = \"job %__BATCH_JOB_ID__\"\n[[submit.outcome]]\nword = \"busy\"\n[[submit.outcome]]\nword = \"invalid\"",
			`never reached`},
		{"both conditions", `stdout = "job`, "stdout_matches = 'x'\nstdout = \"job", `want this or stdout_matches, not both`},
		{"script without path", `command = ["sub"`, "script = \"argument\"\ncommand = [\"sub\"",
			`use %__SCRIPT__, the path of the script`},
		{"no cancel", "[cancel]\ncommand = [\"del\", \"%__JOB_IDS__\"]\n\n[[cancel.outcome]]\nword = \"ok\"\n", "",
			"cancel: missing"},
		{"no jobs", `"del", "%__JOB_IDS__"`, `"del"`, "want %__JOB_IDS__"},
		{"hold first", `command = ["del"`, "hold_first = true\ncommand = [\"del\"", "there is no verb hold"},
		{"one and many", `"del", "%__JOB_IDS__"`, `"del", "%__JOB_ID__", "%__JOB_IDS__"`, "both one job or tag and several"},
		{"bad layout", `[states]`, "[times]\nlayouts = [\"%Y-%m-%d\"]\n[states]", "want \"epoch\", or how 2 January 2006"},
		{"bad variable", `"INDEX"`, `"IN DEX"`, "want the name of a variable"},
		{"rule on nothing", `[states]`, "[[rule]]\nbecomes = \"OK\"\n[states]", "want reason or exit"},
		{"groups in ids", `[ids]`, "[ids]\nbulk = '(a)'", "want no groups"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(small, c.old) {
				t.Fatalf("%q is not in the description", c.old)
			}
			_, err := Parse("small.toml", []byte(strings.Replace(small, c.old, c.new, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v\nwant %s", err, c.want)
			}
			if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "small.toml:") {
				t.Errorf("kind %v, error %v: want invalid, and a place", jjm.KindOf(err), err)
			}
		})
	}
}

func TestParse_AllMistakesAtOnce(t *testing.T) {
	text := strings.NewReplacer("max_bulk", "max_bluk", "%__COUNT__", "%__CUONT__", `"RUNNING"`, `"RUNING"`,
		`"state", "name"]`, `"stat"]`).Replace(small)
	_, err := Parse("small.toml", []byte(text))
	var ps jjm.Problems
	if !errors.As(err, &ps) || len(ps) < 5 {
		t.Errorf("error %v: want all five", err)
	}
}

func TestParse_NothingIsGoodByDefault(t *testing.T) {
	_, err := Parse("x.toml", nil)
	for _, want := range []string{"name: missing", "submit: missing", "list: missing", "cancel: missing",
		"states: missing", "job.id_variable: missing"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
}

func TestTemplate_ListsAreWordsOrJoined(t *testing.T) {
	v := values{words: map[string]string{"OWNER": "alice"},
		lists: map[string][]string{"JOB_IDS": {"1_0", "1_1"}, "OPTIONS": {}}}
	word := func(texts ...string) (all []template) {
		for _, text := range texts {
			all = append(all, parseTemplate(text))
		}
		return all
	}
	for _, c := range []struct {
		cmd  command
		want []string
	}{
		{command{words: word("del", "%__JOB_IDS__", "%__OPTIONS__"), join: ","}, []string{"del", "1_0", "1_1"}},
		{command{words: word("del", "--jobs=%__JOB_IDS__"), join: ","}, []string{"del", "--jobs=1_0,1_1"}},
		{command{words: word("del", "%__JOB_IDS__", "%__OPTIONS__"), join: ":", joinWhole: true}, []string{"del", "1_0:1_1"}},
		{command{words: word("q", "-u%__OWNER__%", "%_x_"), join: ","}, []string{"q", "-ualice%", "%_x_"}},
	} {
		if got := c.cmd.argv(v); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestOutcome_ASignalOrAnExitCodeOutsideIsNoMatch(t *testing.T) {
	d := shippedDescription(t, "slurm.toml")
	good := run.Output{Stdout: []byte("Submitted batch job 42\n")}
	if id, err := d.submitted(good, values{}); id != "42" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	killed := good
	killed.Exit, killed.Signal = 137, 9
	failed := good
	failed.Exit = 1
	for _, out := range []run.Output{killed, failed, {}, {Stdout: []byte("Submitted batch job 42")[:21]},
		{Stdout: []byte("42\n")}} {
		if id, err := d.submitted(out, values{}); id != "" || jjm.KindOf(err) != jjm.Ambiguous {
			t.Errorf("%q: %q, %v", out.Stdout, id, err)
		}
	}
}

// Slurm 22.05.8 wrote these error texts. The description slurm.toml must assign the right kind to each error.
func TestSlurm_RecordedErrors(t *testing.T) {
	d := shippedDescription(t, "slurm.toml")
	const failed = "sbatch: error: Batch job submission failed: "
	for stderr, kind := range map[string]jjm.Kind{
		"sbatch: error: invalid partition specified: nosuch\n" + failed +
			"Invalid partition name specified\n": jjm.Invalid,
		"sbatch: error: Memory specification can not be satisfied\n" + failed +
			"Requested node configuration is not available\n": jjm.Invalid,
		failed + "Required partition not available (inactive or drain)\n":       jjm.Invalid,
		failed + "Invalid job array specification\n":                            jjm.Invalid,
		"sbatch: error: Invalid generic resource (gres) specification\n":        jjm.Invalid,
		failed + "User's group not permitted to use this partition\n":           jjm.Denied,
		failed + "Invalid account or account/partition combination specified\n": jjm.Denied,
		failed + "Unable to contact slurm controller (connect failure)\n":       jjm.Busy,
		"sbatch: error: Munge encode failed: Failed to access \"/run/munge.sock\"\n" + failed +
			"Protocol authentication error\n": jjm.Busy,
		"sbatch: error: AssocMaxSubmitJobLimit\n" + failed +
			"Job violates accounting/QOS policy (job submit limit, user's size ...)\n": jjm.Busy,
		"sbatch: error: QOSMaxWallDurationPerJobLimit\n" + failed +
			"Job violates accounting/QOS policy (job submit limit, ...)\n": jjm.Invalid,
		failed + "Socket timed out on send/recv operation\n": jjm.Ambiguous,
		"sbatch: error: something new\n":                     jjm.Ambiguous,
	} {
		_, err := d.submitted(run.Output{Exit: 1, Stderr: []byte(stderr)}, values{})
		if jjm.KindOf(err) != kind {
			t.Errorf("%q: %v of kind %v, want %v", stderr, err, jjm.KindOf(err), kind)
		}
	}
}

// Only a rejection because of the number of jobs is marked by TooMany, which makes later bulks smaller.
func TestTooMany_DescriptionsMarkIt(t *testing.T) {
	const failed = "sbatch: error: Batch job submission failed: "
	policy := failed + "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n"
	for _, c := range []struct {
		file, stderr string
		many         bool
	}{
		{"slurm.toml", "sbatch: error: AssocMaxSubmitJobLimit\n" + policy, true},
		{"slurm.toml", "sbatch: error: AssocGrpSubmitJobsLimit\n" + policy, true},
		{"slurm.toml", "sbatch: error: QOSMaxSubmitJobPerUserLimit\n" + policy, true},
		{"slurm.toml", "sbatch: error: QOSGrpSubmitJobsLimit\n" + policy, true},
		{"slurm.toml", "sbatch: error: MaxSubmitJobsPerAccount\n" + policy, true},
		{"slurm.toml", policy, true},
		{"slurm.toml", "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n", true},
		{"slurm.toml", failed + "Slurm temporarily unable to accept job, sleeping and retrying\n", true},
		{"slurm.toml", "sbatch: error: QOSMaxWallDurationPerJobLimit\n" + policy, false},
		{"slurm.toml", failed + "Unable to contact slurm controller (connect failure)\n", false},
		{"lsf.toml", "User alice: Pending job threshold reached. Job not submitted.\n", true},
		{"lsf.toml", "Job array index too large. Job not submitted.\n", true},
		{"lsf.toml", "night: Queue has been closed. Job not submitted.\n", false},
		{"lsf.toml", "LSF is down. Please wait ...\n", false},
	} {
		_, err := shippedDescription(t, c.file).submitted(run.Output{Exit: 1, Stderr: []byte(c.stderr)}, values{})
		if adapters.IsTooMany(err) != c.many || err == nil || !strings.Contains(err.Error(), "exit 1: ") {
			t.Errorf("%s: %q: marked %v, error %v", c.file, c.stderr, !c.many, err)
		}
	}
}

// Only the outcomes of the verb submit may be "too-many".
func TestTooMany_IsAWordOfSubmitAlone(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "etc", "adapters", "slurm.toml"))
	if err != nil {
		t.Fatal(err)
	}
	extra := "\n[[VERB.outcome]]\nword = \"too-many\"\nstderr = \"x\"\n"
	for _, verb := range []string{"list", "find", "account", "cancel", "hold", "release", "probe"} {
		_, err := Parse("slurm.toml", []byte(string(text)+strings.Replace(extra, "VERB", verb, 1)))
		if err == nil || !strings.Contains(err.Error(), `"too-many": known are `) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// The test parses lines of accounting records that were recorded from sacct 22.05.8.
func TestSlurm_RecordedAccounting(t *testing.T) {
	d := shippedDescription(t, "slurm.toml")
	text := "JobID|State|ExitCode|Submit|Start|End|NodeList|TotalCPU|JobName\n" +
		"2942_0|CANCELLED by 0|0:0|2026-11-21T01:14:47|2026-11-21T01:14:48|2026-11-21T01:14:51|n1|00:00.002|" + tagA + "\n" +
		"2943_0|CANCELLED by 0|0:0|2026-11-21T01:14:47|None|2026-11-21T01:14:51|None assigned|00:00:00|" + tagA + "\n" +
		"2936_0|OUT_OF_MEMORY|0:125|2026-11-21T01:14:47|2026-11-21T01:14:48|2026-11-21T01:15:18|n1|00:00.425|" + tagA + "\n" +
		"2905_[0-3]|PENDING|0:0|2026-11-21T01:14:47|Unknown|Unknown|None assigned|00:00:00|" + tagB + "\n"
	jobs, err := readWhole(d, d.account, text, time.Now())
	if err != nil || len(jobs) != 4 {
		t.Fatalf("%+v, error %v", jobs, err)
	}
	if j := jobs[0]; j.State != jjm.BatchCancelled || j.Started == 0 || j.CPUms != 2 {
		t.Errorf("%+v", j)
	}
	if j := jobs[1]; j.State != jjm.BatchCancelled || j.Started != 0 || j.Host != "" {
		t.Errorf("%+v", j)
	}
	if j := jobs[2]; j.State != jjm.BatchOOM || j.Signal != 0 {
		t.Errorf("%+v", j)
	}
	if j := jobs[3]; j.bulk != "2905" || j.Index != -1 || j.State.Ended() {
		t.Errorf("%+v", j)
	}
}

// Jobs that are not jjm's may have separators and newlines in their names. The parser still finds jjm's jobs.
func TestSlurm_NamesOfOtherJobsDoNoHarm(t *testing.T) {
	d := shippedDescription(t, "slurm.toml")
	header := "ARRAY_JOB_ID|ARRAY_TASK_ID|STATE|REASON|EXIT_CODE|RESTART_COUNT|SUBMIT_TIME|START_TIME|END_TIME|EXEC_HOST|NAME|#\n"
	line := func(id, name string) string {
		return id + "|0|RUNNING|None|0|0|2026-11-21T01:14:47|2026-11-21T01:14:48|N/A|n1|" + name + "|#\n"
	}
	jobs, err := readWhole(d, d.list, header+line("1", "a\nx|n|jrecok|")+line("2", tagA)+line("3", "\n\n")+line("4", tagB),
		time.Now())
	if err != nil || len(jobs) != 2 || jobs[0].bulk != "2" || jobs[1].bulk != "4" {
		t.Errorf("%+v, error %v", jobs, err)
	}
	for _, cut := range []string{line("2", tagA)[:70], strings.TrimSuffix(line("2", tagA), "#\n") + "\n", "x\n"} {
		if jobs, err := readWhole(d, d.list, header+cut, time.Now()); err == nil {
			t.Errorf("%q: read as %+v", cut, jobs)
		}
	}
}

// After all waiting jobs of an array were cancelled, squeue shows a record of the array itself, without an index.
func TestSlurm_TheRecordOfAnArrayIsNoneOfItsJobs(t *testing.T) {
	d := shippedDescription(t, "slurm.toml")
	header := "ARRAY_JOB_ID|ARRAY_TASK_ID|STATE|REASON|EXIT_CODE|RESTART_COUNT|SUBMIT_TIME|START_TIME|END_TIME|EXEC_HOST|NAME|#\n"
	line := func(index string) string {
		return "10833|" + index + "|CANCELLED|None|0|0|2026-11-21T01:14:47|2026-11-21T01:14:48|2026-11-21T01:14:48|n1|" +
			tagA + "|#\n"
	}
	jobs, err := readWhole(d, d.list, header+line("N/A")+line("7"), time.Now())
	if err != nil || len(jobs) != 1 || jobs[0].ID != "10833_7" {
		t.Errorf("%+v, error %v", jobs, err)
	}
	if jobs, err := readWhole(d, d.list, header+line(""), time.Now()); err == nil {
		t.Errorf("no index at all was read as %+v", jobs)
	}
	for _, odd := range []string{line(""), line("7+0"), strings.Replace(line("3"), "2026-11-21T01:14:47", "yesterday", 1),
		strings.Replace(line("3"), "|0|0|", "|x|0|", 1)} {
		got, err := d.read(d.list, header+odd+line("7"), time.Now())
		jobs, unread := got.jobs, got.unread
		if err != nil || len(jobs) != 1 || len(unread) != 1 || unread[0].Tag != tagA {
			t.Errorf("%q cost more than itself: %+v, unread %+v, error %v", odd, jobs, unread, err)
		}
	}
}

func TestCheck_WhatTheDescriptionCannotExpressIsRefused(t *testing.T) {
	d, err := Parse("small.toml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	a := &Adapter{d: d, caps: d.caps}
	for _, c := range []struct {
		r    jjm.Request
		want string
	}{
		{jjm.Request{Queue: "q", Cores: 1}, ""},
		{jjm.Request{Cores: 2}, "request.cores"},
		{jjm.Request{MemoryMB: 1}, "request.memory_mb"},
		{jjm.Request{GPUs: 1}, "request.gpus"},
		{jjm.Request{Walltime: 1}, "request.walltime"},
		{jjm.Request{ScratchMB: 1}, "request.scratch_mb"},
		{jjm.Request{Queue: "-x"}, "request.queue"},
		{jjm.Request{Queue: "a\nb"}, "request.queue"},
		{jjm.Request{Directives: "-x"}, "request.directives"},
	} {
		err := a.Check(c.r)
		if c.want == "" && err != nil || c.want != "" &&
			(jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.r, err, c.want)
		}
	}
}

func TestDirectives_OptionsThatJJMSetsAreRefused(t *testing.T) {
	s := shippedDescription(t, "slurm.toml").script
	for _, d := range []string{"--job-name=x", "--job-name x", "-Jx", "--arr=1", "-o /tmp/x", "--constraint=a -J x",
		"a\nb"} {
		if err := s.checkDirective(d); err == nil {
			t.Errorf("%q: error %v", d, err)
		}
	}
	for _, d := range []string{"--constraint=intel", "-C intel", "--licenses=x:1"} {
		if err := s.checkDirective(d); err != nil {
			t.Error(err)
		}
	}
	small, err := Parse("small.toml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	if err := small.script.checkDirective("-x"); err == nil {
		t.Errorf("a description without directives: error %v", err)
	}
}

func TestHook_AddsDirectivesOrRefuses(t *testing.T) {
	dir := t.TempDir()
	hook := func(text string) *Adapter {
		path := filepath.Join(dir, "hook")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
		d := shippedDescription(t, "slurm.toml")
		return &Adapter{name: "site", d: d, caps: d.caps,
			config: Config{Common: adapters.Common{Hook: adapters.Hook(path), Queue: "night", Directives: []string{"--a"}}}}
	}
	got, err := hook(
		`grep -q '"cluster":"site".*"n":3.*"queue":"night"' && echo "--b=1"; echo; echo "--gres=x"`).directives(t.Context(),
		adapters.Bulk{Tag: tagA, N: 3})
	if err != nil || !slices.Equal(got, []string{"--a", "--b=1", "--gres=x"}) {
		t.Errorf("%q, error %v", got, err)
	}
	if _, err := hook(`cat >/dev/null; echo "no more jobs for alice" >&2; exit 3`).directives(t.Context(),
		adapters.Bulk{}); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "no more jobs for alice") {
		t.Errorf("error %v", err)
	}
	if _, err := hook(`cat >/dev/null; echo "--job-name=x"`).directives(t.Context(),
		adapters.Bulk{}); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("error %v", err)
	}
}

func TestSubmit_TheScriptCanBeAnArgument(t *testing.T) {
	text := strings.Replace(small, `command = ["sub", `, `script = "argument"
command = ["/bin/sh", "-c", 'grep -qx "JJM_INDEX=.*" "$0" && echo "job 7"', "%__SCRIPT__", `, 1)
	d, err := Parse("small.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	a := &Adapter{name: "site", d: d, caps: d.caps, env: adapters.Env{State: t.TempDir()},
		config: Config{Common: adapters.Common{CLI: adapters.CLI{Bin: "/nonexistent"}}}}
	b := bulkOf(2)
	b.Request = jjm.Request{}
	r, err := a.Submit(t.Context(), b)
	if err != nil || r.ID != "7" {
		t.Errorf("%+v, error %v", r, err)
	}
	if left, err := os.ReadDir(a.env.State); err != nil || len(left) > 0 {
		t.Errorf("left %v, error %v", left, err)
	}
	a.env.State = "/no/such/folder"
	if _, err := a.Submit(t.Context(), b); !adapters.IsNotStarted(err) {
		t.Errorf("no folder for the script: error %v", err)
	}
}

func TestControl_ActsOnlyOnOurJobsThatNeedIt(t *testing.T) {
	d := shippedDescription(t, "slurm.toml")
	jobs := []job{}
	for i, s := range []jjm.BatchState{jjm.BatchQueued, jjm.BatchRunning, jjm.BatchHold, jjm.BatchEndedOK} {
		jobs = append(jobs, job{jjm.Report{Tag: tagA, ID: d.ids.id("7", int32(i)), Index: int32(i), State: s}, "7"})
	}
	ref := func(tag jjm.Tag, id string, index int32) adapters.Ref {
		return adapters.Ref{Tag: tag, ID: id, Index: index}
	}
	all := []adapters.Ref{ref(tagA, "7", 0), ref(tagA, "7_1", -1), ref(tagA, "7", 2), ref(tagA, "7", 3), ref(tagB, "7", 0),
		ref(tagA, "8", 0)}
	for _, c := range []struct {
		op    adapters.Op
		whole bool
		refs  []adapters.Ref
		want  []string
		kinds []jjm.Kind
	}{
		{adapters.Cancel, false, all, []string{"7_0", "7_1", "7_2", "", "", ""}, []jjm.Kind{0, 0, 0, 0, jjm.Gone, jjm.Gone}},
		{adapters.Cancel, true, all, []string{"7", "7", "7", "", "", ""}, []jjm.Kind{0, 0, 0, 0, jjm.Gone, jjm.Gone}},
		{adapters.Cancel, true, all[:2], []string{"7_0", "7_1"}, []jjm.Kind{0, 0}},
		{adapters.HoldJobs, false, all, []string{"7_0", "", "", "", "", ""},
			[]jjm.Kind{0, jjm.Invalid, 0, 0, jjm.Gone, jjm.Gone}},
		{adapters.Release, false, all, []string{"", "", "7_2", "", "", ""}, []jjm.Kind{0, 0, 0, 0, jjm.Gone, jjm.Gone}},
	} {
		answers := make([]error, len(c.refs))
		if got := d.targets(c.whole, c.op, c.refs, answer{jobs: jobs}, answers); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.op, got, c.want)
		}
		for i, err := range answers {
			if jjm.KindOf(err) != c.kinds[i] {
				t.Errorf("%v %d: %v, want kind %v", c.op, i, err, c.kinds[i])
			}
		}
	}
}

func TestUnitsAndTimes_AreRoundedUp(t *testing.T) {
	for _, c := range []struct {
		form walltimeForm
		d    time.Duration
		want string
	}{
		{inSeconds, 0, ""}, {inSeconds, time.Millisecond, "1"}, {inMinutes, time.Minute, "1"},
		{inMinutes, time.Minute + 1, "2"},
		{hoursMinutes, 25 * time.Hour, "25:00"}, {hoursMinutes, 59*time.Minute + time.Second, "1:00"},
		{hoursToSecond, 3661 * time.Second, "1:01:01"},
	} {
		if got := c.form.write(c.d); got != c.want {
			t.Errorf("%v as %s: %q, want %q", c.d, c.form, got, c.want)
		}
	}
	if got := units()["GiB"].ofMiB(1025); got != 2 {
		t.Errorf("1025 MiB are %d GiB", got)
	}
	if got := (submit{memory: units()["MiB"], perCore: true}).memoryOf(jjm.Request{MemoryMB: 1001,
		Cores: 4}); got != "251" {
		t.Errorf("per core %s", got)
	}
	leap := withYear(time.Date(0, 2, 29, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.UTC)
	if leap.Year() != 2024 || leap.Day() != 29 {
		t.Errorf("29 February was %v", leap)
	}
}

func TestConfig_Mistakes(t *testing.T) {
	shipped, err := filepath.Abs("../../etc/adapters/slurm.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.Description = Source{} }, "description: missing"},
		{func(c *Config) { c.Bin = "bin" }, "bin:"},
		{func(c *Config) { c.Hook = "hook" }, "hook:"},
		{func(c *Config) { c.SharedFS = false }, "shared_fs: false"},
		{func(c *Config) { c.MaxBulk = 5000 }, "the description allows 1001"},
		{func(c *Config) { c.Project = "x" }, "request.project"},
		{func(c *Config) { c.Directives = []string{"--array=1"} }, "--array is set by jjm"},
	} {
		_, err := New("site", adapters.Env{}, func(into any) error {
			config := into.(*Config)
			if err := config.Description.UnmarshalText([]byte(shipped)); err != nil {
				return err
			}
			c.change(config)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestSource_FindsADescriptionByItsName(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "x.toml"} {
		if path, err := locate(name, []string{"/nonexistent", dir}); err != nil || path != filepath.Join(dir, "x.toml") {
			t.Errorf("%s: %q, error %v", name, path, err)
		}
	}
	for _, name := range []string{"", "../x", "y", "a\x00b"} {
		if _, err := locate(name, []string{dir}); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%q: error %v", name, err)
		}
	}
	var s Source
	if err := s.UnmarshalText([]byte("/nonexistent/x.toml")); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("error %v", err)
	}
}

// A line with too few columns makes only its own job unreadable. If all lines have too few columns, the output does not
// fit the description.
func TestRead_ALineOfAnotherFormCostsItself(t *testing.T) {
	d := shippedDescription(t, "slurm.toml")
	header := "ARRAY_JOB_ID|ARRAY_TASK_ID|STATE|REASON|EXIT_CODE|RESTART_COUNT|SUBMIT_TIME|START_TIME|END_TIME|EXEC_HOST|NAME|#\n"
	good := "10833|7|RUNNING|None|0|0|2026-11-21T01:14:47|2026-11-21T01:14:48|N/A|n1|" + tagA + "|#\n"
	for name, tag := range map[string]jjm.Tag{"wrap": "", tagB: tagB} {
		bad := "10833|6|RUNNING|None|0|n1|" + name + "|#\n"
		got, err := d.read(d.list, header+bad+good, time.Now())
		if err != nil || len(got.jobs) != 1 || len(got.unread) != 1 || got.unread[0].Tag != tag {
			t.Errorf("%s: %d jobs, unread %+v, error %v", name, len(got.jobs), got.unread, err)
		}
		if got, err := d.read(d.list, header+bad, time.Now()); err == nil {
			t.Errorf("%s alone: %+v", name, got)
		}
	}
}

// readWhole calls read, and returns an error if a record is unreadable.
func readWhole(d *Description, q *query, text string, now time.Time) ([]job, error) {
	got, err := d.read(q, text, now)
	if err == nil && len(got.unread) > 0 {
		err = errors.New(got.unread[0].Text)
	}
	return got.jobs, err
}
