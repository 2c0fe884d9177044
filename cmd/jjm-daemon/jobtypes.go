package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"jjm"
	"jjm/app"
	"jjm/engine/jobtype"
	"jjm/handlers"
	"jjm/handlers/conformance"
	"jjm/handlers/declared"
)

// jobTypesGroup is what authors of job types need.
type jobTypesGroup struct {
	New  newType  `cmd:"" help:"Write the files of a new job type."`
	Test testType `cmd:"" help:"Hold a job type against what every type must do."`
}

// newType is "jjm job-types new".
type newType struct {
	Name string `arg:"" help:"The word in job files: small letters, digits, - and _."`
	Dir  string `help:"The folder to write into (default: this one)." default:"." placeholder:"DIR"`
	Kind string `help:"toml: one file tells all; python: a program is asked (default: toml)." default:"toml" enum:"toml,python" placeholder:"KIND"`
}

// Help is the rest of its help.
func (newType) Help() string {
	return `It writes NAME.toml, which declares the type, what its local jobs run, and
NAME-job.toml, a job file. They work as they are; change them to what you need. With
--kind python the type is a program, which may be in any language: it is asked over
JSON what it is and how each grid job is done. Nothing that is there is written over.

Example:
  $ jjm job-types new zmumu && jjm job-types test zmumu.toml zmumu-job.toml`
}

// Run writes the files, and says what to do with them.
func (n *newType) Run(stdout io.Writer) error {
	made, err := declared.Begin(n.Dir, n.Name, n.Kind)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "wrote %s\ntry it:\n  $ jjm job-types test %s %s\n  $ jjm run %s --type %s --part 0\n",
		strings.Join(made.All, ", "), made.Type, made.Job, made.Job, made.Type)
	return err
}

// testType is "jjm job-types test".
type testType struct {
	Type   string   `arg:"" help:"A type of the site, or a file *.toml that declares one."`
	Jobs   []string `arg:"" optional:"" help:"Job files that it must accept, besides its example."`
	JSON   bool     `name:"json" help:"One JSON object per check."`
	Config string   `help:"Configuration file (default: $$JJM_CONFIG, else ${config}, else none)." placeholder:"FILE"`
}

// Help is the rest of its help.
func (testType) Help() string {
	return `The checks: is it described, does it accept its own example and the job files,
does it refuse what they may not say, do the parts cover the work exactly once, has
each part a command, the same each time. Nothing is run, and no daemon is needed.

Exit code 0 if all passed, 1 if something failed, 2 if the command line is wrong, 5 if
the type or a job file cannot be read.

Example:
  $ jjm job-types test zmumu.toml zmumu-job.toml`
}

// Run tests the type.
func (t *testType) Run(stdout io.Writer) error {
	h, err := t.handler()
	if err != nil {
		return err
	}
	folder := "."
	var specs []*jjm.Spec
	for _, path := range t.Jobs {
		spec, err := t.spec(path, h)
		if err != nil {
			return err
		}
		specs, folder = append(specs, spec), filepath.Dir(path)
	}
	site := handlers.Site{Open: (&splitJob{File: filepath.Join(folder, "job")}).open, Run: runProgram}
	failed := 0
	own := len(conformance.Checks(h, site))
	for i, check := range conformance.Checks(h, site, specs...) {
		if i >= own {
			check.Name = t.Jobs[i-own]
		}
		findings := findingsOf(check)
		if len(findings) > 0 {
			failed++
		}
		if err := t.tell(stdout, check.Name, findings); err != nil {
			return err
		}
	}
	if failed > 0 {
		return &exit{exitNo, fmt.Errorf("%s of job type %s failed", count(failed, "check"), h.Type())}
	}
	return nil
}

// handler finds the type.
func (t *testType) handler() (handlers.Handler, error) {
	if strings.HasSuffix(t.Type, ".toml") {
		h, problems := declared.Read(t.Type, runProgram)
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
	h, err := types.Get(t.Type)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	return h, nil
}

// spec reads a job file.
func (t *testType) spec(path string, h handlers.Handler) (*jjm.Spec, error) {
	doc, err := (&splitJob{File: path}).read()
	if err != nil {
		return nil, err
	}
	if doc.Spec.Type != h.Type() {
		return nil, jjm.Errorf(jjm.Invalid, "%s: its type is %q, and this is a test of %q", path, doc.Spec.Type, h.Type())
	}
	return &doc.Spec, nil
}

// tell prints one outcome.
func (t *testType) tell(out io.Writer, name string, findings []string) error {
	if t.JSON {
		line, err := json.Marshal(struct {
			Check    string   `json:"check"`
			OK       bool     `json:"ok"`
			Findings []string `json:"findings,omitempty"`
		}{name, len(findings) == 0, findings})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", line)
		return err
	}
	word := "ok  "
	if len(findings) > 0 {
		word = "FAIL"
	}
	_, err := fmt.Fprintf(out, "%s  %s\n", word, name)
	for _, f := range findings {
		_, more := fmt.Fprintf(out, "      %s\n", printable(f))
		err = errors.Join(err, more)
	}
	return err
}

// runProgram runs the program of a type, as this account.
func runProgram(p handlers.Program) (handlers.Ran, error) {
	return jobtype.RunProgram(context.Background(), p)
}

// findings gathers what a check finds.
type findings struct{ texts []string }

// stopped ends a check that cannot go on.
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

// findingsOf runs a check.
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

// count writes a number of things.
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
