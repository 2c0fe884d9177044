package gram

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/formats/jobfile"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/demand"
	"jjm/internal/gatekeeper/plain"
	"jjm/internal/jjm"
)

// base has the attributes that the job manager always sets.
const base = `(uniq_id="1.2")(directory="/home/u")(count="1")(stdin="/dev/null")(stdout="/home/u/.globus/job/1.2/stdout")` +
	`(stderr="/dev/null")(job_type="multiple")(dry_run="no")`

// contact has the variables with which GRAM's environment begins.
const contact = `("PATH" "/usr/bin") ("X509_USER_PROXY" "/home/u/p") ("GLOBUS_LOCATION" "/usr") ("GLOBUS_GRAM_JOB_CONTACT" "https://h:1/2/3/") ` +
	`("HOME" "/home/u") ("LOGNAME" "u") ("GLOBUS_GASS_CACHE_DEFAULT" "/home/u/.globus/.gass_cache")`

func read(t *testing.T, rsl string) (Job, error) {
	t.Helper()
	d, err := ParseRSL(rsl)
	if err != nil {
		t.Fatalf("%s: %v", rsl, err)
	}
	return Read(d)
}

// Read reads a description that a real job manager (globus-gram-job-manager 15.8) passed on for "globusrun -s", with an
// environment, two arguments and a library path.
func TestRead_RecordedPlainJob(t *testing.T) {
	text, err := os.ReadFile("testdata/globusrun-echo.rsl")
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(t, string(text))
	if err != nil {
		t.Fatal(err)
	}
	const home = "/var/lib/jjm-testbed/home/jjmgrid1"
	const dir = home + "/.globus/job/localhost/17370682719680319331.1126379623719870902"
	const url = "https://localhost:60335/17370682719680319331/1126379623719870902/"
	want := Job{
		Key: "17370682719680319331.1126379623719870902", Contact: url, Proxy: dir + "/x509_user_proxy", Folder: dir,
		Stdout: dir + "/stdout", Stderr: dir + "/stderr",
		Demand: demand.Demand{Folder: home, Plain: &plain.Job{
			Executable: "/bin/echo", Arguments: []string{"a", "b c", `d"e`}, Stdin: "/etc/passwd", Count: 2, Folder: home,
			Credentials: []string{jjm.ProxyKind},
			Env: map[string]string{"X509_USER_PROXY": dir + "/x509_user_proxy", "GLOBUS_GRAM_JOB_CONTACT": url, "HOME": home,
				"LOGNAME": "jjmgrid1",
				"PATH":    "/opt/bin", "LD_LIBRARY_PATH": "/x:/my", "FOO": "b\nar"},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRead_PlainJob(t *testing.T) {
	env := map[string]string{"X509_USER_PROXY": "/home/u/p", "GLOBUS_GRAM_JOB_CONTACT": "https://h:1/2/3/",
		"HOME": "/home/u", "LOGNAME": "u"}
	minutes := func(n int) jjm.Duration { return jjm.Duration(time.Duration(n) * time.Minute) }
	for name, c := range map[string]struct {
		rsl  string
		want plain.Job
	}{
		"what it needs": {`(executable=/bin/x)(max_wall_time=90)(max_memory=500)(queue=long)(project=atlas)`,
			plain.Job{Executable: "/bin/x", Count: 1,
				Request: jjm.Request{Walltime: minutes(90), MemoryMB: 500, Queue: "long", Account: "atlas"}}},
		"the older words": {`(executable=/bin/x)(max_time=3)(min_memory=700)`,
			plain.Job{Executable: "/bin/x", Count: 1, Request: jjm.Request{Walltime: minutes(3), MemoryMB: 700}}},
		"in the directory": {`(executable=bin/x)`, plain.Job{Executable: "/home/u/bin/x", Stage: true, Count: 1}},
		"staged": {`(executable=/home/u/.globus/.gass_cache/local/md5/1/data)`,
			plain.Job{Executable: "/home/u/.globus/.gass_cache/local/md5/1/data", Stage: true, Count: 1}},
		"files in and out": {`(executable=run.sh)(file_stage_in=)(jjm_staged_in="run.sh" "/home/u/data" "/else/where" "shared")` +
			`(file_stage_out=("result.dat" "https://h/r") ("/elsewhere/x" "https://h/x") ("sub/y" "https://h/y"))(jjm_name="my job")`,
			plain.Job{Name: "my job", Executable: "/home/u/run.sh", Stage: true, Count: 1, Outputs: []string{"result.dat"},
				Inputs: []jjm.Input{{Path: "/home/u/data", Name: "data"}, {Path: "/home/u/shared", Name: "shared"}}}},
		"cores": {`(executable=/bin/x)(jjm_cores=4)(jjm_clusters=a b)`,
			plain.Job{Executable: "/bin/x", Count: 1, Request: jjm.Request{Cores: 4}, Clusters: []string{"a", "b"}}},
		"file URL": {`(executable="file:///bin/x")`, plain.Job{Executable: "/bin/x", Count: 1}},
	} {
		got, err := read(t, base+"(environment="+contact+")"+c.rsl)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c.want.Env, c.want.Folder, c.want.Credentials = env, "/home/u", []string{jjm.ProxyKind}
		if diff := cmp.Diff(&c.want, got.Plain); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The attribute count is the number of processes if the job type is multiple, and the number of cores if it is single.
func TestRead_CountFollowsTheJobType(t *testing.T) {
	rest := strings.NewReplacer(`(count="1")`, "(count=8)", `(job_type="multiple")`, "").Replace(base) +
		"(executable=/bin/x)"
	for kind, want := range map[string][2]int{"multiple": {8, 0}, "single": {1, 8}} {
		job, err := read(t, rest+"(job_type="+kind+")")
		if err != nil || job.Plain.Count != want[0] || job.Plain.Request.Cores != want[1] {
			t.Errorf("%s: %+v, %v; want count and cores %v", kind, job.Plain, err, want)
		}
	}
}

func TestRead_JobFile(t *testing.T) {
	for file, want := range map[string]string{"job.toml": "/home/u/job.toml", "/etc/job.json": "/etc/job.json",
		"file:///a/../b": "/b"} {
		job, err := read(t, base+`(executable=/dev/null)(jjm_job_file="`+file+`")`)
		if err != nil || job.JobFile != want || job.Plain != nil || job.Spec != nil {
			t.Errorf("%s: %+v, %v; want %s", file, job, err, want)
		}
	}
}

// The attributes of a description together form a job file that package jobfile can read.
func TestRead_AttributesAreAJobFile(t *testing.T) {
	job, err := read(t, base+`(executable=/dev/null)(environment=`+contact+
		` (LABEL "a b"))(jjm_type=montecarlo)(jjm_name=mc)(jjm_mode=Test)`+
		`(jjm_clusters=any)(jjm_result=glf)(jjm_cores=2)(jjm_outputs="*.root" "log/*")(max_wall_time=60)`+
		`(jjm_inputs=driver.sh ("/data/cal.db" cal) ("run.sh" "run" executable)`+
		` ("https://h/a" b credential_file t sha256 `+strings.Repeat("0", 64)+`))`+
		`(jjm_params=(events 500)(cpu_per_event 1.5)(check true)(release v14)(command "mc.sh")(args ("a" "1") ("b" "2"))(list x 5))`)
	if err != nil {
		t.Fatal(err)
	}
	file, err := job.Job(nil)
	if err != nil || file.BaseDir != "/home/u" {
		t.Fatalf("%+v, %v", file, err)
	}
	doc, problems := jobfile.Parse(file.Name, []byte(file.Text))
	if len(problems) > 0 {
		t.Fatalf("%s: %v", file.Text, problems)
	}
	want := jjm.Spec{
		Type: "montecarlo", Name: "mc", Mode: "Test", Clusters: []string{"any"}, Result: "glf",
		Request: jjm.Request{Cores: 2, Walltime: jjm.Duration(time.Hour)},
		Env: map[string]string{"LABEL": "a b", "X509_USER_PROXY": "/home/u/p", "GLOBUS_GRAM_JOB_CONTACT": "https://h:1/2/3/",
			"HOME": "/home/u", "LOGNAME": "u"},
		Inputs: []jjm.Input{{Path: "driver.sh", Name: "driver.sh"}, {Path: "/data/cal.db", Name: "cal"},
			{Path: "run.sh", Name: "run", Executable: true},
			{Path: "https://h/a", Name: "b", CredentialFile: "t", SHA256: strings.Repeat("0", 64)}},
		Outputs: []string{"*.root", "log/*"},
		Params: map[string]any{"events": int64(500), "cpu_per_event": 1.5, "check": true, "release": "v14",
			"command": []any{"mc.sh"},
			"args":    []any{[]any{"a", "1"}, []any{"b", "2"}}, "list": []any{"x", "5"}},
	}
	if diff := cmp.Diff(want, doc.Spec); diff != "" {
		t.Error(diff)
	}
}

func TestRead_Tar(t *testing.T) {
	for _, c := range []struct{ rsl, want string }{
		{"", ""},
		{`(file_stage_out=("out.txt" "gsiftp://h/x"))`, ""},
		{`(file_stage_out=("out.txt" "gsiftp://h/x") ("jjm-output.tar" "https://h:1/tmp/x.tar"))`, "/home/u/jjm-output.tar"},
		{`(file_stage_out=("file:///scratch/jjm-output.tar" "https://h:1/x"))`, "/scratch/jjm-output.tar"},
		{`(file_stage_out=)(file_stream_out=("jjm-output.tar" "https://h:1/x"))`, "/home/u/jjm-output.tar"},
	} {
		job, err := read(t, base+`(executable=/dev/null)(jjm_job_file=j.toml)`+c.rsl)
		if err != nil || job.Tar != c.want {
			t.Errorf("%s: %q, %v; want %q", c.rsl, job.Tar, err, c.want)
		}
	}
}

func TestDeliveries_AreTheFilesThatGRAMExpects(t *testing.T) {
	const out = "/home/u/.globus/job/1.2/stdout"
	tar := `(file_stage_out=("jjm-output.tar" "https://h:1/tmp/x.tar") ("result" "https://h/r"))`
	grid := `(executable=/dev/null)(jjm_job_file=j.toml)`
	for _, c := range []struct {
		rsl     string
		want    []gatekeeper.Delivery
		summary bool
	}{
		{grid, nil, true},
		{grid + tar, []gatekeeper.Delivery{{Name: gatekeeper.WholeTar, To: "/home/u/jjm-output.tar"}}, true},
		{grid + "(jjm_stdout=tar)", []gatekeeper.Delivery{{Name: gatekeeper.WholeTar, To: out}}, false},
		{"(executable=/x)" + tar, []gatekeeper.Delivery{{Name: "stdout", To: out},
			{Name: gatekeeper.WholeTar, To: "/home/u/jjm-output.tar"},
			{Name: "result", To: "/home/u/result"}}, false},
	} {
		job, err := read(t, base+c.rsl)
		if err != nil {
			t.Errorf("%s: %v", c.rsl, err)
			continue
		}
		if diff := cmp.Diff(c.want, job.Deliveries()); diff != "" || job.Summary() != c.summary {
			t.Errorf("%s: summary %v %s", c.rsl, job.Summary(), diff)
		}
	}
}

// If jjm cannot fulfil some attributes, Read returns one error that names all of them.
func TestRead_ReportsEveryProblemByName(t *testing.T) {
	for rsl, want := range map[string][]string{
		`(executable=/dev/null)`:                            {"executable: is missing"},
		`(executable="https://h/x")`:                        {"executable: \"https://h/x\" was not staged"},
		`(executable=/x)(max_cpu_time=soon)`:                {"max_cpu_time: "},
		`(executable=/x)(max_wall_time=soon)(max_memory=0)`: {"max_wall_time: \"soon\"", "max_memory: \"0\""},
		`(executable=/x)(host_count=2)`:                     {"host_count"},
		`(executable=/x)(environment=(A))`:                  {"environment: want pairs"},
		`(executable=/x)(environment=(JJM_JOB 5))`:          {"environment: JJM_JOB"},
		`(executable=/x)(jjm_params=(a b))`:                 {"jjm_params: cannot be combined with executable"},
		`(executable=/x)(jjm_job_file=j)(arguments=a)`:      {"executable: cannot", "arguments: cannot"},
		`(executable=/x)(jjm_type=t)`:                       {"executable: cannot be combined with jjm_type"},
		`(executable=/dev/null)(jjm_type=t)(jjm_params=(a 1)(a 2)(b))`: {"jjm_params: a is given twice",
			"jjm_params: want (name value)"},
		`(executable=/dev/null)(jjm_type=t)(jjm_inputs=(a b c))`:                     {"jjm_inputs: want a path"},
		`(executable=/dev/null)(jjm_type=t)(jjm_inputs=(a b executable executable))`: {"jjm_inputs: want a path"},
		`(executable=/dev/null)(jjm_type=t)(jjm_inputs=(a b sha256))`:                {"jjm_inputs: want a path"},
		`(executable=/dev/null)(jjm_type=a b)`:                                       {"jjm_type: want one word"},
	} {
		_, err := read(t, base+rsl)
		var ps jjm.Problems
		if !errors.As(err, &ps) || jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%s: %v, want problems", rsl, err)
			continue
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %q", rsl, err, text)
			}
		}
	}
	if _, err := read(t, `(executable=/x)(job_type=mpi)`); err == nil ||
		!strings.Contains(err.Error(), "uniq_id: is missing") ||
		!strings.Contains(err.Error(), "job_type: \"mpi\"") || !strings.Contains(err.Error(), "directory") {
		t.Errorf("without what the job manager sets: %v", err)
	}
}
