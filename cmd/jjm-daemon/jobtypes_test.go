package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	testprograms "jjm/internal/testkit/programs"
)

// tested runs "jjm job-types test" for a job type, and returns the output and the exit code. files are the files of the
// type's folder: toy.toml declares the type, and toy-job.toml is a job file for it.
func tested(t *testing.T, files map[string]string) (string, int) {
	t.Helper()
	return testedFor(t, files, "")
}

// testedFor runs the same command as tested. expected is the number of local jobs that the job file must make, such as
// "=2".
func testedFor(t *testing.T, files map[string]string, expected string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := testprograms.WriteScript(filepath.Join(dir, name), text); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	code := run([]string{"job-types", "test", filepath.Join(dir, "toy.toml"), filepath.Join(dir, "toy-job.toml"+expected)},
		&out, &errs)
	return strings.ReplaceAll(out.String()+errs.String(), dir+"/", ""), code
}

const toy = "name = \"toy\"\nsummary = \"a toy\"\ncommand = [\"true\"]\n[work]\ncount = 2\n"

// "job-types test" fails if the type or the job file needs an input that does not exist, because then no job could run.
func TestJobTypesTest_InputsThatAreMissing(t *testing.T) {
	lost := "[[inputs]]\npath = \"lost.sh\"\n"
	for name, files := range map[string]map[string]string{
		"of the type":     {"toy.toml": toy + lost, "toy-job.toml": "type = \"toy\"\n"},
		"of the job file": {"toy.toml": toy, "toy-job.toml": "type = \"toy\"\n" + lost},
	} {
		out, code := tested(t, files)
		if code != exitNo || !strings.Contains(out, "input lost.sh cannot be packed: open lost.sh: no such file") {
			t.Errorf("%s: exit %d\n%s", name, code, out)
		}
		files["lost.sh"] = "#!/bin/sh\n"
		if out, code := tested(t, files); code != exitOK {
			t.Errorf("%s, which is there: exit %d\n%s", name, code, out)
		}
	}
}

// program returns the program of a job type, in sh. It runs the commands describe if it is asked to describe the type,
// and the commands plan for any other request.
func program(describe, plan string) string {
	return "#!/bin/sh\nread -r r\ncase $r in *'\"describe\"'*) " + describe + ";; *) " + plan + ";; esac\n"
}

const (
	describes = `echo '{"protocol": 1, "summary": "a toy", "example": "type = \"toy\""}'`
	plans     = `echo '{"plan": {"rows": [["a"]], "command": ["true"]}}'`
)

// If a program cannot describe its type, one check fails, and all later checks are not tried.
func TestJobTypesTest_NothingIsTriedOfATypeThatDoesNotDescribeItself(t *testing.T) {
	files := map[string]string{"toy.toml": "name = \"toy\"\nprogram = \"toy.sh\"\n", "toy-job.toml": "type = \"toy\"\n",
		"toy.sh": program("echo hello", plans)}
	out, code := tested(t, files)
	for _, want := range []string{"FAILED: describe", "printed something besides its reply", "not tried: example",
		"not tried: problems", "not tried: calls at once", "not tried: toy-job.toml", "1 check of job type toy failed"} {
		if code != exitNo || !strings.Contains(out, want) {
			t.Errorf("exit %d, want %q\n%s", code, want, out)
		}
	}
	files["toy.sh"] = program(describes, plans)
	if out, code := tested(t, files); code != exitOK {
		t.Errorf("mended: exit %d\n%s", code, out)
	}
}

// "job-types test" finds a program whose plan differs at each call. With such a plan, a dry run would show another plan
// than the one that is carried out.
func TestJobTypesTest_APlanThatDiffersAtEachCall(t *testing.T) {
	out, code := tested(t, map[string]string{"toy.toml": "name = \"toy\"\nprogram = \"toy.sh\"\n",
		"toy-job.toml": "type = \"toy\"\n",
		"toy.sh":       program(describes, `echo '{"plan": {"rows": [["'$$'"]], "command": ["true"]}}'`)})
	want := "asked for its plan twice, the type answers in another way the second time: plan.rows[0] is [\""
	why := "    the same settings must give the same plan: no clock, process id, unseeded random number, order of a set\n"
	if code != exitNo || !strings.Contains(out, want) || !strings.Contains(out, why) {
		t.Errorf("exit %d, want %q and %q\n%s", code, want, why, out)
	}
}

// described is a program's description of a type with two settings: n, a whole number, and word, a text.
const described = `printf %s '{"protocol": 1, "summary": "a toy", ` +
	`"example": "type = \"toy\"\n[params]\nn = 2\nword = \"a\"", ` +
	`"settings": [{"name": "n", "type": "whole number", "required": true, "min": 1, "max": 9, "help": "how many"}, ` +
	`{"name": "word", "type": "text", "required": true, "help": "which"}]}'`

// asks returns the files of the type toy whose program has the settings of described and makes its plans with this
// script. In the script, $r is the request, $n and $word are the settings, and $most is the number of local jobs that
// the site allows.
func asks(plan string) map[string]string {
	get := `get() { printf %s "$r" | sed -n "s/.*\"$1\":\"*\([^,}\"]*\).*/\1/p"; }
rows() { i=0; all=; while [ $i -lt $1 ]; do all="$all${all:+, }[\"$i\"]"; i=$((i+1)); done; printf %s "$all"; }
reply() { echo '{"plan": {"rows": ['"$1"'], "command": ["echo", "'"$2"'", "{args}"]}}'; }
read -r r
n=$(get n); word=$(get word); most=$(get max_local_jobs)
case $r in *'"verb":"describe"'*) ` + described + `; exit;; esac
refused() { echo '{"problems": [{"field": "params.n", "text": "the site allows '$most'"}]}'; exit; }
`
	return map[string]string{"toy.toml": "name = \"toy\"\nprogram = \"toy.sh\"\n",
		"toy-job.toml": "type = \"toy\"\n[params]\nn = 3\nword = \"b\"\n", "toy.sh": "#!/bin/sh\n" + get + plan + "\n"}
}

const heeds = `[ $n -le $most ] || refused
`

// "job-types test" finds the mistakes of a program with the worst consequences: it drops a row, it ignores the site's
// limit, or it remembers earlier calls.
func TestJobTypesTest_FindsWhatProgramsDoWrong(t *testing.T) {
	const right = heeds + `reply "$(rows $n)" "$word"`
	for name, c := range map[string]struct{ plan, expected, check, want string }{
		"right": {plan: right, expected: "=3"},
		"a row is dropped": {heeds + `reply "$(rows $((n > 1 ? n - 1 : n)))" "$word"`, "=3", "toy-job.toml",
			"the type makes 2 local jobs, want 3"},
		"the limit is ignored": {`reply "$(rows $n)" "$word"`, "=3", "toy-job.toml",
			"where the site allows 2 local jobs (site.max_local_jobs of the request), the program still plans 3"},
		"a file keeps the last request": {heeds + `[ -e last ] && word=$(cat last)
get word >last; reply "$(rows $n)" "$word"`, "=3", "calls at once",
			"asked for the plans of several jobs in turn, the type mixes them up"},
		"a file is shared by calls at once": {heeds + `get word >word.$$; mv word.$$ shared
mkdir calls 2>/dev/null; : >calls/$$
i=0; while [ $i -lt 8 ] && [ "$(ls calls | wc -l)" -lt 2 ]; do sleep 0.01; i=$((i+1)); done # provoked: calls at once meet
word=$(cat shared); rm calls/$$; reply "$(rows $n)" "$word"`, "=3", "calls at once",
			"asked for the plans of several jobs at once, the type mixes them up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, code := testedFor(t, asks(c.plan), c.expected)
			if c.want == "" && code == exitOK {
				return
			}
			if code != exitNo || !strings.Contains(out, "FAILED: "+c.check+"\n") || !strings.Contains(out, c.want) {
				t.Errorf("exit %d, want %q of %q\n%s", code, c.want, c.check, out)
			}
		})
	}
}

// If a file declares the type, jjm itself makes the local jobs and keeps the site's limit. Therefore the only possible
// mistake is that the job file makes fewer local jobs than expected.
func TestJobTypesTest_ADeclaredTypeThatMakesTooFew(t *testing.T) {
	out, code := testedFor(t, map[string]string{"toy.toml": toy, "toy-job.toml": "type = \"toy\"\n"}, "=3")
	if code != exitNo || !strings.Contains(out, "the type makes 2 local jobs, want 3") {
		t.Errorf("exit %d\n%s", code, out)
	}
	out, code = testedFor(t, map[string]string{"toy.toml": toy, "toy-job.toml": "type = \"toy\"\n"}, "=2")
	if code != exitOK {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// A type that drops a row agrees with itself. Therefore the output says that the number of local jobs was not checked
// if the command line does not name the number.
func TestJobTypesTest_SaysThatTheNumberOfLocalJobsWasNotChecked(t *testing.T) {
	const note = "    number of local jobs not checked: toy-job.toml=N checks it\n"
	dropping := asks(heeds + `reply "$(rows $((n > 1 ? n - 1 : n)))" "$word"`)
	if out, code := tested(t, dropping); code != exitOK || !strings.Contains(out, "ok: toy-job.toml\n"+note) {
		t.Errorf("exit %d\n%s", code, out)
	}
	if out, code := testedFor(t, dropping, "=2"); code != exitOK || strings.Contains(out, "not checked") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// If the command line has a mistake, the error shows the usage of the command and an example.
func TestRun_AMistakeInTheCommandLineShowsTheUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"job-types test", "jjm job-types test: want a type, a file that declares one, or --all\n" +
			"Usage: jjm job-types test [<type-or-job> ...] [flags]\nExample:\n  $ jjm job-types test zmumu.toml zmumu-job.toml=8\n"},
		{"job-types new", "$ jjm job-types new zmumu &&"},
		{"clusters test", "$ sudo -u jjm jjm clusters test farm --patience 1h"},
		{"run job.toml", "jjm run: missing flags: --part=N\nUsage: jjm run --part=N <file> [flags]\nExample:\n  $ jjm run job.toml"},
	} {
		var out, errs bytes.Buffer
		if code := run(strings.Fields(c.args), &out, &errs); code != exitUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("jjm %s: exit %d, want %q\n%s", c.args, code, c.want, errs.String())
		}
	}
}
