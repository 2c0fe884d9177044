package words_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/gatekeeper/gram"
	"jjm/internal/jjm"
)

func readGram(t *testing.T, rsl string) (call, error) {
	t.Helper()
	for _, always := range []string{`(directory="/home/u")`, `(count="1")`, `(stdout="/home/u/out")`,
		`(environment=("HOME" "/home/u"))`, `(job_type="multiple")`, `(executable="/dev/null")`, `(stdin="/dev/null")`,
		`(stderr="/dev/null")`} {
		if name, _, _ := strings.Cut(always, "="); !strings.Contains(rsl, name+"=") {
			rsl += always
		}
	}
	d, err := gram.ParseRSL(`(uniq_id="1.2")(dry_run="no")` + rsl)
	if err != nil {
		t.Fatalf("%s: %v", rsl, err)
	}
	job, err := gram.Read(d)
	if err != nil {
		return call{}, err
	}
	c := call{file: job.JobFile, brought: job.Deliveries(), key: job.Key, credential: job.Proxy}
	if job.JobFile == "" {
		asked, err := job.Job(nil)
		if err != nil {
			return call{}, err
		}
		c.spec = taken(t, asked)
	}
	return c, nil
}

func gramLanguage() language {
	const grid = `(jjm_type=montecarlo)(jjm_params=(command mc)(events 10)(events_per_job 5))`
	plain := func(without, with string) trial {
		return trial{`(executable=/bin/x)` + without, `(executable=/bin/x)` + with}
	}
	described := func(with string) []trial { return []trial{{grid, grid + with}} }
	request := func(name, value string) []trial {
		return []trial{plain("", "("+name+"="+value+")"), {grid, grid + "(" + name + "=" + value + ")"}}
	}
	bring := func(file string) string { return `(` + file + `=("jjm-output.tar" "https://h/x"))` }
	return language{words: gram.Words(), read: readGram, heading: "Globus GRAM5", trials: map[string][]trial{
		"jjm_job_file": {{`(jjm_job_file=a.toml)`, `(jjm_job_file=b.toml)`}},
		"jjm_type": {{strings.Replace(grid, "montecarlo", "script", 1) + "(jjm_result=glf)(jjm_name=n)",
			grid + "(jjm_result=glf)(jjm_name=n)"}},
		"jjm_name":        append(described("(jjm_name=n)"), plain("", "(jjm_name=n)")),
		"jjm_mode":        described("(jjm_mode=Test)"),
		"jjm_result":      described("(jjm_result=exit)"),
		"jjm_clusters":    append(described("(jjm_clusters=a b)"), plain("", "(jjm_clusters=a)")),
		"jjm_cores":       append(described("(jjm_cores=2)"), plain("", "(jjm_cores=2)")),
		"jjm_outputs":     described(`(jjm_outputs="*.root")`),
		"jjm_inputs":      described(`(jjm_inputs=("mc.sh" mc executable))`),
		"jjm_params":      {{grid, strings.Replace(grid, "10", "20", 1)}},
		"jjm_credentials": described("(jjm_credentials=proxy)"),
		"jjm_stdout":      {{grid + "(jjm_stdout=summary)", grid + "(jjm_stdout=tar)"}},

		"executable": {{"(executable=/bin/x)", "(executable=/bin/y)"}, {"(executable=x)", "(executable=y)"}},
		"arguments":  {plain("", `(arguments=a "b c")`)},
		"environment": {plain("", `(environment=(A b))`),
			plain(`(environment=(A b))`, `(environment=("X509_USER_PROXY" "/p") (A b))`)},
		"stdin":         {plain("", "(stdin=in.dat)")},
		"stdout":        {plain("", "(stdout=/home/u/other)")},
		"stderr":        {plain("", "(stderr=/home/u/err)")},
		"count":         {plain("", "(count=3)"), plain("(job_type=single)", "(job_type=single)(count=3)")},
		"job_type":      {plain("(count=3)", "(count=3)(job_type=single)")},
		"queue":         request("queue", "long"),
		"project":       request("project", "atlas"),
		"max_wall_time": request("max_wall_time", "60"),
		"max_time":      request("max_time", "60"),
		"max_cpu_time":  request("max_cpu_time", "60"),
		"max_memory":    request("max_memory", "500"),
		"min_memory":    request("min_memory", "500"),
		"directory": {plain(`(directory="/a")`+bring("file_stage_out"), `(directory="/b")`+bring("file_stage_out")),
			{`(executable=x)(directory="/a")`, `(executable=x)(directory="/b")`}},
		// jjm.pm passes on both lists, because the description no longer has them at submission.
		"file_stage_in":        {plain("", `(jjm_staged_in="data")`)},
		"file_stage_in_shared": {plain("", `(jjm_staged_in="data")`)},
		"file_stage_out":       {plain("", `(file_stage_out=("r" "https://h/r"))`), plain("", bring("file_stage_out"))},
		"host_count": {plain("(host_count=1)", "(host_count=2)"), {grid, grid + "(host_count=2)"},
			{"(jjm_job_file=j)", "(jjm_job_file=j)(host_count=2)"}},
	}}
}

// Some RSL attributes repeat a setting of the job file, and others have no meaning for a grid job. jjm rejects both
// beside a job file or jjm_type instead of ignoring them.
func TestGRAM_NothingIsIgnoredBesideAGridJob(t *testing.T) {
	const grid = `(jjm_type=montecarlo)(jjm_params=(command mc)(events 10)(events_per_job 5))`
	for rsl, want := range map[string]string{
		`(jjm_job_file=j)(max_cpu_time=5)`:                         "max_cpu_time: cannot be combined with jjm_job_file",
		`(jjm_job_file=j)(environment=("HOME" "/h") ("A" "b"))`:    "environment: A: cannot be combined with jjm_job_file",
		`(jjm_job_file=j)(job_type=mpi)`:                           "job_type",
		grid + `(job_type=mpi)`:                                    "job_type",
		grid + `(arguments=a)`:                                     "arguments: cannot be combined with jjm_type",
		grid + `(jjm_ouputs=x)`:                                    "jjmouputs: unknown: did you mean jjm_outputs?",
		`(executable=/bin/x)(jjm_nodes=4)`:                         "jjmnodes: unknown",
		`(jjm_job_file=j)(environment=("SCRATCH_DIRECTORY" "/s"))`: "",
	} {
		_, err := readGram(t, rsl)
		if want == "" && err == nil {
			continue
		}
		if want == "" || jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", rsl, err, want)
		}
	}
}

// The list has every attribute that GRAM5 itself accepts (the names in its own list, globus-gram-job-manager 15.8) and
// every attribute that jjm adds to that list. An attribute that is not in the list never reaches jjm.
func TestGRAM_TheListHasEveryAttributeThatGRAMTakes(t *testing.T) {
	theirs := map[string]bool{}
	for _, file := range []string{"../../internal/gatekeeper/gram/testdata/gram5-attributes.rvf", "../../scripts/gram/jjm.rvf"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^Attribute: (\w+)`).FindAllStringSubmatch(string(text), -1) {
			theirs[m[1]] = true
		}
	}
	ours := map[string]bool{}
	for _, w := range gram.Words() {
		ours[w.Name] = true
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("attributes (-GRAM's +listed):\n%s", diff)
	}
}
