package words_test

import (
	"strings"
	"testing"

	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/globus2"
	"jjm/internal/jjm"
)

func readGlobus2(t *testing.T, text string) (call, error) {
	t.Helper()
	if !strings.Contains(text, "grami_directory=") {
		text += "\ngrami_directory='/w'\n"
	}
	g, err := globus2.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	job, err := g.Job()
	if err != nil {
		return call{}, err
	}
	c := call{file: job.JobFile, brought: job.Wants, key: job.Key, credential: job.Proxy}
	if job.JobFile == "" {
		name, file, err := job.Plain.File()
		if err != nil {
			return call{}, err
		}
		c.spec = taken(t, gatekeeper.Job{Name: name, Text: file})
	}
	return c, nil
}

func globus2Language() language {
	plain := func(without, with string) trial {
		return trial{"grami_program='/bin/x'\n" + without, "grami_program='/bin/x'\n" + with}
	}
	set := func(name, value string) []trial { return []trial{plain("", "grami_"+name+"='"+value+"'\n")} }
	env := func(pairs string) string { return "grami_env='" + pairs + "'\n" }
	return language{words: globus2.Words(), read: readGlobus2, heading: "Globus 2", trials: map[string][]trial{
		"grami_program": {{"grami_program='/bin/x'", "grami_program='/bin/y'"}, {"grami_program='x'", "grami_program='y'"}},
		"grami_args":    set("args", `"a" "b c"`),
		"grami_env": {plain("", env(`"A" "b"`)), plain(env(`"A" "b"`),
			env(`"A" "b" "X509_USER_PROXY" "/p"`))},
		"grami_directory": {{"grami_program='x'\ngrami_stdout='o'\ngrami_stdin='i'\ngrami_directory='/w'\n",
			"grami_program='x'\ngrami_stdout='o'\ngrami_stdin='i'\ngrami_directory='/v'\n"}},
		"grami_stdin":  set("stdin", "in.dat"),
		"grami_stdout": set("stdout", "out"),
		"grami_stderr": set("stderr", "err"),
		"grami_count": {plain("", "grami_count='3'\n"), plain("grami_job_type='single'\n",
			"grami_job_type='single'\ngrami_count='3'\n")},
		"grami_job_type":           {plain("grami_count='3'\n", "grami_count='3'\ngrami_job_type='single'\n")},
		"grami_queue":              set("queue", "long"),
		"grami_project":            set("project", "atlas"),
		"grami_max_wall_time":      set("max_wall_time", "60"),
		"grami_max_time":           set("max_time", "60"),
		"grami_max_cpu_time":       set("max_cpu_time", "60"),
		"grami_max_memory":         set("max_memory", "500"),
		"grami_min_memory":         set("min_memory", "500"),
		"grami_uniq_id":            set("uniq_id", "7"),
		"grami_host_count":         set("host_count", "2"),
		"grami_start_time":         set("start_time", "tomorrow"),
		"grami_reservation_handle": set("reservation_handle", "r1"),
		"JJM_JOB_FILE":             {{env(`"JJM_JOB_FILE" "a"`), env(`"JJM_JOB_FILE" "b"`)}},
		"JJM_TAR":                  {{env(`"JJM_JOB_FILE" "a"`), env(`"JJM_JOB_FILE" "a" "JJM_TAR" "t.tar"`)}},
		"JJM_STDOUT": {{env(`"JJM_JOB_FILE" "a"`) + "grami_stdout='o'\n",
			env(`"JJM_JOB_FILE" "a" "JJM_STDOUT" "tar"`) + "grami_stdout='o'\n"}},
	}}
}

// A job that names a job file may not also set what the job file sets: jjm rejects such words instead of ignoring them.
// A variable that starts with jjm's prefix must be a variable that jjm knows.
func TestGlobus2_NothingIsIgnoredBesideAJobFile(t *testing.T) {
	file := func(env, more string) string { return "grami_env='\"JJM_JOB_FILE\" \"j\"" + env + "'\n" + more }
	for text, want := range map[string]string{
		file("", "grami_queue='long'\n"):                    "grami_queue: cannot be combined with JJM_JOB_FILE",
		file("", "grami_count='2'\n"):                       "grami_count: cannot be combined with JJM_JOB_FILE",
		file("", "grami_max_cpu_time='2'\n"):                "grami_max_cpu_time: cannot be combined with JJM_JOB_FILE",
		file(` "A" "b"`, ""):                                `grami_env: "A" cannot be combined with JJM_JOB_FILE`,
		file(` "JJM_TARR" "b"`, ""):                         "JJM_TARR: unknown: did you mean JJM_TAR?",
		file(` "HOME" "/h" "GLOBUS_LOCATION" "/g"`, ""):     "",
		file("", "grami_count='1'\ngrami_program='/x'\n"):   "",
		file("", "grami_max_time='0'\ngrami_queue=''\n"):    "",
		"grami_program='/x'\ngrami_env='\"JJM_X\" \"b\"'\n": "JJM_X: unknown",
	} {
		_, err := readGlobus2(t, text)
		if want == "" && err == nil {
			continue
		}
		if want == "" || jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
