// Package examples checks that the example job files and the small Monte Carlo do what their comments say.
package examples

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/handlers"
	"jjm/handlers/all"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/work/split"
)

// here returns the folder of the examples.
func here(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// awks returns the installed awk programs as values of the variable MC_AWK. It returns a program with several names
// once.
func awks(t *testing.T) []string {
	t.Helper()
	var found []string
	known := map[string]bool{}
	for _, name := range []string{"mawk", "gawk", "original-awk", "bwk", "goawk", "busybox awk", "awk"} {
		program, _, _ := strings.Cut(name, " ")
		path, err := exec.LookPath(program)
		if err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && !known[real] {
			known[real] = true
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		t.Fatal("no awk is installed: the examples need one")
	}
	return found
}

// sh runs a script of this folder in a directory, and returns its exit code and standard error.
func sh(t *testing.T, dir string, env []string, script string, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), await.Guard(10*time.Minute))
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{filepath.Join(here(t), script)}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}

func mustSh(t *testing.T, dir string, env []string, script string, args ...string) {
	t.Helper()
	if code, text := sh(t, dir, env, script, args...); code != 0 {
		t.Fatalf("%s %v: exit %d: %s", script, args, code, text)
	}
}

// contents returns the files of a directory, by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(text)
	}
	return out
}

// runParts runs mc.sh for consecutive ranges of the given sizes, each in a folder of its own.
func runParts(t *testing.T, awk string, first int, sizes ...int) (dirs []string) {
	t.Helper()
	for _, n := range sizes {
		dir := t.TempDir()
		mustSh(t, dir, []string{"MC_AWK=" + awk}, "mc.sh", strconv.Itoa(first), strconv.Itoa(n))
		dirs = append(dirs, dir)
		first += n
	}
	return dirs
}

func TestMonteCarlo_MergedPartsAreTheUnsplitRunByteForByte(t *testing.T) {
	var reference map[string]string
	for _, awk := range awks(t) {
		t.Run(awk, func(t *testing.T) {
			whole := contents(t, runParts(t, awk, 41, 24)[0])
			if len(whole) != 4 {
				t.Fatalf("the unsplit run left %d files", len(whole))
			}
			if reference == nil {
				reference = whole
			}
			if diff := cmp.Diff(reference, whole); diff != "" {
				t.Errorf("this awk writes other bytes than %s (-that +this):\n%.2000s", awks(t)[0], diff)
			}
			for _, sizes := range [][]int{{12, 12}, {1, 23}, {16, 8}, {5, 3, 1, 4, 11}} {
				merged := t.TempDir()
				mustSh(t, merged, []string{"MC_AWK=" + awk}, "merge.sh", runParts(t, awk, 41, sizes...)...)
				if diff := cmp.Diff(whole, contents(t, merged)); diff != "" {
					t.Errorf("split as %v (-unsplit +merged):\n%.2000s", sizes, diff)
				}
			}
		})
	}
}

func TestMonteCarlo_EventsWithLargeNumbersAreExact(t *testing.T) {
	for _, first := range []int{0, 16_777_212, 1<<31 - 2, 1 << 49} {
		dir := runParts(t, awks(t)[0], first, 4)[0]
		files := contents(t, dir)
		name := fmt.Sprintf("generate.%09d-%09d.txt", first, first+3)
		lines := strings.Split(files[name], "\n")
		for i := range 4 {
			if got, _, _ := strings.Cut(lines[min(i, len(lines)-1)], " "); got != strconv.Itoa(first+i) {
				t.Errorf("event %d of %s is %q", i, name, got)
			}
		}
	}
}

// TestMonteCarlo_PhysicsIsThatOfTheZ compares the sample with the distributions that it is drawn from. The limits are
// five standard deviations of a sample of 2000.
func TestMonteCarlo_PhysicsIsThatOfTheZ(t *testing.T) {
	files := contents(t, runParts(t, awks(t)[0], 1, 2000)[0])
	generated := columns(t, files["generate.000000001-000002000.txt"])
	reconstructed := columns(t, files["reconstruct.000000001-000002000.txt"])
	within(t, "mean generated mass", mean(generated, 1), 91.19, 0.5)
	within(t, "median generated mass", median(generated, 1), 91.19, 0.2)
	within(t, "mean reconstructed mass", mean(reconstructed, 1), 91.19, 0.7)
	within(t, "mean cos theta", mean(generated, 2), 0, 0.08)
	squares := 0.0
	for i, row := range generated {
		squares += row[2] * row[2] / float64(len(generated))
		p := math.Sqrt(row[3]*row[3] + row[4]*row[4] + row[5]*row[5])
		if m := 2 * math.Sqrt(p*p+0.1056584*0.1056584); math.Abs(m-row[1]) > 1e-4 {
			t.Errorf("event %d: the muons have a mass of %f, not %f", i, m, row[1])
		}
		if row[1] < 60 || row[1] >= 120 || row[3] != -row[6] || row[5] != -row[8] {
			t.Errorf("event %d is no decay at rest: %v", i, row)
		}
	}
	within(t, "mean cos^2 theta", squares, 0.4, 0.04) // the mean for 1 + cos^2 theta
	counts := map[string]int{}
	sum := 0
	for _, line := range strings.Split(strings.TrimSpace(files["histogram.txt"]), "\n") {
		key, value, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatalf("line %q of the histogram: %v", line, err)
		}
		counts[key] = n
		if strings.HasPrefix(key, "mass_") {
			sum += n
		}
	}
	accepted := strings.Count(files["reconstruct.000000001-000002000.txt"], " accepted\n")
	if counts["generated"] != 2000 || counts["accepted"] != accepted || sum != accepted || accepted < 1600 ||
		accepted > 1950 {
		t.Errorf("the histogram says %d generated, %d accepted, %d in bins; %d events are accepted", counts["generated"],
			counts["accepted"], sum, accepted)
	}
}

func columns(t *testing.T, text string) [][]float64 {
	t.Helper()
	var rows [][]float64
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var row []float64
		for _, word := range strings.Fields(line) {
			x, err := strconv.ParseFloat(word, 64)
			if err != nil {
				x = math.NaN()
			}
			row = append(row, x)
		}
		rows = append(rows, row)
	}
	if len(rows) != 2000 {
		t.Fatalf("%d events", len(rows))
	}
	return rows
}

func mean(rows [][]float64, column int) float64 {
	sum := 0.0
	for _, row := range rows {
		sum += row[column]
	}
	return sum / float64(len(rows))
}

// median finds by bisection the value below which half of the rows are.
func median(rows [][]float64, column int) float64 {
	low, high := 0.0, 200.0
	for high-low > 1e-6 {
		mid, below := (low+high)/2, 0
		for _, row := range rows {
			if row[column] < mid {
				below++
			}
		}
		if 2*below < len(rows) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s is %f, want %f within %f", what, got, want, tolerance)
	}
}

// recorders returns an environment in which GBS_LOG and JJM_PROGRESS write their arguments to files.
func recorders(t *testing.T) (env []string, read func(name string) string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "with blank")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"GBS_LOG", "JJM_PROGRESS"} {
		program := filepath.Join(dir, name)
		text := "#!/bin/sh\nprintf '%s\\n' \"$*\" >>\"$0.got\"\n"
		if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+program)
	}
	return env, func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name+".got"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
}

func TestMonteCarlo_ReportsProgressAndSuccess(t *testing.T) {
	for _, awk := range awks(t) {
		env, got := recorders(t)
		mustSh(t, t.TempDir(), append(env, "MC_AWK="+awk), "mc.sh", "1", "60")
		want := "generate 25 60\ngenerate 50 60\ngenerate 60 60\nsimulate 25 60\nsimulate 50 60\nsimulate 60 60\n" +
			"reconstruct 25 60\nreconstruct 50 60\nreconstruct 60 60\n"
		if diff := cmp.Diff(want, got("JJM_PROGRESS")); diff != "" {
			t.Errorf("%s: progress (-want +got):\n%s", awk, diff)
		}
		want = "INFO processed=60 events\n" +
			"SUCCEEDED generate.000000001-000000060.txt simulate.000000001-000000060.txt reconstruct.000000001-000000060.txt histogram.txt\n"
		if diff := cmp.Diff(want, got("GBS_LOG")); diff != "" {
			t.Errorf("%s: report (-want +got):\n%s", awk, diff)
		}
	}
}

// lastWord returns a report without the number of events that precedes a success.
func lastWord(report string) string {
	if count, rest, ok := strings.Cut(report, "\n"); ok && strings.HasPrefix(count, "INFO processed=") {
		return rest
	}
	return report
}

func TestMonteCarlo_MisbehavesWhenAsked(t *testing.T) {
	tests := map[string]struct {
		env       []string
		exit      int // started by jjm
		alone     int // started by hand
		report    string
		otherwise string // what a run reports without that event
	}{
		"exit":                 {[]string{"MC_EXIT_AT=7"}, 3, 3, "", "SUCCEEDED"},
		"fail":                 {[]string{"MC_FAIL_AT=7"}, 0, 1, "FAILED the simulation broke down at event 7", "SUCCEEDED"},
		"retry":                {[]string{"MC_RETRY_AT=7", "GBS_RETRY_COUNT=0"}, 0, 1, "RETRY step2", "SUCCEEDED"},
		"retry, second time":   {[]string{"MC_RETRY_AT=7", "GBS_RETRY_COUNT=1"}, 0, 0, "SUCCEEDED", "SUCCEEDED"},
		"hold":                 {[]string{"MC_HOLD_AT=7"}, 0, 1, "HOLD step2", "SUCCEEDED"},
		"hold, once released":  {[]string{"MC_HOLD_AT=7", "GBS_RETRY_COUNT=2"}, 0, 0, "SUCCEEDED", "SUCCEEDED"},
		"killed":               {[]string{"MC_KILL_AT=7"}, -1, -1, "", "SUCCEEDED"},
		"several, first wins":  {[]string{"MC_FAIL_AT=9", "MC_EXIT_AT=7"}, 3, 3, "", "SUCCEEDED"},
		"fail, although again": {[]string{"MC_FAIL_AT=7", "GBS_RETRY_COUNT=3"}, 0, 1, "FAILED", "SUCCEEDED"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			env, got := recorders(t)
			dir := t.TempDir()
			if code, text := sh(t, dir, append(env, test.env...), "mc.sh", "1", "10"); code != test.exit {
				t.Errorf("exit %d, want %d: %s", code, test.exit, text)
			}
			if report := lastWord(got("GBS_LOG")); !strings.HasPrefix(report, test.report) || strings.Count(report, "\n") > 1 ||
				test.report == "" && report != "" {
				t.Errorf("report is %q, want %q", report, test.report)
			}
			if _, err := os.Stat(filepath.Join(dir,
				"simulate.000000001-000000010.txt")); (err == nil) != strings.HasPrefix(test.report, "SUCCEEDED") {
				t.Errorf("the file of the broken phase: %v", err)
			}
			if code, text := sh(t, t.TempDir(), test.env, "mc.sh", "1", "10"); code != test.alone {
				t.Errorf("on its own: exit %d, want %d: %s", code, test.alone, text)
			}
			env, got = recorders(t)
			mustSh(t, t.TempDir(), append(env, test.env...), "mc.sh", "20", "3")
			if report := lastWord(got("GBS_LOG")); !strings.HasPrefix(report, test.otherwise) {
				t.Errorf("without that event the report is %q", report)
			}
		})
	}
}

func TestMonteCarlo_HangsUntilItsGroupIsTold(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("sh", filepath.Join(here(t), "mc.sh"), "1", "30")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "MC_HANG_AT=7", "JJM_PROGRESS=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	generated := filepath.Join(dir, "generate.000000001-000000030.txt")
	for deadline := time.Now().Add(await.Guard(5 * time.Minute)); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(generated); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the first phase never ended")
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Errorf("it did not hang: %v", err)
	case <-time.After(200 * time.Millisecond): // pause: time in which the program could end, which would be a mistake
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(await.Guard(5 * time.Minute)):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		t.Error("it survived a TERM to its process group")
	}
}

func TestMonteCarlo_RefusesBadArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"1"}, {"1", "2", "3"}, {"", "5"}, {"1", "0"}, {"-1", "5"}, {"010", "5"},
		{"1", "5x"}, {"1", "1e3"}, {"1;id", "3"}, {"1234567890123456", "1"}} {
		dir := t.TempDir()
		code, text := sh(t, dir, nil, "mc.sh", args...)
		if code != 2 || !strings.HasPrefix(text, "usage: ") || len(contents(t, dir)) != 0 {
			t.Errorf("%q: exit %d, %q, %d files", args, code, text, len(contents(t, dir)))
		}
	}
}

func TestMerge_RefusesWhatIsNotWhole(t *testing.T) {
	awk := awks(t)[0]
	dirs := runParts(t, awk, 1, 5, 5, 5)
	tests := map[string]struct {
		dirs []string
		want string
	}{
		"nothing": {[]string{t.TempDir()}, "generate: no files"},
		"a gap":   {[]string{dirs[0], dirs[2]}, "events 6 to 10 are missing"},
		"doubled": {[]string{dirs[0], dirs[0]}, "event 1 is there twice"},
		"usage":   {nil, "usage: merge.sh"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, text := sh(t, t.TempDir(), nil, "merge.sh", test.dirs...)
			if code == 0 || !strings.Contains(text, test.want) {
				t.Errorf("exit %d, %q, want %q", code, text, test.want)
			}
		})
	}
	t.Run("one histogram too few", func(t *testing.T) {
		if err := os.Remove(filepath.Join(dirs[1], "histogram.txt")); err != nil {
			t.Fatal(err)
		}
		code, text := sh(t, t.TempDir(), nil, "merge.sh", dirs...)
		if code == 0 || !strings.Contains(text, "the histograms hold 10 events, the files 15") {
			t.Errorf("exit %d, %q", code, text)
		}
	})
}

func TestMerge_TakesFilesAsCollected(t *testing.T) {
	whole := contents(t, runParts(t, awks(t)[0], 1, 10)[0])
	collected, merged := t.TempDir(), t.TempDir()
	for i, dir := range runParts(t, awks(t)[0], 1, 4, 6) {
		for name, text := range contents(t, dir) {
			name = filepath.Join(collected, fmt.Sprintf("zmumu.17.%d.%s", i, name))
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustSh(t, collected, nil, "merge.sh", "-o", merged, collected)
	if diff := cmp.Diff(whole, contents(t, merged)); diff != "" {
		t.Errorf("merged (-unsplit +merged):\n%.2000s", diff)
	}
}

// local runs one local job of a job file as jjm would, with more variables, and returns its folder.
func local(t *testing.T, spec *jjm.Spec, argv, env []string) string {
	t.Helper()
	dir := t.TempDir()
	for _, in := range spec.Inputs {
		if err := os.Symlink(filepath.Join(here(t), in.Path), filepath.Join(dir, in.Name)); err != nil {
			t.Fatal(err)
		}
	}
	program := argv[0]
	if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
		program = filepath.Join(dir, program)
	}
	cmd := exec.Command(program, argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	for name, value := range spec.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return dir
}

// example returns the text of an example.
func example(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// locals returns the specification of an example and the command lines of its local jobs.
func locals(t *testing.T, file string) (*jjm.Spec, [][]string) {
	t.Helper()
	return localsOf(t, file, example(t, file))
}

func localsOf(t *testing.T, file, text string) (*jjm.Spec, [][]string) {
	t.Helper()
	doc, problems := jobfile.Parse(file, []byte(text))
	if problems != nil {
		t.Fatal(problems)
	}
	site := handlers.Site{Open: func(path string) (io.ReadCloser, error) { return os.Open(path) }}
	h, err := all.Registry().Get(doc.Spec.Type)
	if err != nil {
		t.Fatal(err)
	}
	if problems := h.Check(&doc.Spec, site); problems != nil {
		t.Fatal(doc.Locate(problems))
	}
	c, err := h.Split(&doc.Spec, site)
	if err != nil {
		t.Fatal(err)
	}
	if h.Describe().Reads {
		c.Work, _ = handlers.Inline(&doc.Spec)
	}
	s, err := split.Get(c.Splitter)
	if err != nil {
		t.Fatal(err)
	}
	parts, _, _, err := s.Cut(c.Work, split.Limits{}, c.Params, split.Carry{})
	if err != nil {
		t.Fatal(err)
	}
	var argvs [][]string
	for i, part := range parts {
		command, err := handlers.CommandForeseen(h, &doc.Spec, &part, i)
		if err != nil {
			t.Fatal(err)
		}
		argvs = append(argvs, command.Argv)
	}
	return &doc.Spec, argvs
}

func TestJobFiles_DoWhatTheySay(t *testing.T) {
	files, err := filepath.Glob("*.[tj][od][mf]*")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]int{"hello.toml": 3, "script.toml": 3, "montecarlo.toml": 20, "failing.toml": 5,
		"streams.toml": 2, "steps.toml": 1, "jim.jdf": 5} {
		_, argvs := locals(t, file)
		if len(argvs) != want {
			t.Errorf("%s makes %d local jobs, want %d", file, len(argvs), want)
		}
	}
	if len(files) != 7 {
		t.Errorf("there are %d job files here: test them all", len(files))
	}
}

// TestJobFiles_MonteCarloMergesToOneRun runs all 20 local jobs of the example, each with a tenth of its events.
func TestJobFiles_MonteCarloMergesToOneRun(t *testing.T) {
	const file = "montecarlo.toml"
	fewer := strings.NewReplacer("\nevents = 2000\n", "\nevents = 200\n", "\nevents_per_job = 100\n",
		"\nevents_per_job = 10\n")
	spec, argvs := localsOf(t, file, fewer.Replace(example(t, file)))
	if len(argvs) != 20 {
		t.Fatalf("%d local jobs, want 20", len(argvs))
	}
	env, got := recorders(t)
	var dirs []string
	for _, argv := range argvs {
		dirs = append(dirs, local(t, spec, argv, env))
	}
	if n := strings.Count(got("GBS_LOG"), "SUCCEEDED "); n != len(argvs) {
		t.Fatalf("%d of %d local jobs succeeded", n, len(argvs))
	}
	merged := t.TempDir()
	mustSh(t, merged, nil, "merge.sh", dirs...)
	whole := contents(t, runParts(t, awks(t)[0], 1, 200)[0])
	for name, text := range contents(t, merged) {
		if whole[name] != text {
			t.Errorf("%s differs from that of one run", name)
		}
		delete(whole, name)
	}
	for name := range whole {
		t.Errorf("%s is missing", name)
	}
}

// The command of each local job of the example gets the names from the templates, and writes these files.
func TestJobFiles_StreamsLeaveTheirOutputs(t *testing.T) {
	spec, argvs := locals(t, "streams.toml")
	for i, argv := range argvs {
		got := contents(t, local(t, spec, argv, nil))
		if got[fmt.Sprintf("LINES.%06d.txt", i+1)] == "" ||
			got["notes.txt"] != fmt.Sprintf("number %d, cards=/etc/os-release\n", i+1) {
			t.Errorf("%q left %q", argv, got)
		}
	}
}

// The scripts of the chain do in one folder what the chain does with jjm.
func TestJobFiles_ChainRunsWithoutJJM(t *testing.T) {
	dir := t.TempDir()
	env, got := recorders(t)
	mustSh(t, dir, env, "chain/chain.sh", "generate", "1", "40")
	mustSh(t, dir, env, "chain/chain.sh", "process", "hits.txt")
	mustSh(t, dir, env, "chain/chain.sh", "summary", "tracks.txt", "tracks.txt")
	tracks := contents(t, dir)["tracks.txt"]
	if n := strings.Count(tracks, "\n"); !strings.HasPrefix(contents(t, dir)["summary.txt"], fmt.Sprintf("%d events, ",
		2*n)) || n == 0 {
		t.Errorf("the summary of %q says %q", tracks, contents(t, dir)["summary.txt"])
	}
	if want := "INFO processed=40 events\nINFO processed=1 files\nINFO processed=2 files\n"; got("GBS_LOG") != want {
		t.Errorf("reports are %q, want %q", got("GBS_LOG"), want)
	}
	if code, text := sh(t, dir, env, "chain/chain.sh", "merge"); code != 2 || !strings.Contains(text,
		"want generate, process or summary") {
		t.Errorf("an unknown step: exit %d: %s", code, text)
	}
	for step, n := range map[string]int{"generate": 4, "process": 0, "summary": 0} { // the others read files
		if _, argvs := locals(t, "chain/"+step+".toml"); len(argvs) != n {
			t.Errorf("%s.toml makes %d local jobs, want %d", step, len(argvs), n)
		}
	}
}

func TestJobFiles_ScriptLeavesItsOutputs(t *testing.T) {
	spec, argvs := locals(t, "script.toml")
	for _, argv := range argvs {
		dir := local(t, spec, argv, nil)
		for _, pattern := range spec.Outputs {
			if found, err := filepath.Glob(filepath.Join(dir, pattern)); len(found) != 1 || err != nil {
				t.Errorf("%q left %v for %s (%v)", argv, found, pattern, err)
			}
		}
	}
}

func TestJobFiles_JIMsRunsItsDriver(t *testing.T) {
	spec, argvs := locals(t, "jim.jdf")
	env, got := recorders(t)
	dir := local(t, spec, argvs[1], env)
	text, err := os.ReadFile(filepath.Join(dir, "events.4711.101.txt"))
	if err != nil || strings.Count(string(text), "\nevent ") != 100 ||
		!strings.HasPrefix(string(text), "request 4711, release p17.09.06, station fnal-d0\n") {
		t.Errorf("%v: %.200s", err, text)
	}
	if report := got("GBS_LOG"); !strings.Contains(report, "SUCCEEDED events.4711.101.txt") {
		t.Errorf("report is %q", report)
	}
}

func TestJobFiles_FailingFailsAsItsCommentSays(t *testing.T) {
	spec, argvs := locals(t, "failing.toml")
	for i, want := range []string{"SUCCEEDED", "RETRY step2", "FAILED", "", ""} {
		env, got := recorders(t)
		local(t, spec, argvs[i], append(env, "GBS_RETRY_COUNT=0"))
		if report := lastWord(got("GBS_LOG")); !strings.HasPrefix(report, want) || want == "" && report != "" {
			t.Errorf("local job %d reports %q, want %q", i, report, want)
		}
	}
}

func TestScripts_PassShellcheck(t *testing.T) {
	shellcheck := needs.Program(t, "shellcheck", "shellcheck")
	scripts, err := filepath.Glob("*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	scripts = append(scripts, "chain/chain.sh")
	if out, err := exec.Command(shellcheck, scripts...).CombinedOutput(); err != nil {
		t.Errorf("shellcheck: %v\n%s", err, out)
	}
}
