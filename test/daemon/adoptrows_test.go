package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/storage/highwater"
)

// lossRows maps the first column of each row of the table "After a loss" of docs/SERVICE.md to a function. The function
// does the operator's steps for that row. Each function begins with a site whose daemon runs, whose work area is
// outside the state folder, and whose grid job 1 has ended.
var lossRows = map[string]func(*loss){
	"the disk of the state is lost, and there is no copy":              (*loss).stateIsLost,
	"an older copy of the whole state was restored":                    (*loss).olderCopyIsRestored,
	"the older copy was a mistake, and the newer state is still there": (*loss).olderCopyWasAMistake,
	"a work folder was moved, with its hidden files":                   (*loss).workIsMoved,
	"a work folder of another site is to be used":                      (*loss).workOfAnotherSite,
	"a folder of an id that is to be given exists at a start":          (*loss).folderOfAnID,
	"`.store.ids` is damaged":                                          (*loss).stampIsDamaged,
}

// TestAdopt_EachRowOfTheTableIsTried carries out every row of the table of docs/SERVICE.md.
func TestAdopt_EachRowOfTheTableIsTried(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "SERVICE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "### After a loss: `--adopt`")
	if !ok {
		t.Fatal("docs/SERVICE.md has no such table")
	}
	table, _, _ = strings.Cut(table, "\n\nA running daemon")
	rows := regexp.MustCompile(`(?m)^\| (.*?) \| .* \|$`).FindAllStringSubmatch(table, -1)
	if len(rows) != len(lossRows)+1 {
		t.Errorf("%d rows are tried, the table has %d", len(lossRows), len(rows)-1)
	}
	for _, row := range rows[min(1, len(rows)):] {
		follow := lossRows[row[1]]
		if follow == nil {
			t.Errorf("nobody tries the row %q", row[1])
			continue
		}
		t.Run(row[1], func(t *testing.T) {
			t.Parallel()
			l := &loss{work: filepath.Join(shortDir(t), "work")}
			l.daemon = start(t, onWork(l.work))
			l.write("job.toml", quickJob)
			l.submits("1", "--wait")
			follow(l)
		})
	}
}

// loss is a site that loses some of its data, with a daemon and a work area.
type loss struct {
	*daemon
	work string
}

// submits submits a grid job, and fails the test unless the grid job gets the given id.
func (l *loss) submits(id string, more ...string) {
	l.t.Helper()
	out, code := l.says(append([]string{"submit", "job.toml"}, more...)...)
	if code != 0 || !strings.HasPrefix(strings.TrimSpace(out), id) {
		l.t.Fatalf("exit %d, %q: want grid job %s", code, out, id)
	}
}

// stop stops the daemon, like systemctl stop.
func (l *loss) stop() {
	l.t.Helper()
	l.signal(syscall.SIGTERM)
	_ = l.cmd.Wait()
}

func (l *loss) state() string { return filepath.Join(l.dir, "state") }

func (l *loss) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// copyState copies the whole state folder and returns the path of the copy.
func (l *loss) copyState() string {
	l.t.Helper()
	to := filepath.Join(shortDir(l.t), "copy")
	if out, err := exec.Command("cp", "-a", l.state(), to).CombinedOutput(); err != nil {
		l.t.Fatalf("%v: %s", err, out)
	}
	return to
}

// refused requires that the daemon refuses to start, with an error that contains the given texts.
func (l *loss) refused(want ...string) {
	l.t.Helper()
	said := l.refusal(l.state())
	for _, w := range want {
		if !strings.Contains(said, w) {
			l.t.Errorf("want %q; the daemon says\n%s", w, said)
		}
	}
}

// adopts starts the daemon with --adopt, stops it, and starts it again without --adopt.
func (l *loss) adopts() {
	l.t.Helper()
	if said := l.refusal(l.state(), "--adopt"); said != "" {
		l.t.Fatalf("it does not adopt:\n%s", said)
	}
	l.again()
}

// shows checks that the output of jjm status about a grid job contains a text; "" means that the grid job is unknown.
func (l *loss) shows(id, want string) {
	l.t.Helper()
	out, code := l.says("status", id)
	if want == "" && code == 0 || !strings.Contains(out, want) {
		l.t.Errorf("status of %s, exit %d, want %q:\n%s", id, code, want, out)
	}
}

func (l *loss) stateIsLost() {
	l.stop()
	l.must(os.RemoveAll(l.state()))
	l.refused("belongs to another store: ", "this one is new", "--adopt")
	l.adopts()
	l.shows("1", "")
	l.submits("101", "--wait")
	if _, err := os.Stat(filepath.Join(l.work, userName(l.t), "jobs", "1")); err != nil {
		l.t.Errorf("what the store does not know is touched: %v", err)
	}
}

// running submits a grid job whose local job ends when a file exists. It waits until the grid job runs, and returns the
// path of the file.
func (l *loss) running(id string) (file string) {
	l.t.Helper()
	file = filepath.Join(l.dir, "go")
	l.write("job.toml", strings.Replace(quickJob, `"true"`,
		`"/bin/sh", "-c", "until test -e `+file+`; do sleep 0.1; done"`, 1))
	l.submits(id)
	l.eventually("it runs", func() bool { out, _ := l.says("status", id); return strings.Contains(out, "running") })
	l.write("job.toml", quickJob)
	return file
}

func (l *loss) olderCopyIsRestored() {
	file := l.running("2")
	l.stop()
	old := l.copyState()
	l.again()
	l.must(os.WriteFile(file, nil, 0o600))
	l.eventually("it is done", func() bool { out, _ := l.says("status", "2"); return strings.Contains(out, "done") })
	l.submits("3", "--wait")
	l.stop()
	l.must(os.RemoveAll(l.state()))
	l.must(os.Rename(old, l.state()))
	l.refused("store.db is older than "+l.work, "it knows grid jobs up to 2,", "--adopt")
	l.adopts()
	l.shows("1", "done")
	l.shows("3", "")
	l.eventually("what ended since is looked at again", func() bool {
		out, _ := l.says("status", "2")
		return strings.Contains(out, "done")
	})
	l.submits("101", "--wait")
}

func (l *loss) olderCopyWasAMistake() {
	l.stop()
	old := l.copyState()
	l.again()
	l.submits("2", "--wait")
	l.stop()
	newer := l.state() + ".newer"
	l.must(os.Rename(l.state(), newer))
	l.must(os.Rename(old, l.state()))
	l.refused("store.db is older than "+l.work, "put the store back that was here")
	l.must(os.RemoveAll(l.state()))
	l.must(os.Rename(newer, l.state()))
	l.again()
	l.shows("2", "done")
	l.submits("3", "--wait")
}

func (l *loss) workIsMoved() {
	l.stop()
	moved := l.work + "2"
	l.must(os.Rename(l.work, moved))
	l.write("jjm.toml", onWork(moved))
	l.again()
	l.submits("2", "--wait")
	l.stop()
	l.must(os.Symlink(moved, l.work)) // with a link at the old path the moved folder also works
	l.write("jjm.toml", onWork(l.work))
	l.again()
	l.submits("3", "--wait")
	l.shows("1", "done")
}

func (l *loss) workOfAnotherSite() {
	other := start(l.t, "")
	other.write("job.toml", quickJob)
	if out, code := other.says("submit", "job.toml", "--wait"); code != 0 {
		l.t.Fatalf("exit %d\n%s", code, out)
	}
	other.signal(syscall.SIGTERM)
	_ = other.cmd.Wait()
	theirs := filepath.Join(other.dir, "state", "work")
	l.stop()
	l.write("jjm.toml", onWork(theirs))
	l.refused(theirs+" belongs to another store: ", "set state and work to other")
	l.adopts()
	l.submits("101", "--wait")
	l.shows("1", "done")
}

func (l *loss) folderOfAnID() {
	jobs := filepath.Join(l.work, userName(l.t), "jobs")
	l.stop()
	l.must(os.MkdirAll(filepath.Join(jobs, "2", "x"), 0o755))
	l.again()
	l.submits("3", "--wait")
	l.logs("an id is skipped")
	l.logs(filepath.Join(jobs, "2"))
	l.must(os.Rename(filepath.Join(jobs, "1"), filepath.Join(jobs, "4")))
	if out, code := l.says("submit", "job.toml", "--wait"); code == 0 {
		l.t.Errorf("it runs in the folder of another grid job:\n%s", out)
	}
	l.logs("grid job is removed") // the folder belongs to another store, and stays
	if out, _ := l.says("lookup", "4"); !strings.Contains(out, "move that folder away") {
		l.t.Errorf("lookup of 4:\n%s", out)
	}
	if kept, err := os.ReadDir(filepath.Join(jobs, "4")); err != nil || len(kept) == 0 {
		l.t.Errorf("the folder of another grid job: %v, %v", kept, err)
	}
}

func (l *loss) stampIsDamaged() {
	for n, dir := range []string{l.work, filepath.Join(l.state(), "records"), filepath.Join(l.state(), "spool")} {
		l.stop()
		stamp := filepath.Join(dir, highwater.StampFile)
		l.must(os.WriteFile(stamp, []byte("jjm-stamp-1 store"), 0o644))
		l.refused(stamp, "is damaged", "remove "+highwater.StampFile)
		l.must(os.Remove(stamp))
		l.again()
		if _, err := os.Stat(stamp); err != nil {
			l.t.Errorf("it is not made again: %v", err)
		}
		l.submits(strconv.Itoa(n+2), "--wait")
	}
}
