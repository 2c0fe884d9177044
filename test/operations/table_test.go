package operations_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// ganga returns what Ganga's operation does with a subjob in a state. ok is false if Ganga has no such operation or
// state.
func ganga(verb, state string) (does outcome, ok bool) {
	in := func(words string) bool { return slices.Contains(strings.Fields(words), state) }
	ok = state != "held"
	switch verb {
	case "kill":
		return pick3(in("submitted running"), in("completed failed")), ok
	case "resubmit":
		return pick3(in("completed failed killed"), false), ok
	case "force failed":
		return pick3(in("submitting submitted running completing completed killed"), in("failed")), ok
	case "force completed":
		return pick3(in("completing failed"), in("completed")), ok
	case "freeze":
		return pick3(in("completed failed killed"), in("completed_frozen failed_frozen")), ok
	case "unfreeze":
		return pick3(in("completed_frozen failed_frozen"), in("completed failed")), ok
	case "resplit":
		return pick3(in("completed failed killed"), false), ok
	}
	return refused, false
}

func pick3(does, stays bool) outcome {
	switch {
	case does:
		return done
	case stays:
		return noChange
	}
	return refused
}

// differences names the cells of the table, "OPERATION STATE", in which jjm differs from Ganga, each with the reason.
var differences = map[string]string{
	"kill new":                   "R13: in any state that is not final",
	"kill submitting":            "R13: in any state that is not final",
	"kill completing":            "R13: in any state that is not final",
	"kill killed":                "R13: a kill of what is over changes nothing",
	"kill completed_frozen":      "R13: a kill of what is over changes nothing",
	"kill failed_frozen":         "R13: a kill of what is over changes nothing",
	"resubmit completed":         "R15: its result is retracted first",
	"resplit completed":          "R15: its result is retracted first",
	"force completed completing": "R8: a forced state owns no coverage, and what it completes by itself owns its part",
}

// The table of expected outcomes equals Ganga's, except for the cells in differences.
func TestTable_IsGangasExceptWhereDecided(t *testing.T) {
	used := 0
	for _, verb := range sortedVerbs() {
		for _, state := range states {
			want, ok := ganga(verb, state)
			cell := verb + " " + state
			got := expected(verb, state)
			if why := differences[cell]; ok && (got != want) != (why != "") {
				t.Errorf("%s: %s, in Ganga %s, reason %q", cell, got, want, why)
			} else if why != "" {
				used++
			}
		}
	}
	if used != len(differences) {
		t.Errorf("%d of %d differences are of a cell of the table", used, len(differences))
	}
}

// stage describes how a test brings local jobs into a state. Each grid job has a local job for each operation, and two
// more: the first one occupies the cluster full, and the last one runs as long as the test.
type stage struct {
	state, cluster, mode string
	// then is an operation that brings local jobs into the state; before is their state before this operation.
	then, before string
	// merge is the part of the job file about the merge.
	merge string
}

// text returns the job file of a stage with the number of local jobs.
func (st *stage) text(locals int) string {
	return fmt.Sprintf("type = \"montecarlo\"\nname = \"stage\"\nclusters = [%q]\n"+
		"result = \"glf\"\noutputs = [\"out.txt\"]\n[env]\nMODE = %q\nLAST = \"%d\"\n"+
		"[[inputs]]\npath = \"app.sh\"\nexecutable = true\n[params]\n"+
		"command = [\"app.sh\", \"{first_event}\"]\nevents = %d\nevents_per_job = 1\n%s",
		st.cluster, st.mode, locals, locals, st.merge)
}

func stages() []stage {
	return []stage{
		{state: "new", cluster: "shut", mode: "sleep"},
		{state: "submitting", cluster: "slow", mode: "sleep"},
		{state: "submitted", cluster: "full", mode: "sleep"},
		{state: "running", cluster: "wide", mode: "sleep"},
		{state: "completing", cluster: "wide", mode: "ok", merge: "[merge]\nconcat = true\n"},
		{state: "held", cluster: "wide", mode: "hold"},
		{state: "completed", cluster: "wide", mode: "ok"},
		{state: "failed", cluster: "wide", mode: "fail"},
		{state: "killed", cluster: "wide", mode: "sleep", before: "running", then: "kill"},
		{state: "completed_frozen", cluster: "wide", mode: "ok", before: "completed", then: "freeze"},
		{state: "failed_frozen", cluster: "wide", mode: "fail", before: "failed", then: "freeze"},
	}
}

// stageApplication is the program of the local jobs; the variable MODE decides how it ends.
const stageApplication = `#!/bin/sh
[ "$1" -lt "$LAST" ] || exec sleep 600
case $MODE in
sleep) exec sleep 600 ;;
hold) exec "$GBS_LOG" HOLD "look at me" ;;
fail) exec "$GBS_LOG" FAILED "by design" ;;
esac
echo "$1" >out.txt
exec "$GBS_LOG" SUCCEEDED out.txt
`

const stageClusters = "[[cluster]]\nname = \"wide\"\nkind = \"local\"\nslots = 100\n" +
	"[[cluster]]\nname = \"full\"\nkind = \"local\"\nslots = 1\n" +
	"[[cluster]]\nname = \"shut\"\nkind = \"local\"\nslots = 1\n"

// slowSystem describes a batch system whose submissions take as long as the test.
const slowSystem = `name = "slow"
[capabilities]
max_bulk = 100
settle = "1s"
[ids]
job = "%__BATCH_JOB_ID__.%__ARRAY_INDEX__"
[job]
id_variable = "SLOW_ID"
index_variable = "SLOW_INDEX"
[submit]
command = ["ssub", "%__TAG__", "%__COUNT__"]
[[submit.outcome]]
word = "ok"
stdout = "request %__BATCH_JOB_ID__"
[[submit.outcome]]
word = "invalid"
exit = "2"
stderr = "ssub: %__MESSAGE__"
[list]
command = ["sstat"]
header = "ID STATE NAME"
columns = ["job", "state", "name"]
[[list.outcome]]
word = "ok"
stderr = ""
[[probe]]
command = ["sstat"]
[[probe.outcome]]
word = "ok"
stderr = ""
[cancel]
command = ["sdel", "%__JOB_IDS__"]
[[cancel.outcome]]
word = "ok"
stdout = "%__JOB_ID__ deleted"
[states]
W = "QUEUED"
`

// slowCluster makes the commands of slowSystem in a folder, and returns the part of the configuration for a cluster. A
// submission waits at a pipe, and is refused after a call of release.
func slowCluster(t *testing.T) (section string, release func()) {
	t.Helper()
	dir := needs.PublicDir(t)
	gate := filepath.Join(dir, "gate")
	for name, text := range map[string]string{
		"slow.toml": slowSystem,
		"ssub":      "#!/bin/sh\ncat >/dev/null\nread -r _ <'" + gate + "'\necho 'ssub: the test is over' >&2\nexit 2\n",
		"sstat":     "#!/bin/sh\necho 'ID STATE NAME'\n",
		"sdel":      "#!/bin/sh\nfor id; do echo \"$id deleted\"; done\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(gate, 0o644); err != nil {
		t.Fatal(err)
	}
	release = func() {
		pipe, err := os.OpenFile(gate, os.O_RDWR, 0) // for reading too, so that it does not wait for a reader
		if err == nil {
			_, err = pipe.WriteString("go\n")
			err = errors.Join(err, pipe.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}
	return fmt.Sprintf("[[cluster]]\nname = \"slow\"\nkind = \"command\"\ndescription = %q\nbin = %q\n",
		filepath.Join(dir, "slow.toml"), dir), release
}

// Each operation on a local job in each state does what the table says.
func TestTable_EachOperationInEachState(t *testing.T) {
	p := site.Account(t)
	slow, release := slowCluster(t)
	w := newWorld(t, 1, stageClusters+slow, []site.Person{p})
	defer release() // before the daemon stops, which would wait for the submission
	if s := w.jjm(site.Root(), "pause", "cluster", "shut", "--reason", "test"); s.exit != 0 {
		t.Fatalf("pause: %s", s.err)
	}
	app := filepath.Join(w.Home(p), "app.sh")
	w.Must(os.WriteFile(app, []byte(stageApplication), 0o755))
	w.Must(os.Chown(app, p.UID, p.GID))
	names := sortedVerbs()
	all := stages()
	jobs := make([]*job, len(all))
	for i, st := range all {
		jobs[i] = &job{owner: p, id: w.Submit(p, st.text(len(names)+2))}
	}
	for i, st := range all {
		if st.then != "" {
			w.reach(jobs[i], len(names), st.before)
			ref := fmt.Sprintf("%s.1-%d", jobs[i].id, len(names))
			if s := w.jjm(p, command(st.then, ref)...); s.exit != 0 {
				t.Fatalf("%s: %s", st.then, s.err)
			}
		}
		w.reach(jobs[i], len(names), st.state)
		for n, verb := range names {
			w.cell(jobs[i], verb, st.state, n+1)
		}
	}
}

// reach waits until the local jobs 1 to n of a grid job are in a state.
func (w *world) reach(j *job, n int, state string) {
	w.t.Helper()
	w.Until(j.id+" is "+state, func() bool {
		st := w.status(j)
		return len(st.Locals) == n+2 && !slices.ContainsFunc(st.Locals[1:n+1], func(l local) bool { return l.State != state })
	})
}

// cell carries out one operation on local job n of a grid job, and compares its outcome with the table.
func (w *world) cell(j *job, verb, state string, n int) {
	w.t.Helper()
	s := w.jjm(j.owner, command(verb, fmt.Sprintf("%s.%d", j.id, n))...)
	got, err := read(verb, s)
	if want := (circumstances{still: true}).allowed(verb, state); err != nil || !slices.Contains(want, got) {
		w.t.Errorf("jjm %s in %s: %s, %v, want %v: %s", verb, state, got, err, want, s.out)
	}
}
