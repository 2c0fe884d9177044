package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/programs"
	"jjm/internal/testkit/testbed"
)

// TestMain also lets the test program run as a child process of a bench, because a bench starts its own program again.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == childWord {
		os.Exit(childMain(os.Args[2], os.Stdin, os.Stdout))
	}
	os.Exit(bin.Main(m))
}

var bin programs.Programs

// alone returns the names of the sections that do not need a real batch system.
func alone() []string {
	return slices.DeleteFunc(names(), func(name string) bool {
		return slices.Contains([]string{"slurm", "condor", "blahp", "gatekeepers"}, name)
	})
}

// tiny returns sizes for a run of a few seconds. The figures of such a run mean nothing.
func tiny() sizes {
	return sizes{live: 200, history: 1000, linear: []int{50}, watch: 2 * time.Second,
		execs: 5, jobs: 10, files: 20, fileSize: 5000, rounds: 1, split: []int{200, 400}, datasets: []int{200, 400},
		feed: 1000, calls: 5}
}

func TestRun_EverySectionGivesItsFigures(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	// The length of a socket's path is limited: unix(7).
	dir, err := os.MkdirTemp("", "jb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var out, log bytes.Buffer
	code := run(t.Context(), tiny(),
		[]string{"-json", "-run", strings.Join(alone(), ","), "-bin", bin.Dir(t), "-dir", dir}, &out, &log)
	if code == exitError {
		t.Fatalf("exit code %d\n%s", code, log.String())
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	for _, name := range alone() {
		if !slices.ContainsFunc(r.Rows, func(row row) bool {
			return row.Section == name && row.Verdict != "" && row.Figure >= 0
		}) {
			t.Errorf("section %s has no figure beside a target", name)
		}
	}
	for _, row := range r.Rows {
		if row.Against != "" && row.With == 0 {
			t.Errorf("%s, %s: compared with nothing", row.Section, row.Name)
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
	programs, dir := bin.Dir(t), t.TempDir()
	t.Chdir("../..") // "make bench" runs in this folder
	var out, log bytes.Buffer
	if code := run(t.Context(), tiny(), []string{"-json", "-run", "gatekeepers", "-bin", programs, "-dir", dir}, &out,
		&log); code == exitError {
		t.Fatalf("exit code %d\n%s", code, log.String())
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"GRAM5: submit", "GRAM5: poll", "ARC: submit", "ARC: scan"} {
		if !slices.ContainsFunc(r.Rows, func(row row) bool {
			return strings.HasPrefix(row.Name, want) && row.Figure >= 0 && row.Against != ""
		}) {
			t.Errorf("no figure of %s beside the fork job manager's: %+v\n%s", want, r.Rows, log.String())
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

func TestChild_AnswersErrorsAndGoesOn(t *testing.T) {
	var out bytes.Buffer
	if code := childMain("tar", strings.NewReader(`{"do":"fly"}`+"\n"+`{"do":"make","arg":{"Root":"`+t.TempDir()+`"}}`+
		"\n"), &out); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "cannot") || strings.Contains(lines[1], "error") {
		t.Errorf("answers %q", lines)
	}
	if code := childMain("ghost", strings.NewReader(""), &out); code != exitError {
		t.Errorf("a kind that is not there: exit code %d", code)
	}
}

func TestVerdict_FollowsRatioAndLimit(t *testing.T) {
	b := &bench{}
	b.target("s", "below", 3, "ms", 4)
	b.target("s", "at", 4, "ms", 4)
	b.target("s", "above", 5, "ms", 4)
	b.beside("s", "within its ratio", 5, "ms", "other", 2, 2.5)
	b.beside("s", "no limit", 500, "ms", "other", 2, 0)
	b.tell("s", "alone", 5, "ms")
	var verdicts []string
	for _, r := range b.rows {
		verdicts = append(verdicts, r.Verdict)
	}
	if want := []string{ok, ok, missed, ok, "", ""}; !slices.Equal(verdicts, want) {
		t.Errorf("verdicts %q, want %q", verdicts, want)
	}
	if r := (report{Rows: b.rows}); !r.missed() {
		t.Error("a missed target is not told")
	}
}

func TestText_IsATable(t *testing.T) {
	b := &bench{}
	b.beside("lookup", "CPU", 1.784, "ms", "flags only", 1.24, 2.5)
	b.tell("tar", "peak", 123.4, "MB")
	var out bytes.Buffer
	if err := (report{Machine: machine{Cores: 2, CPU: "a CPU"}, Rows: b.rows}).text(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 cores of a CPU", "1.78 ms", "1.24 ms", "1.44 (at most 2.5)", "ok", "123 MB"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestQuantile_IsAValueThatWasMeasured(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.2, 1}, {0.21, 2}, {0.5, 3}, {0.99, 5}, {1, 5}} {
		if got := quantile(values, c.q); got != c.want {
			t.Errorf("quantile %g: %g, want %g", c.q, got, c.want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("quantile of nothing: %g", got)
	}
	if !slices.Equal(values, []float64{5, 1, 4, 2, 3}) {
		t.Errorf("the values were sorted in place: %v", values)
	}
}

func TestParseStat_TakesTheTimesBehindAnyName(t *testing.T) {
	const rest = " S 1 1 1 0 -1 4194560 1 2 3 4 150 50 700 300 20 0 1 0 5 6 7"
	for _, name := range []string{"(jjm-daemon)", "(a) b) ", "(1 2 3)"} {
		got, err := parseStat("17 " + name + rest)
		if want := (procTimes{own: 2 * time.Second, children: 10 * time.Second}); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	for _, bad := range []string{"", "17 (x) S 1", "17 (x) S 1 1 1 0 -1 4194560 1 2 3 4 many 50 700 300 20", "\x00"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestParsePeak_IsInMegabytes(t *testing.T) {
	got, err := parsePeak("Name:\tx\nVmPeak:\t  900000 kB\nVmHWM:\t  100000 kB\nVmRSS:\t 5 kB\n")
	if err != nil || got != 102.4 {
		t.Errorf("%g, %v", got, err)
	}
	for _, bad := range []string{"", "VmHWM:\tmany kB\n"} {
		if _, err := parsePeak(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestModelOf_FindsTheCPU(t *testing.T) {
	if got := modelOf("processor\t: 0\nmodel name\t: A CPU: fast\n"); got != "A CPU: fast" {
		t.Errorf("%q", got)
	}
	if got := modelOf(""); got == "" {
		t.Error("a machine without a CPU")
	}
}

func TestShards_CountsOnlyShards(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"record.xml", "jobs-0000.xml", "jobs-0001.xml", ".jobs-0002.xml", "jobs-0003.xml.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := shards(dir); got != 2 {
		t.Errorf("%d shards, want 2", got)
	}
	if got := shards(filepath.Join(dir, "none")); got != 0 {
		t.Errorf("%d shards of nothing", got)
	}
}
