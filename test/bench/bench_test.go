package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/programs"
	"jjm/internal/testkit/testbed"
)

// TestMain lets the test program also run as the child processes that a bench starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childWord {
		os.Exit(childMain())
	}
	os.Exit(bin.Main(m))
}

var bin programs.Programs

// tiny returns sizes for a run of a few seconds. The figures of such a run mean nothing.
func tiny() sizes {
	return sizes{live: 200, history: 1000, linear: []int{50}, watch: 2 * time.Second,
		execs: 5, jobs: 10, files: 20, fileSize: 5000, rounds: 1, split: [2]int{200, 400}, datasets: [2]int{200, 400},
		feed: 1000, calls: 5}
}

// shortDir returns a folder with a short path, because the length of a socket's path is limited: unix(7).
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// rowsOf measures some sections and returns their rows.
func rowsOf(t *testing.T, dir string, sections ...string) []row {
	t.Helper()
	var out, log bytes.Buffer
	args := []string{"-json", "-run", strings.Join(sections, ","), "-bin", bin.Dir(t), "-dir", dir}
	t.Chdir("../..") // "make bench" runs in this folder
	if code := run(t.Context(), tiny(), args, &out, &log); code == exitError {
		t.Fatalf("exit code %d\n%s", code, log.String())
	}
	var r struct{ Rows []row }
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r.Rows
}

func TestRun_EverySectionHasItsFigures(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	alone := slices.DeleteFunc(names(), func(name string) bool { // without real batch systems
		return slices.Contains([]string{"slurm", "condor", "blahp", "gatekeepers"}, name)
	})
	dir := shortDir(t)
	rows := rowsOf(t, dir, alone...)
	for _, name := range alone {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.Section == name && r.Verdict != "" && r.Figure >= 0 }) {
			t.Errorf("section %s has no figure beside a target", name)
		}
	}
	for _, r := range rows {
		if r.Against != "" && r.With == 0 {
			t.Errorf("%s, %s: compared with nothing", r.Section, r.Name)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The bench compares the figures of each gatekeeper with the figures of another job manager. Slurm and HTCondor are
// left out, because their sections would wait for the jobs of other tests.
func TestRun_GatekeepersAreCompared(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	testbed.Start(t, "gram")
	testbed.Start(t, "arc")
	rows := rowsOf(t, t.TempDir(), "gatekeepers")
	for _, want := range []string{"GRAM5: submit", "GRAM5: poll", "ARC: submit", "ARC: scan"} {
		if !slices.ContainsFunc(rows, func(r row) bool { return strings.HasPrefix(r.Name, want) && r.Against != "" }) {
			t.Errorf("no figure of %s beside the fork job manager's: %+v", want, rows)
		}
	}
}

func TestRun_RefusesWhatItCannotMeasure(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"a section that is not there", []string{"-run", "lookup,speed"}, "speed"},
		{"a word that is no flag", []string{"lookup"}, "-run"},
		{"no programs", []string{"-bin", t.TempDir()}, "make build"},
	} {
		var out, log bytes.Buffer
		if code := run(t.Context(), tiny(), c.args, &out, &log); code != exitError ||
			!strings.Contains(log.String(), c.says) {
			t.Errorf("%s: exit code %d, %s", c.name, code, log.String())
		}
	}
}

// While a bench uses a bed alone, other users must wait. Otherwise the next user would remove the bed's jobs or rebuild
// the bed, and the bench would wait for its jobs in vain.
func TestAlone_NobodyEmptiesTheBedMeanwhile(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	needs.System(t, "slurm")
	needs.Root(t, "to start Slurm")
	needs.Debian(t)
	b := newBench(t.Context(), tiny(), &bytes.Buffer{})
	err := b.section(func() {
		d := b.alone("slurm")
		d.jobs()
		lock := filepath.Join(cmp.Or(os.Getenv("JJM_TESTBED"), "/tmp"), "jjm-testbed-slurm.lock")
		if exec.Command("flock", "-ns", lock, "true").Run() == nil {
			check(errors.New("others may use the bed"))
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// A section that this machine cannot measure is no error; its helpers skip it. What a section left to clean up is
// cleaned up however it ends.
func TestSection_EndsWithTheFirstError(t *testing.T) {
	b := newBench(t.Context(), tiny(), &bytes.Buffer{})
	var steps []string
	end := func(how func()) error {
		return b.section(func() {
			b.Cleanup(func() { steps = append(steps, "cleaned") })
			how()
			steps = append(steps, "went on")
		})
	}
	t.Setenv("JJM_SYSTEMS", "")
	if err := end(func() { needs.System(b, "moon") }); !errors.Is(err, errNotMeasured) || b.Failed() {
		t.Errorf("skipped: %v", err)
	}
	if err := end(func() { b.Fatalf("%d", 7) }); err == nil || !b.Failed() || err.Error() != "7" {
		t.Errorf("failed: %v", err)
	}
	if want := []string{"cleaned", "cleaned"}; !slices.Equal(steps, want) {
		t.Errorf("%q", steps)
	}
}

func TestOnDaemon_TellsWhatIsNotOverAndKeepsTheFolder(t *testing.T) {
	var said bytes.Buffer
	b := newBench(t.Context(), tiny(), &said)
	err := try(func() {
		b.prepare(bin.Dir(t), shortDir(t), "")
		b.onDaemon(b.dir, "", nil, func(d *daemon) {
			id := d.submit(script(1, "", "/bin/sleep", "600"))
			d.until(id, "it runs", func(c wire.Counts) bool { return c.Running == 1 })
			defer d.kill(id)
			check(errors.New("the moon is not blue"))
		})
	})
	b.clean()
	if err == nil || !strings.Contains(err.Error(), "the moon is not blue") || !strings.Contains(err.Error(), b.dir) {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"CLUSTER", "the end of its log"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("nothing is said of %q:\n%s", want, said.String())
		}
	}
	if kept, err := filepath.Glob(b.dir + "/daemon-*/store.db"); err != nil || len(kept) != 1 {
		t.Errorf("kept: %v, %v", kept, err)
	}
	if _, err := os.Stat(b.shared); b.shared != b.dir && err == nil {
		t.Error("another folder stays too")
	}
}

func TestVerdict_FollowsRatioAndLimit(t *testing.T) {
	var b table
	b.target("below", 3, "ms", 4)
	b.target("at", 4, "ms", 4)
	b.target("above", 5, "ms", 4)
	b.beside("within its ratio", 5, "ms", "other", 2, 2.5)
	b.beside("no limit", 500, "ms", "other", 2, 0)
	b.tell("alone", 5, "ms")
	var verdicts []string
	for _, r := range b.rows {
		verdicts = append(verdicts, r.Verdict)
	}
	if want := []string{ok, ok, missed, ok, "", ""}; !slices.Equal(verdicts, want) || !b.missed() {
		t.Errorf("verdicts %q, want %q, and missed", verdicts, want)
	}
	var out bytes.Buffer
	if err := b.print(&out, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" cores of ", "5 ms", "2.50 (at most 2.5)", "250.00", ok, missed} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestQuantile_IsAValueThatWasMeasured(t *testing.T) {
	s := series{"": {5, 1, 4, 2, 3}}
	for q, want := range map[float64]float64{0: 1, 0.2: 1, 0.21: 2, 0.5: 3, 0.99: 5, 1: 5} {
		if got := s.quantile("", q); got != want {
			t.Errorf("quantile %g: %g, want %g", q, got, want)
		}
	}
	if got := s.median("nothing"); got != 0 {
		t.Errorf("the median of nothing: %g", got)
	}
}

func TestParse_TakesTheFiguresBehindAnyName(t *testing.T) {
	const rest = " S 1 1 1 0 -1 4194560 1 2 3 4 150 50 700 300 20 0 1 0 5 6 7"
	for _, name := range []string{"(jjm-daemon)", "(a) b) ", "(1 2 3)"} {
		got, err := parseStat("17 " + name + rest)
		if want := (procTimes{own: 2 * time.Second, children: 10 * time.Second}); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	got, err := parsePeak("Name:\tx\nVmPeak:\t  900000 kB\nVmHWM:\t  100000 kB\nVmRSS:\t 5 kB\n")
	if err != nil || got != 102.4 {
		t.Errorf("%g, %v", got, err)
	}
	for _, bad := range []string{"", "17 (x) S 1", "17 (x) S 1 1 1 0 -1 4194560 1 2 3 4 many 50 7 3 20",
		"\nVmHWM:\tmany kB\n"} {
		_, err1 := parseStat(bad)
		_, err2 := parsePeak(bad)
		if err1 == nil || err2 == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
