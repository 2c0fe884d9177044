package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"jjm/handlers"
	"jjm/handlers/conformance"
	"jjm/handlers/declared"
	"jjm/handlers/external"
	"jjm/internal/app"
	"jjm/internal/engine/floor/jobtype"
	"jjm/internal/jjm"
)

// jobTypesGroup holds the commands for authors of job types.
type jobTypesGroup struct {
	New  newType  `cmd:"" help:"Write the files of a new job type."`
	Test testType `cmd:"" help:"Check that a job type does what every type must do."`
}

// newType is the command "jjm job-types new", which writes the files of a new job type.
type newType struct {
	Name string `arg:"" help:"The word in job files: small letters, digits, - and _."`
	Dir  string `help:"The folder to write into (default: this one)." default:"." placeholder:"DIR"`
	Kind string `help:"toml: one file declares the type; python: a program answers for it (default: toml)." default:"toml" enum:"toml,python" placeholder:"KIND"`
}

// Help returns the text of --help below the usage.
func (newType) Help() string {
	return `It writes the files of a type that works as it is; change them to what you need:
NAME.toml declares the type, a second file is the program that its local jobs run, and
NAME-job.toml is a job file for a first try. With --kind python the type is a program,
in any language, that answers questions in JSON: what the type is, and how each grid
job is done. Existing files are not overwritten.

Example:
  $ jjm job-types new zmumu && jjm job-types test zmumu.toml zmumu-job.toml`
}

// Run writes the files and prints how to try them.
func (n *newType) Run(stdout io.Writer) error {
	made, err := declared.Begin(n.Dir, n.Name, n.Kind)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "wrote %s\ntry it:\n  $ jjm job-types test %s %s\n  $ jjm run %s --type %s --part 0\n",
		strings.Join(made.All, ", "), made.Type, made.Job, made.Job, made.Type)
	return err
}

// testType is the command "jjm job-types test", which tests a job type.
type testType struct {
	Type   string   `arg:"" help:"A type of the site, or a file *.toml that declares one."`
	Jobs   []string `arg:"" optional:"" help:"Job files that it must accept, besides its example. JOB=8: it must make 8 local jobs of it."`
	JSON   bool     `name:"json" help:"One JSON object per check."`
	Config string   `help:"Configuration file (default: $$JJM_CONFIG, else ${config}, else none)." placeholder:"FILE"`

	run external.Caller // nil runs programs as this account
}

// Help returns the text of --help below the usage.
func (testType) Help() string {
	return `The checks: the type describes itself, accepts its own example and the job files,
refuses what job files must not say, cuts the work into parts that cover it exactly
once, has a command for each part, the same each time and whatever else is asked
meanwhile, and keeps to the site's limit on local jobs. A row that the type drops shows
only against the number of local jobs that you expect: JOB=8. Nothing is run, and no
daemon is needed.

Exit code 0 if all passed, 1 if something failed, 2 if the command line is wrong or names
a job file or a type that is not there, 4 if something failed and a program did not end
in its time, 5 if a file has mistakes.

Example:
  $ jjm job-types test zmumu.toml zmumu-job.toml=8`
}

// Run tests the type.
func (t *testType) Run(stdout io.Writer) error {
	asked := &programs{run: t.run}
	if asked.run == nil {
		asked.run = runProgram
	}
	h, err := t.handler(asked.call)
	if err != nil {
		return err
	}
	folder := "."
	var good []conformance.Good
	for i, arg := range t.Jobs {
		path, parts, err := expected(arg)
		if err != nil {
			return err
		}
		spec, err := t.spec(path, h)
		if err != nil {
			return err
		}
		t.Jobs[i] = path
		good, folder = append(good, conformance.Good{Spec: spec, Parts: parts}), filepath.Dir(path)
	}
	site := handlers.Site{Open: (&splitJob{File: filepath.Join(folder, "job")}).open, Run: asked.call}
	failed := 0
	own := len(conformance.Checks(h, site)) // these checks run first, and then one check for each job file
	unknown := false                        // the type did not describe itself, so the remaining checks cannot be tried
	for i, check := range conformance.Checks(h, site, good...) {
		if i >= own {
			check.Name = t.Jobs[i-own]
		}
		r := testResult{Check: check.Name, NotTried: unknown}
		if !unknown {
			r.Findings = findingsOf(check)
		}
		if r.OK = len(r.Findings) == 0 && !unknown; len(r.Findings) > 0 {
			failed++
		}
		if err := r.print(stdout, t.JSON); err != nil {
			return err
		}
		unknown = len(handlers.Learn(h)) > 0
	}
	switch {
	case failed > 0 && asked.busy.Load():
		return &exit{exitBusy, fmt.Errorf("%s of job type %s failed, and a program did not end in its time: try again",
			count(failed, "check"), h.Type())}
	case failed > 0:
		return &exit{exitNo, fmt.Errorf("%s of job type %s failed", count(failed, "check"), h.Type())}
	}
	return nil
}

// expected returns the path of a job file, and the expected number of its local jobs if the argument contains a number:
// JOB=8.
func expected(arg string) (path string, parts int, err error) {
	at := strings.LastIndexByte(arg, '=')
	if at < 0 {
		return arg, 0, nil
	}
	if parts, err = strconv.Atoi(arg[at+1:]); err != nil || parts < 1 {
		return "", 0, &exit{exitUsage, fmt.Errorf("%s: want a path, or a path and a number of local jobs, such as %s=8", arg,
			arg[:at])}
	}
	return arg[:at], parts, nil
}

// programs runs the programs of types. Its methods may be called from many goroutines.
type programs struct {
	run  external.Caller
	busy atomic.Bool // a program was not run to its end, and a retry can help
}

func (ps *programs) call(p handlers.Program) (handlers.Ran, error) {
	ran, err := ps.run(p)
	if jjm.KindOf(err) == jjm.Busy {
		ps.busy.Store(true)
	}
	return ran, err
}

// handler returns the type of the site, or the type of a file, whose program call runs.
func (t *testType) handler(call external.Caller) (handlers.Handler, error) {
	if strings.HasSuffix(t.Type, ".toml") {
		if _, err := os.Stat(t.Type); err != nil {
			return nil, &exit{exitUsage, fmt.Errorf("type: %w", err)}
		}
		h, problems := declared.Read(t.Type, call)
		if len(problems) == 0 {
			problems = app.Taken(t.Type, h.Type())
		}
		return h, problems.Err()
	}
	config, _, err := app.Load(t.Config, os.Getenv)
	if err != nil {
		return nil, err
	}
	types, problems := config.Types()
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	h, err := types.Registry.Get(t.Type)
	if _, off := h.(*declared.OffType); off {
		return nil, handlers.Learn(h).Err()
	}
	if err == nil {
		return h, nil
	}
	if file := t.Type + ".toml"; fileExists(file) {
		err = fmt.Errorf("%w; did you mean the file %s?", err, file)
	}
	return nil, &exit{exitUsage, err}
}

// fileExists reports whether a path is a regular file.
func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// spec reads a job file and checks that it is of the type.
func (t *testType) spec(path string, h handlers.Handler) (*jjm.Spec, error) {
	doc, wrong, err := (&splitJob{File: path}).read(nil)
	if err = cmp.Or(err, wrong.Err()); err != nil {
		return nil, err
	}
	if doc.Spec.Type != h.Type() {
		return nil, jjm.Errorf(jjm.Invalid, "%s: its type is %q, and this is a test of %q", path, doc.Spec.Type, h.Type())
	}
	return &doc.Spec, nil
}

// testResult is the outcome of one check.
type testResult struct {
	Check    string   `json:"check"`
	OK       bool     `json:"ok"`
	NotTried bool     `json:"not_tried,omitempty"`
	Findings []string `json:"findings,omitempty"`
}

// print prints the outcome.
func (r *testResult) print(out io.Writer, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", line)
		return err
	}
	word := "ok"
	switch {
	case r.NotTried:
		word = "not tried"
	case len(r.Findings) > 0:
		word = "FAILED"
	}
	_, err := fmt.Fprintf(out, "%s: %s\n", word, r.Check)
	for _, f := range r.Findings {
		_, more := fmt.Fprintf(out, "%s%s\n", indent, printable(f))
		err = errors.Join(err, more)
	}
	return err
}

// runProgram runs the program of a type as the account of this process.
func runProgram(p handlers.Program) (handlers.Ran, error) {
	return jobtype.RunProgram(context.Background(), p)
}

// findings collects the mistakes that a check reports. It takes the place of testing.T in the conformance checks.
type findings struct{ texts []string }

// stopped is the panic by which Fatal ends a check.
type stopped struct{}

func (*findings) Helper() {}
func (f *findings) Error(args ...any) {
	f.texts = append(f.texts, strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}
func (f *findings) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}
func (f *findings) Fatal(args ...any) {
	f.Error(args...)
	panic(stopped{})
}
func (f *findings) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(stopped{})
}

// findingsOf runs a check and returns the reported mistakes.
func findingsOf(check conformance.Check) []string {
	f := &findings{}
	func() {
		defer func() {
			if r := recover(); r != nil && r != (any(stopped{})) {
				panic(r)
			}
		}()
		check.Run(f)
	}()
	return f.texts
}

// count returns a number with its noun: "1 check", "2 checks".
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
