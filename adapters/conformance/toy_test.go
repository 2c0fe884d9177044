package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/said"
)

// toy is a batch system of three scripts that keeps jobs and never runs them. Its adapter
// is correct unless a defect is planted.
type toy struct {
	adapters.CLI
	defect string
}

// The scripts use the folder jobs in their own folder: jobs/ID contains "TAG N".
var toyCommands = map[string]string{
	"tsub":  `n=$(cat next); echo $((n+1)) >next; echo "$1 $2 Q" >jobs/$n; echo "job $n taken"`,
	"tstat": `echo "ID TAG N STATE"; for f in jobs/*; do [ -e "$f" ] && echo "${f##*/} $(cat "$f")"; done; echo end`,
	"tdel":  `for id; do read -r tag n state <jobs/$id && echo "$tag $n X" >jobs/$id && echo "gone $id"; done`,
}

// newToy installs the scripts of the toy in a new folder, and returns the folder of its commands.
func newToy(t TB) (bin string) {
	dir := t.TempDir()
	bin = filepath.Join(dir, "bin")
	for _, err := range []error{os.Mkdir(bin, 0o755), os.Mkdir(filepath.Join(dir, "jobs"), 0o755),
		os.WriteFile(filepath.Join(dir, "next"), []byte("7000012345\n"), 0o644)} {
		if err != nil {
			t.Fatalf("%v", err)
		}
	}
	for name, body := range toyCommands {
		if err := writeProgram(filepath.Join(bin, name), "#!/bin/sh\ncd '"+dir+"' || exit 3\n"+body+"\n"); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return bin
}

// toySystem returns a function that opens the toy for the suite. Only the adapters that the suite makes for faulty
// commands have the defect.
func toySystem(defect string) func(t TB) System {
	return func(t TB) System {
		bin, patience := newToy(t), await.Provoked(2*time.Second)
		if defect == "" {
			patience = await.Guard(4 * time.Minute)
		}
		return System{
			Adapter: &toy{CLI: adapters.CLI{Bin: bin}}, Owner: jjm.Owner{UID: os.Getuid()}, Dir: t.TempDir(),
			Patience: patience, Pause: 20 * time.Millisecond, Bin: bin, Commands: []string{"tsub", "tstat", "tdel"},
			Submits: "tsub",
			WithBin: func(_ TB, bin string) adapters.Adapter { return &toy{CLI: adapters.CLI{Bin: bin}, defect: defect} },
		}
	}
}

func (*toy) Name() string { return "toy" }

func (*toy) Capabilities() adapters.Capabilities {
	return adapters.Capabilities{MaxBulk: 1000, Guarantee: "none: a toy"}
}

func (a *toy) has(defect string) bool { return strings.Contains(a.defect, defect) }

// command runs a command of the toy and returns its output. It returns an error if the exit code is not 0.
func (a *toy) command(ctx context.Context, argv ...string) (string, error) {
	if a.has("leaves processes") && argv[0] == "tstat" {
		argv = []string{"../../../../../../../../usr/bin/setsid", "-w", filepath.Join(a.Bin, argv[0])}
	}
	if a.has("runs everything thrice") {
		_, _ = a.Run(ctx, nil, "tstat")
		_, _ = a.Run(ctx, nil, "tstat")
	}
	out, err := a.Run(ctx, nil, argv...)
	switch {
	case err != nil && a.has("calls a missing command invalid"):
		return "", jjm.Errorf(jjm.Invalid, "%w", err)
	case err != nil && a.has("hides that nothing was started"):
		return "", jjm.Errorf(jjm.Busy, "%v", err)
	case err != nil && a.has("names no command"):
		return "", jjm.Errorf(jjm.Busy, "something is wrong")
	case err != nil && a.has("takes time-outs for nothing"):
		return "ID TAG N STATE\nend\n", nil
	case err != nil:
		return "", err
	case len(out.Stderr) > 0 && a.has("calls any stderr invalid"):
		return "", jjm.Errorf(jjm.Invalid, "%s: %s", argv[0], out.Stderr)
	case out.Exit != 0 && !a.has("ignores exit codes"):
		return "", jjm.Errorf(jjm.Ambiguous, "%s: exit %d: %s", argv[0], out.Exit, out.Stderr)
	}
	return string(out.Stdout), nil
}

func (a *toy) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	text, err := a.command(ctx, "tsub", string(b.Tag), strconv.Itoa(b.N))
	switch {
	case err != nil && a.has("calls doubt busy"):
		return adapters.Receipt{}, adapters.AsBusy(err)
	case err != nil && a.has("calls trouble invalid"):
		return adapters.Receipt{}, jjm.Errorf(jjm.Invalid, "%w", err)
	case err != nil:
		return adapters.Receipt{}, err
	}
	id, ok := strings.CutPrefix(text, "job ")
	id, whole := strings.CutSuffix(id, " taken\n")
	if a.has("takes any word for an id") {
		for _, word := range strings.Fields(text + " job ") {
			if _, err := strconv.Atoi(word); err == nil || id == "" {
				return adapters.Receipt{ID: word}, nil
			}
		}
	}
	if !ok || !whole {
		return adapters.Receipt{}, jjm.Errorf(jjm.Ambiguous, "tsub said %.40q", text)
	}
	return adapters.Receipt{ID: id}, nil
}

// table runs tstat and returns the words of each line of its listing, or an error of kind Busy if the listing is
// incomplete.
func (a *toy) table(ctx context.Context) ([][]string, error) {
	text, err := a.command(ctx, "tstat")
	if err != nil {
		return nil, adapters.AsBusy(err)
	}
	lines := strings.Split(text, "\n")
	lenient := a.has("skips what it cannot read")
	n := len(lines)
	if !lenient && (n < 3 || lines[0] != "ID TAG N STATE" || lines[n-2] != "end" || lines[n-1] != "") {
		return nil, jjm.Errorf(jjm.Busy, "tstat said %.40q", text)
	}
	var rows [][]string
	for _, line := range lines {
		if words := strings.Fields(line); len(words) == 4 && words[0] != "ID" {
			rows = append(rows, words)
		}
	}
	return rows, nil
}

func (a *toy) List(ctx context.Context, _ jjm.Owner, _ time.Time) (adapters.Listing, error) {
	rows, err := a.table(ctx)
	if err != nil && !a.has("lists nothing in trouble") {
		return adapters.Listing{}, err
	}
	l := adapters.Listing{At: time.Now()}
	for _, row := range rows {
		n, _ := strconv.Atoi(row[2])
		state := jjm.BatchQueued
		if row[3] == "X" {
			state = jjm.BatchCancelled
		}
		for i := range n {
			l.Reports = append(l.Reports, jjm.Report{Tag: jjm.Tag(row[1]), Index: int32(i), ID: fmt.Sprintf("%s.%d", row[0], i),
				State: state})
		}
	}
	return l, nil
}

func (a *toy) Find(ctx context.Context, _ jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	rows, err := a.table(ctx)
	if err != nil && !a.has("finds nothing in trouble") {
		return nil, err
	}
	found := make([]adapters.Found, len(tags))
	for i, tag := range tags {
		found[i] = adapters.Found{Tag: tag, Presence: adapters.Absent}
		for _, row := range rows {
			if row[1] == string(tag) {
				found[i].Presence = adapters.Present
				found[i].IDs = append(found[i].IDs, row[0])
			}
		}
	}
	return found, nil
}

func (*toy) Account(context.Context, jjm.Owner, []adapters.Ref) ([]jjm.Report, error) {
	return nil, nil
}

func (a *toy) Control(ctx context.Context, _ jjm.Owner, _ adapters.Op, jobs []adapters.Ref) ([]error, error) {
	_, err := a.command(ctx, "tdel", jobs[0].ID)
	if err != nil && !a.has("says done in trouble") {
		return nil, adapters.AsBusy(err)
	}
	return make([]error, len(jobs)), nil
}

func TestFaultChecks_ACarefulAdapterPasses(t *testing.T) {
	var all []func()
	for _, c := range faultChecks() {
		all = append(all, func() {
			t.Run(c.Name, func(t *testing.T) { c.Run(t, toySystem("")(t)) })
		})
	}
	atOnceAll(all)
}

// planted is a defect of the toy's adapter, with the name of the check that must find the defect.
type planted struct{ check, defect string }

func faultDefects() []planted {
	return []planted{
		{"a command that hangs is given up", "calls doubt busy"},
		{"a command that hangs is given up", "takes time-outs for nothing"},
		{"a command that hangs is given up", "leaves processes"},
		{"a command that acts and hangs is given up", "calls doubt busy"},
		{"a reply that is lost is doubtful", "calls doubt busy"},
		{"a reply that is lost is doubtful", "calls trouble invalid"},
		{"a reply that is lost is doubtful", "lists nothing in trouble"},
		{"a command killed midway is no answer", "finds nothing in trouble"},
		{"a command killed midway is no answer", "skips what it cannot read, ignores exit codes"},
		{"a cut output is no answer", "skips what it cannot read"},
		{"a cut output is no answer", "takes any word for an id"},
		{"a failure with a good output is a failure", "calls doubt busy"},
		{"a refused connection is trouble", "lists nothing in trouble"},
		{"a refused connection is trouble", "calls trouble invalid"},
		{"a refused connection is trouble", "says done in trouble"},
		{"an empty output is no answer", "skips what it cannot read"},
		{"an empty output is no answer", "takes any word for an id"},
		{"garbage is no answer", "skips what it cannot read"},
		{"garbage is no answer", "takes any word for an id"},
		{"a banner on standard output does no harm", "takes any word for an id"},
		{"a banner on standard error does no harm", "calls any stderr invalid"},
		{"a missing command is named", "calls a missing command invalid"},
		{"a missing command is named", "names no command"},
		{"a missing command is named", "hides that nothing was started"},
		{"a missing command is named", "lists nothing in trouble"},
		{"the methods are cheap", "runs everything thrice"},
	}
}

func TestFaultChecks_EachFindsItsDefect(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	var all []func()
	for _, tt := range faultDefects() {
		all = append(all, func() {
			t.Run(tt.check+": "+tt.defect, func(t *testing.T) { wantFailure(t, tt.check, toySystem(tt.defect)) })
		})
	}
	atOnceAll(all)
}

// wantFailure runs the check with a given name and requires that it fails.
func wantFailure(t *testing.T, name string, open func(t TB) System) {
	t.Helper()
	o := Try(t.Context(), named(t, name), open)
	if o.Word() != "FAILED" {
		t.Errorf("%q is %s: %s", name, o.Word(), o.Skipped)
	}
	for _, f := range o.Failures {
		t.Logf("%s", f)
		for _, wrong := range said.Wrong(f) {
			t.Error(wrong)
		}
	}
}

func named(t *testing.T, name string) Check {
	t.Helper()
	for _, c := range Checks() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no check %q", name)
	return Check{}
}
