package survival_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/testkit/needs"
	"jjm/internal/work/cover"
)

// gather is the program of the local jobs. It joins its input files. It fails once with a flaky file, and always with a
// broken file. It adds the parts with broken files to a ledger.
const gather = `#!/bin/sh
bad=0
for f; do
	n=${f##*/}
	[ ! -e "$TROUBLE/flaky.$n" ] || { rm "$TROUBLE/flaky.$n"; bad=4; }
	[ ! -e "$TROUBLE/broken.$n" ] || bad=3
done
[ $bad != 3 ] || echo "$*" >>"$TROUBLE/fell"
[ $bad = 0 ] || exit $bad
cat "$@" >out.txt || exit 5
"$GBS_LOG" INFO "processed=$# files"
`

// growth is a grid job over real files that arrive while it is processed: half of them in a watched folder, the others
// by the command.
type growth struct {
	*site
	// dir is the folder of all files of the test that do not belong to jjm. Everybody may write there.
	dir              string
	files            int
	early            int // files that exist before the grid job does
	batches          int // batches in which later files arrive
	perJob, perMerge int
	flaky, broken    []int
	// dies is set if the daemon is killed halfway.
	dies bool

	id    jjm.GridID
	came  int // files that have arrived
	lfns  []string
	lines []string // the content of each file
}

// TestGrowing_EveryFileIsMergedOnceOrReportedMissing processes 2000 files, most of which arrive while others are
// processed. Some local jobs fail once and some permanently, and outputs are merged meanwhile. The test compares jjm's
// reports with the bytes that jjm delivers.
func TestGrowing_EveryFileIsMergedOnceOrReportedMissing(t *testing.T) {
	needs.Campaign(t, needs.Faults)
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) (set settings, perJob int){
		"embedded": func(*testing.T) (settings, int) { return settings{slots: 4}, 10 },
		"slurm": func(t *testing.T) (settings, int) {
			section, uid := onBed("slurm", "slurm", "")(t)
			return settings{cluster: section, uid: uid}, 20
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, perJob := start(t)
			set.engine = "dataset_poll = \"200ms\"\n"
			g := &growth{site: newSite(t, set), files: 2000, early: 700, batches: 5, perJob: perJob, perMerge: 10,
				flaky: []int{3, 250, 699, 701, 950, 1111, 1500, 1999}, broken: []int{120, 704, 1300, 1790}, dies: true}
			if set.cluster != "" {
				g.patience = bedPatience
			}
			began := time.Now()
			g.prepare()
			g.startReady()
			g.submitAndGrow()
			missing := g.checkFirst()
			g.recover(missing)
			t.Logf("%d files on %s in %v", g.files, name, time.Since(began).Round(time.Millisecond))
		})
	}
}

// prepare creates the folders, the files and the job file.
func (g *growth) prepare() {
	g.t.Helper()
	g.dir = filepath.Join(g.site.dir, "growing")
	job := fmt.Sprintf(`type = "reprocess"
name = "survival"
result = "exit"
outputs = ["out.txt"]
output_dataset = "made"
env = { TROUBLE = %q }
[[inputs]]
path = "gather.sh"
executable = true
[[datasets]]
name = "raw"
watch = %q
[split]
by = "MinFileBased"
params = { files_per_job = %d }
[merge]
concat = true
output = "merged.txt"
files = %d
[params]
command = ["gather.sh", "{files}"]
`, g.dir, filepath.Join(g.dir, "watched", "*.dat"), g.perJob, g.perMerge)
	g.ok(os.Mkdir(g.dir, 0o755), os.Chmod(g.dir, 0o777), os.Mkdir(g.path("watched"), 0o755),
		os.Mkdir(g.path("listed"), 0o755),
		os.Mkdir(g.path("coming"), 0o755), os.WriteFile(g.path("gather.sh"), []byte(gather), 0o755),
		os.WriteFile(g.path("job.toml"), []byte(job), 0o644))
	for _, i := range g.flaky {
		g.ok(os.WriteFile(g.path(fmt.Sprintf("flaky.%04d.dat", i)), nil, 0o644))
	}
	for _, i := range g.broken {
		g.ok(os.WriteFile(g.path(fmt.Sprintf("broken.%04d.dat", i)), nil, 0o644))
	}
	g.come(g.early, "watched")
}

func (g *growth) path(name string) string { return filepath.Join(g.dir, name) }

func (g *growth) ok(errs ...error) {
	g.t.Helper()
	if err := errors.Join(errs...); err != nil {
		g.t.Fatal(err)
	}
}

// come moves the next n files into a folder. They are complete and were written long ago.
func (g *growth) come(n int, folder string) {
	g.t.Helper()
	old := time.Now().Add(-time.Hour)
	for range n {
		name := fmt.Sprintf("%04d.dat", g.came)
		line := fmt.Sprintf("%s %x", name, sha256.Sum256([]byte(name)))
		coming, there := filepath.Join(g.dir, "coming", name), filepath.Join(g.dir, folder, name)
		g.ok(os.WriteFile(coming, []byte(line+"\n"), 0o644), os.Chtimes(coming, old, old), os.Rename(coming, there))
		g.lfns, g.lines = append(g.lfns, there), append(g.lines, line)
		g.came++
	}
}

// jjm runs the command as the account of the daemon.
func (g *growth) jjm(args ...string) (out string, code int) {
	g.t.Helper()
	cmd := bin.Command(g.t, args...)
	cmd.Dir = g.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "JJM_STATE=" + g.state}
	if g.uid != 0 && os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: g.credential()}
	}
	text, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		g.t.Fatal(err)
	}
	if err != nil {
		g.t.Logf("jjm %v: exit %d: %s", args, exit.ExitCode(), exit.Stderr)
		return string(text), exit.ExitCode()
	}
	return string(text), 0
}

// submit submits a job file and returns the id.
func (g *growth) submit(file string) jjm.GridID {
	g.t.Helper()
	out, code := g.jjm("submit", file)
	id, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if code != 0 || err != nil {
		g.t.Fatalf("submit %s: exit %d: %s", file, code, out)
	}
	return jjm.GridID(id)
}

// submitAndGrow submits the grid job. Each further batch of files arrives when half of the local jobs that the earlier
// files allow are processed. The dataset is closed when some files are merged.
func (g *growth) submitAndGrow() {
	g.t.Helper()
	g.id = g.submit("job.toml")
	for b := range g.batches {
		half := g.came / g.perJob / 2
		g.sees("half is processed", func(n wire.Counts) bool { return n.Completing+n.Completed >= half })
		n := (g.files - g.early) / g.batches
		if b%2 == 0 {
			g.come(n, "watched")
		} else {
			g.add(n)
		}
		if g.dies && b == g.batches/2 {
			g.kill()
			g.startReady()
		}
	}
	if late := g.files - g.early; g.came != g.files || late < g.files/2 {
		g.t.Fatalf("%d files came, %d of them while it ran", g.came, late)
	}
	g.sees("some are merged", func(n wire.Counts) bool { return n.Completed > 0 })
	g.t.Logf("all came, at %+v", must(g.site, wire.VerbLookup(),
		wire.LookupRequest{Many: wire.Refs(g.id.String())}).Lookup[0].Counts)
	g.sees("all are known", func(wire.Counts) bool { return g.shown("raw") == int64(g.files) })
	if out, code := g.jjm("dataset", "close", "raw"); code != 0 {
		g.t.Fatalf("close: exit %d: %s", code, out)
	}
	g.final(g.id)
}

// sees waits until the counts of the grid job, which must not be over, are as wanted.
func (g *growth) sees(what string, ok func(wire.Counts) bool) {
	g.t.Helper()
	g.await(what, g.patience, func() bool {
		l := must(g.site, wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(g.id.String())}).Lookup[0]
		if isFinal(l.Status) {
			g.t.Fatalf("its dataset is open, and it is over: %+v", l)
		}
		return ok(l.Counts)
	})
}

// add makes files arrive in another folder, and adds them by the command.
func (g *growth) add(n int) {
	g.t.Helper()
	from := g.came
	g.come(n, "listed")
	var list strings.Builder
	for _, lfn := range g.lfns[from:] {
		fmt.Fprintf(&list, "{\"lfn\": %q}\n", lfn)
	}
	g.ok(os.WriteFile(g.path("list.jsonl"), []byte(list.String()), 0o644))
	if out, code := g.jjm("dataset", "add", "raw", "list.jsonl"); code != 0 {
		g.t.Fatalf("add: exit %d: %s", code, out)
	}
}

// shown returns how many files a dataset of the account has.
func (g *growth) shown(name string) int64 {
	g.t.Helper()
	uid := g.uid
	if uid == 0 {
		uid = os.Getuid()
	}
	d := must(g.site, wire.VerbDataset(),
		wire.DatasetRequest{Dataset: &wire.Dataset{Do: wire.DatasetShow, Name: name, UID: &uid}}).Datasets
	if len(d.Shown) != 1 {
		g.t.Fatalf("dataset %s: %+v", name, d)
	}
	return d.Shown[0].Files
}

// checkFirst compares the end of the grid job with the files that arrived, and jjm's reports with both. It returns the
// files that jjm reports as missing.
func (g *growth) checkFirst() []string {
	g.t.Helper()
	g.nothingRuns()
	fell := g.failedFiles()
	var want []string
	for i, lfn := range g.lfns {
		if !slices.Contains(fell, lfn) {
			want = append(want, g.lines[i])
		}
	}
	g.checkMerged(g.id, want)
	st := g.status(g.id)
	c := st.Inputs[0].Counts
	if st.Lookup.Status != "finished" || c.Files != int64(g.files) || c.Finished != int64(len(want)) ||
		c.Failed != int64(len(fell)) {
		g.t.Errorf("%s: reads %+v; %d files fell", st.Lookup.Status, st.Inputs, len(fell))
	}
	g.checkRetries(st)
	return fell
}

// failedFiles returns the files with which local jobs failed permanently, from the application's ledger: the files of
// the parts that have a broken file.
func (g *growth) failedFiles() []string {
	g.t.Helper()
	text, err := os.ReadFile(g.path("fell"))
	g.ok(err)
	var all []string
	parts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		parts[line]++
		all = append(all, strings.Fields(line)...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for _, i := range g.broken {
		if !slices.Contains(all, g.lfns[i]) {
			g.t.Errorf("%s is broken, and no local job was given it", g.lfns[i])
		}
	}
	for part, n := range parts {
		if n != 3 {
			g.t.Errorf("%d local jobs were given %s: want 3, engine.max_attempts", n, part)
		}
	}
	if len(parts) > len(g.broken) || len(all) > len(parts)*g.perJob {
		g.t.Errorf("%d parts of %d files failed, with %d broken files", len(parts), len(all), len(g.broken))
	}
	return all
}

// checkRetries checks that a second local job processed each part with a flaky file, that no part is smaller than
// perJob, and that there are enough merges, none of them of more than perMerge files.
func (g *growth) checkRetries(st wire.Status) {
	g.t.Helper()
	left, err := filepath.Glob(g.path("flaky.*"))
	g.ok(err)
	short, merges := 0, 0
	for _, l := range st.Locals {
		switch {
		case l.Step == jjm.StepMerge:
			merges++
		case l.Part.Count < int64(g.perJob):
			short++
		}
		if l.Step == jjm.StepMerge && l.Part.Count > int64(g.perMerge) {
			g.t.Errorf("%s merges %d files", l.ID, l.Part.Count)
		}
	}
	parts := g.files / g.perJob
	if n := st.Lookup.Counts.GivenBack; len(left) > 0 || n < len(g.broken)*2+1 || short > 0 ||
		merges < (parts-len(g.broken))/g.perMerge {
		g.t.Errorf("%v were never met; %d given back; %d short parts; %d merges", left, n, short, merges)
	}
}

// checkMerged checks that each expected line is in exactly one of the merged files in the tar, once.
func (g *growth) checkMerged(id jjm.GridID, want []string) {
	g.t.Helper()
	files, _ := readTar(g.t, g.status(id).Lookup.Tar)
	var got []string
	for name, text := range files {
		switch {
		case strings.HasSuffix(name, ".merged.txt"):
			got = append(got, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
		case strings.HasSuffix(name, ".out.txt"):
			g.t.Errorf("the tar has %s, which was merged", name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		g.t.Errorf("lines of the merged files of grid job %s (-wanted +there):\n%s", id, tail(diff, 40))
	}
}

// recover verifies the grid job, repairs the cause of the missing files, and submits the recovery. After that
// everything must be proven.
func (g *growth) recover(fell []string) {
	g.t.Helper()
	v, code := g.proof(g.id, "--recovery", "missing.json")
	var missing []string
	for _, f := range v.Findings {
		if f.Kind != cover.Missing {
			g.t.Errorf("%+v", f)
		}
		missing = append(missing, f.LFN)
	}
	slices.Sort(missing)
	if diff := cmp.Diff(fell, missing); diff != "" || code != 1 || v.Verdict != cover.Gap ||
		v.Proven != int64(g.files-len(fell)) || v.Assumed != 0 {
		g.t.Errorf("exit %d, %+v; missing files (-fell +told):\n%s", code, v.Report, diff)
	}
	if v.Merge == nil || v.Merge.Verdict != cover.Proven {
		g.t.Errorf("of the merging it says %+v", v.Merge)
	}
	for _, i := range g.broken {
		g.ok(os.Remove(g.path(fmt.Sprintf("broken.%04d.dat", i))))
	}
	id := g.submit("missing.json")
	g.final(id)
	var want []string
	for i, lfn := range g.lfns {
		if slices.Contains(fell, lfn) {
			want = append(want, g.lines[i])
		}
	}
	g.checkMerged(id, want)
	v, code = g.proof(id)
	if code != 0 || v.Verdict != cover.Proven || v.Proven != int64(len(fell)) || v.Merge == nil ||
		v.Merge.Verdict != cover.Proven {
		g.t.Errorf("the recovery: exit %d, %+v, merging %+v", code, v.Report, v.Merge)
	}
	g.nothingRuns()
	g.stop()
	g.checkStore()
}

// proof asks jjm whether everything is done.
func (g *growth) proof(id jjm.GridID, more ...string) (v wire.Verified, code int) {
	g.t.Helper()
	out, code := g.jjm(append([]string{"verify", id.String(), "--json"}, more...)...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		g.t.Fatalf("verify %s: exit %d: %v: %s", id, code, err, out)
	}
	return v, code
}

// checkStore checks the store for damage when no daemon runs.
func (s *site) checkStore() {
	s.t.Helper()
	db, err := store.Open(filepath.Join(s.state, "store.db"), store.Options{ReadOnly: true})
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if err := db.Check(context.Background()); err != nil {
		s.t.Errorf("the store is damaged: %v", err)
	}
}
