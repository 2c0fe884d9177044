package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/golden"
	"jjm/internal/testkit/needs"
)

// emulated is a row of the golden file ganga_emulated_bulk about a submission of local jobs one by one. BackendOutcome
// is the reaction of the batch system to each local job: ok (it accepts), false (it refuses) or raise (it refuses with
// an error). Rows about other subjects have no BackendOutcome.
type emulated struct {
	BackendOutcome []string `json:"backendOutcome"`
	KeepGoing      bool     `json:"keep_going"`
	Seed           struct {
		Statuses   []string
		Attempted  []bool
		Error      *string
		Master     string
		RolledBack bool `json:"rolledBack"`
	}
}

// oneByOne describes a batch system without arrays, whose jobs wait forever. Each queue has a folder with a file named
// outcomes. Line n of this file is the reaction to the n-th job of the queue.
const oneByOne = `name = "one by one"
[ids]
job = "%__BATCH_JOB_ID__"
[job]
id_variable = "ONE_ID"
[submit]
command = ["osub", "%__TAG__", "%__OPTIONS__"]
[submit.options]
queue = ["%__QUEUE__"]
[[submit.outcome]]
word = "ok"
stdout = "queued %__BATCH_JOB_ID__"
[[submit.outcome]]
word = "invalid"
exit = "2"
stderr = "osub: %__MESSAGE__"
[[submit.outcome]]
word = "denied"
exit = "3"
stderr = "osub: %__MESSAGE__"
[list]
command = ["ostat"]
header = "ID STATE NAME"
columns = ["job", "state", "name"]
[[list.outcome]]
word = "ok"
stderr = ""
[[probe]]
command = ["ostat"]
[[probe.outcome]]
word = "ok"
stderr = ""
[cancel]
command = ["odel", "%__JOB_IDS__"]
[[cancel.outcome]]
word = "ok"
stdout = "%__JOB_ID__ deleted"
[states]
W = "QUEUED"
`

// oneByOneCommands are the commands of the batch system.
func oneByOneCommands() map[string]string {
	return map[string]string{"osub": `#!/bin/sh
cat >/dev/null
cd "$ONE_HOME/$2" || exit 1
echo "$1" >>attempts
n=$(($(wc -l <attempts)))
case $(sed -n "${n}p" outcomes) in
ok) id=1${2#ge}$n; echo "$id W $1" >>jobs; echo "queued $id" ;;
false) echo "osub: not this job" >&2; exit 2 ;;
*) echo "osub: not you" >&2; exit 3 ;;
esac
`, "ostat": `#!/bin/sh
cd "$ONE_HOME" || exit 1
echo "ID STATE NAME"
cat ./*/jobs
`, "odel": `#!/bin/sh
for id; do echo "$id deleted"; done
`}
}

// backend is a batch system as in oneByOne. dir has its commands and its queues.
type backend struct{ dir string }

// put writes a file below the folder of the batch system.
func (b backend) put(t testing.TB, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// attempts returns the number of submissions to a queue, including refused submissions.
func (b backend) attempts(queue string) int {
	text, _ := os.ReadFile(filepath.Join(b.dir, "home", queue, "attempts")) // the file is created by the first submission
	return strings.Count(string(text), "\n")
}

// kind returns a text that is the same for all rows that test the same behaviour.
func (e emulated) kind() string {
	outcomes := slices.Compact(slices.Sorted(slices.Values(e.BackendOutcome)))
	return fmt.Sprint(e.KeepGoing, e.Seed.RolledBack, e.Seed.Error != nil, outcomes)
}

// emulatedRows returns the rows about submissions: all rows in the campaign, and otherwise one row of each kind.
func emulatedRows(t testing.TB) map[string]emulated {
	rows, kinds := map[string]emulated{}, map[string]bool{}
	golden.Rows(t, "jedi/ganga_emulated_bulk", func(id string, row emulated) string {
		if len(row.BackendOutcome) > 0 && (needs.InCampaign(needs.Systems) || !kinds[row.kind()]) {
			rows[id], kinds[row.kind()] = row, true
		}
		return ""
	})
	if len(rows) == 0 {
		t.Fatal("there are no rows")
	}
	return rows
}

// The test submits the grid job of each row. Afterwards the local jobs and the grid job must have the states of the
// row. If the row has an error, jjm must report the refusal that stopped the submission. A grid job that is rolled back
// must no longer exist.
func TestKeepGoing_GoldenRows(t *testing.T) {
	t.Parallel()
	b := backend{t.TempDir()}
	for name, text := range oneByOneCommands() {
		b.put(t, "bin/"+name, text, 0o755)
	}
	b.put(t, "one.toml", oneByOne, 0o644)
	b.put(t, "home/none/jobs", "", 0o644)
	d := start(t, fmt.Sprintf("[[cluster]]\nname = \"one\"\nkind = \"command\"\ndescription = %q\nbin = %q\n"+
		"env = { ONE_HOME = %q }\n", b.dir+"/one.toml", b.dir+"/bin", b.dir+"/home"))
	rows, ids := emulatedRows(t), map[string]string{}
	for id, row := range rows {
		ids[id] = submitRow(d, b, id, row)
	}
	for id, row := range rows {
		await.Nil(t, "row "+id, func() error { return wrongRow(d, b, id, row, ids[id]) })
	}
	for id, row := range rows { // the results must not have changed meanwhile
		if err := wrongRow(d, b, id, row, ids[id]); err != nil {
			t.Errorf("row %s: %v", id, err)
		}
	}
}

// submitRow submits the grid job of a row and returns its id. If the row says that the grid job is rolled back,
// submitRow uses --wait.
func submitRow(d *daemon, b backend, id string, row emulated) string {
	d.t.Helper()
	b.put(d.t, "home/"+id+"/outcomes", strings.Join(row.BackendOutcome, "\n")+"\n", 0o644)
	b.put(d.t, "home/"+id+"/jobs", "", 0o644)
	d.write(id+".toml", fmt.Sprintf("type = \"script\"\nkeep_going = %t\n[request]\nqueue = %q\n[params]\n"+
		"command = [\"true\"]\ncount = %d\n", row.KeepGoing, id, len(row.BackendOutcome)))
	args := []string{"submit", d.dir + "/" + id + ".toml"}
	if row.Seed.RolledBack {
		args = append(args, "--wait")
	}
	out, stderr, code := d.told(args...)
	if row.Seed.RolledBack != (code == 5 && strings.Contains(stderr, "no local job was submitted")) {
		d.t.Errorf("row %s: exit %d, %s", id, code, stderr)
	}
	return strings.TrimSpace(out)
}

// told runs jjm, and returns its standard output, its standard error and its exit code.
func (d *daemon) told(args ...string) (stdout, stderr string, code int) {
	d.t.Helper()
	cmd := bin.Command(d.t, args...)
	cmd.Env = d.env
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		d.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// wrongRow returns an error that describes the first difference between a grid job and its row, or nil.
func wrongRow(d *daemon, b backend, id string, row emulated, grid string) error {
	want := 0
	for _, yes := range row.Seed.Attempted {
		if yes {
			want++
		}
	}
	if got := b.attempts(id); got != want {
		return fmt.Errorf("%d attempts, want %d", got, want)
	}
	out, stderr, code := d.told("status", "--json", grid+".*")
	if row.Seed.RolledBack {
		if code != 3 || row.Seed.Master != "new" || len(row.Seed.Statuses) > 0 {
			return fmt.Errorf("it is not gone: exit %d, %s", code, out)
		}
		return nil
	}
	var st wire.Status
	if err := json.Unmarshal([]byte(out), &st); err != nil || code != 0 {
		return fmt.Errorf("exit %d: %s: %w", code, stderr, err)
	}
	var states []string
	var tried []bool
	for _, l := range st.Locals {
		states = append(states, l.State.String())
		tried = append(tried, !strings.HasPrefix(l.Message, "not attempted: "))
	}
	stopped := strings.Contains(st.Lookup.Message, "submission stopped at local job "+grid+".")
	if !slices.Equal(states, row.Seed.Statuses) || !slices.Equal(tried, row.Seed.Attempted) ||
		st.Lookup.Master != row.Seed.Master || stopped != (row.Seed.Error != nil) {
		return fmt.Errorf("local jobs %v, attempted %v, master %s: %s", states, tried, st.Lookup.Master, st.Lookup.Message)
	}
	return nil
}
