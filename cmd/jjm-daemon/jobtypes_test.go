package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tested returns what "jjm job-types test" prints about a type, and its exit code. files are
// those of the type's folder; toy.toml declares it, and toy-job.toml is its job file.
func tested(t *testing.T, files map[string]string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	code := run([]string{"job-types", "test", filepath.Join(dir, "toy.toml"), filepath.Join(dir, "toy-job.toml")}, &out,
		&errs)
	return strings.ReplaceAll(out.String()+errs.String(), dir+"/", ""), code
}

const toy = "name = \"toy\"\nsummary = \"a toy\"\ncommand = [\"true\"]\n[work]\ncount = 2\n"

// A type that packs a file which is not there could run no job, and so could a job file.
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

// program is a type's program in sh with these replies.
func program(describe, plan string) string {
	return "#!/bin/sh\nread -r r\ncase $r in *'\"describe\"'*) " + describe + ";; *) " + plan + ";; esac\n"
}

const (
	describes = `echo '{"protocol": 1, "summary": "a toy", "example": "type = \"toy\""}'`
	plans     = `echo '{"plan": {"rows": [["a"]], "command": ["true"]}}'`
)

// A program that cannot say what its type is fails one check; the others are not tried.
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

// A plan that is another one each time shows one thing in a dry run and does another.
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

// A command line that lacks something is answered with how the command is used, and an example.
func TestRun_AMistakeInTheCommandLineShowsTheUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"job-types test", "jjm job-types test: expected \"<type>\"\nUsage: jjm job-types test <type> [<jobs> ...] [flags]\n" +
			"Example:\n  $ jjm job-types test zmumu.toml zmumu-job.toml=8\n"},
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
