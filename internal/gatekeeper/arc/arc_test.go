package arc

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/formats/jobfile"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/plain"
	"jjm/internal/jjm"
)

const session = "/var/lib/jjm-testbed/arc/session/cV7NDmVABpAoOSAtDmABFKDmABFKDmABFKDmV0GKDmABFKDmrtr2Do"

func parse(t *testing.T, text string) (Job, error) {
	t.Helper()
	g, err := ParseGrami(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return Read(g)
}

// Read reads a grami file (A-REX's description of a job) that A-REX 6.17 wrote.
func TestRead_RecordedPlainJob(t *testing.T) {
	text, err := os.ReadFile("testdata/arcsub.grami")
	if err != nil {
		t.Fatal(err)
	}
	_, err = parse(t, string(text))
	var ps jjm.Problems
	if !errors.As(err, &ps) || len(ps) != 2 || ps[0].Field != "inputFiles" || ps[1].Field != "outputFiles" {
		t.Fatalf("folders: %v, want one problem for sub/x and one for d/", err)
	}
	kept := strings.NewReplacer("'/sub/x'", "'/x'", "'/d/'", "'/d'").Replace(string(text))
	job, err := parse(t, kept)
	if err != nil {
		t.Fatal(err)
	}
	const id = "cV7NDmVABpAoOSAtDmABFKDmABFKDmABFKDmV0GKDmABFKDmrtr2Do"
	const url = "https://localhost:8443/arex/" + id
	want := &plain.Job{
		Name: "it's a name", Executable: "./run.sh", Arguments: []string{"a b", "c'd", "e$HOME", `f"g`, `h\i`},
		Folder: session,
		Env: map[string]string{"A": "b c'd", "E": `x"y`, "N": "l1l2", "D": "$HOME `id`", "GRID_GLOBAL_JOBID": id,
			"GRID_GLOBAL_JOBURL":       url,
			"GRID_GLOBAL_JOBINTERFACE": "org.nordugrid.arcrest", "GRID_GLOBAL_JOBHOST": "localhost"},
		Stdin: session + "/in.dat",
		Inputs: []jjm.Input{{Path: "run.sh", Name: "run.sh", Executable: true}, {Path: "in.dat", Name: "in.dat"},
			{Path: "x", Name: "x"}},
		Outputs: []string{"out.dat", "d"},
		Request: jjm.Request{Cores: 2, MemoryMB: 1000, Walltime: jjm.Duration(20 * time.Minute),
			CPUTime: jjm.Duration(10 * time.Minute)},
	}
	if diff := cmp.Diff(want, job.Plain); diff != "" {
		t.Error(diff)
	}
	if job.GridID != id || job.URL != url || job.Directory != session ||
		job.ControlDir != "/var/lib/jjm-testbed/arc/control" || job.ID != "" {
		t.Errorf("%+v", job)
	}
	files := []gatekeeper.Delivery{{Name: "stdout", To: session + "/out.txt"}, {Name: "stderr", To: session + "/err.txt"},
		{Name: gatekeeper.WholeTar, To: session + "/jjm-output.tar"}, {Name: "out.dat", To: session + "/out.dat"},
		{Name: "d", To: session + "/d"}}
	if diff := cmp.Diff(files, job.Deliveries()); diff != "" {
		t.Error(diff)
	}
}

const base = "joboption_directory='/s/1'\njoboption_controldir='/c'\njoboption_gridid='1'\njoboption_arg_0='/bin/true'\njoboption_jobid=gabc\n"

func env(vars ...string) string {
	var b strings.Builder
	for i, v := range vars {
		b.WriteString("joboption_env_" + string(rune('0'+i)) + "='" + v + "'\n")
	}
	return b.String()
}

func TestRead_GridJobs(t *testing.T) {
	job, err := parse(t, base+env("JJM_JOB_FILE=job.toml", "GRID_GLOBAL_JOBID=x")+
		"joboption_stdout='out'\njoboption_outputfile_0='/jjm-output.tar'\n")
	if err != nil || job.JobFile != "/s/1/job.toml" || job.Plain != nil || job.Tar != "/s/1/jjm-output.tar" ||
		!job.Summary() || job.ID != "gabc" {
		t.Errorf("job file: %+v, %v", job, err)
	}
	job, err = parse(t, base+env("JJM_TYPE=montecarlo", "JJM_NAME=mc", "JJM_CLUSTERS=a b", "JJM_PARAM_EVENTS=500",
		"JJM_PARAM_command=[\"mc.sh\"]",
		"JJM_OUTPUTS=*.root log", "LABEL=x")+"joboption_cputime=60\njoboption_inputfile_0='/mc.sh'\n")
	if err != nil {
		t.Fatal(err)
	}
	file, err := job.Job(nil)
	if err != nil || file.BaseDir != "/s/1" {
		t.Fatalf("%+v, %v", file, err)
	}
	doc, problems := jobfile.Parse(file.Name, []byte(file.Text))
	want := jjm.Spec{Type: "montecarlo", Name: "mc", Mode: "Production", Clusters: []string{"a", "b"},
		Outputs: []string{"*.root", "log"},
		Env:     map[string]string{"LABEL": "x"}, Inputs: []jjm.Input{{Path: "mc.sh", Name: "mc.sh"}},
		Request: jjm.Request{Walltime: jjm.Duration(time.Minute), CPUTime: jjm.Duration(time.Minute)},
		Params:  map[string]any{"events": int64(500), "command": []any{"mc.sh"}}}
	if diff := cmp.Diff(want, doc.Spec); diff != "" || len(problems) > 0 {
		t.Errorf("variables: %v %s", problems, diff)
	}
}

// If the standard output and the standard error go to one file, jjm joins the streams on the worker, so that their
// order is kept.
func TestRead_JoinedStreams(t *testing.T) {
	job, err := parse(t, base+"joboption_arg_1='a b'\njoboption_stdout='/s/1/all'\njoboption_stderr='/s/1/all'\n")
	if err != nil || job.Plain.Executable != "/bin/sh" ||
		!cmp.Equal(job.Plain.Arguments, []string{"-c", `exec "$@" 2>&1`, "sh", "/bin/true", "a b"}) ||
		len(job.Deliveries()) != 1 {
		t.Errorf("%+v, %v", job.Plain, err)
	}
}

func TestRead_ReportsEveryProblemByName(t *testing.T) {
	for text, want := range map[string]string{
		base + env("JJM_TYPE=a", "JJM_JOB_FILE=b"):          "JJM_TYPE cannot be combined with",
		base + env("JJM_JOBFILE=b"):                         "JJM_JOBFILE: unknown",
		base + env("JJM_PARAM_X=1"):                         "JJM_PARAM_X: has no meaning for this job",
		base + env("GBS_MODE=x"):                            "GBS_MODE",
		base + env("nothing"):                               "want NAME=VALUE",
		base + "joboption_runtime_0='APPS/X'\n":             "runTimeEnvironment",
		base + "joboption_count=many\n":                     "count: \"many\"",
		"joboption_directory=s\njoboption_arg_0='/bin/x'\n": "gridid: is missing",
		"joboption_directory='/s'\njoboption_gridid=1\n":    "executable: is missing",
	} {
		_, err := parse(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// DelegationFile returns the path of a delegation in the layout of A-REX 6.17. It returns "" for texts that users may
// have written instead of an id.
func TestDelegationFile(t *testing.T) {
	for id, want := range map[string]string{"8782403e4567": "delegations/878/240/3e4/567", "abcd": "delegations/abcd",
		"abcde": "delegations/abc/de", "": "", "../../x": "", "ABCDEF": "", strings.Repeat("a", 65): "", "a/b/c/d": ""} {
		if got := DelegationFile(id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

func TestDiagAndDone_AreReadByAREX(t *testing.T) {
	started := jjm.At(time.Date(2026, 3, 1, 12, 0, 0, 5e8, time.UTC))
	used := &jjm.Usage{Host: "n1", WallMS: 61250, UserMS: 1500, SysMS: 42, MaxRSSKB: 2048, Processors: 4, Started: started,
		Ended: started.Add(time.Minute)}
	for name, c := range map[string]struct {
		l          wire.Lookup
		diag, done string
	}{
		"well": {wire.Lookup{Status: "done", GRAM: jjm.GRAMDone, Message: "1 of 1", Usage: used},
			"nodename=n1\nWallTime=61.250s\nProcessors=4\nUserTime=1.500s\nKernelTime=0.042s\nAverageTotalMemory=2048kB\nMaxResidentMemory=2048kB\n" +
				"LRMSStartTime=20260301120000Z\nLRMSEndTime=20260301120100Z\nLRMSMessage=1 of 1\nexitcode=0\n", "0\n"},
		"failed": {wire.Lookup{Status: "failed", GRAM: jjm.GRAMFailed, Exit: 3, Message: "why\nnot"},
			"LRMSMessage=why not\nexitcode=3\n", "3 why not\n"},
		"broken": {wire.Lookup{Status: "broken", GRAM: jjm.GRAMFailed}, "exitcode=1\n", "1 broken\n"},
		"killed": {wire.Lookup{Status: "aborted", GRAM: jjm.GRAMDone, Message: "killed on request"},
			"LRMSMessage=killed on request\nexitcode=1\n", "1 killed on request\n"},
		"partly": {wire.Lookup{Status: "finished", GRAM: jjm.GRAMDone, Exit: 1}, "exitcode=1\n", "1 finished\n"},
		"not known any more": {wire.Lookup{Error: &wire.Error{Kind: jjm.Gone, Text: "no such grid job"}}, "exitcode=1\n",
			"1 no such grid job\n"},
	} {
		code, message := Exit(c.l)
		if got := Diag(c.l, code); got != c.diag {
			t.Errorf("%s: .diag is\n%swant\n%s", name, got, c.diag)
		}
		if got := Done(code, message); got != c.done {
			t.Errorf("%s: .lrms_done is %q, want %q", name, got, c.done)
		}
	}
}

// The user can write the file job.ID.local, and name any delegation (a stored credential) there. A delegation that
// A-REX does not keep for this job is reported and not used.
func TestForeignDelegations_AreThoseThatAREXDoesNotKeepForTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		local string
		kept  []string
		want  string
	}{
		"none is named":    {"subject=/CN=Ann\n", []string{"a1b2"}, ""},
		"its own":          {"delegationid=a1b2\n", []string{"c3d4", "a1b2"}, ""},
		"another's":        {"subject=/CN=Ann\ndelegationid=ffff\n", []string{"a1b2"}, `delegation "ffff": A-REX`},
		"A-REX keeps none": {"delegationid=ffff", nil, `delegation "ffff": A-REX`},
		"its own and others": {"delegationid=ffff\ndelegationid=a1b2\ndelegationid=eeee\ndelegationid=ffff\n",
			[]string{"a1b2"}, `"ffff" and 1 more: A-REX`},
		"no id at all": {"delegationid=../../../etc/passwd\x1b[2J\n", nil, `"../../../etc/passwd\x1b[2J"`},
		"a long one":   {"delegationid=" + strings.Repeat("f", 10_000), nil, strings.Repeat("f", 40) + `": A-REX`},
		"an empty one": {"delegationid=\n", nil, ""},
	} {
		got := Remark("7", ForeignDelegations(c.local, c.kept))
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || len(got) > 500 {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
