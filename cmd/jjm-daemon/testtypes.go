package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"jjm/handlers"
	"jjm/handlers/conformance"
	"jjm/handlers/declared"
	"jjm/handlers/external"
	"jjm/internal/app"
	"jjm/internal/jjm"
)

// testType is the command "jjm job-types test", which tests job types.
type testType struct {
	Args   []string `arg:"" optional:"" name:"type-or-job" help:"Types of the site, or files *.toml that declare one; and job files that these types must accept, besides their examples. JOB=8: the type must make 8 local jobs of it."`
	All    bool     `help:"Test every type of the site."`
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
only against the number of local jobs that you expect: JOB=8. Below a job file without
such a number stands that it was not checked. Nothing is run, and no daemon is needed.

Several types may be named, and --all means every type of the site: the result is one
table, with a row for each type and the failures below it. A job file is for the type
that it names.

Exit code 0 if all passed, 1 if something failed, 9 if some types failed and others passed,
2 if the command line is wrong or names a job file or a type that is not there, 4 if
something failed and a program did not end in its time, 5 if a file has mistakes.

Example:
  $ jjm job-types test zmumu.toml zmumu-job.toml=8
  $ jjm job-types test zmumu.toml scan.toml
  $ jjm job-types test --all`
}

// Validate returns an error unless the command line names a type or contains --all, and not both. kong calls it after
// parsing.
func (t *testType) Validate() error {
	types, _ := t.sorted()
	switch {
	case !t.All && len(types) == 0:
		return errors.New("want a type, a file that declares one, or --all")
	case t.All && len(types) > 0:
		return fmt.Errorf("--all tests every type of the site: leave out %s", types[0])
	}
	return nil
}

// sorted divides the arguments into types and job files. Without --all, the first argument is a type.
func (t *testType) sorted() (types, jobs []string) {
	for i, arg := range t.Args {
		if i == 0 && !t.All || isType(arg) {
			types = append(types, arg)
		} else {
			jobs = append(jobs, arg)
		}
	}
	return types, jobs
}

// declares matches a line with a key that occurs at the top of files that declare job types, and not of job files.
var declares = regexp.MustCompile(`^(?:summary|command|program)[ \t]*=`)

// isType reports whether an argument means a job type and not a job file: it is the name of a type, or a file that
// declares a type.
func isType(arg string) bool {
	if !fileExists(arg) { // only a regular file is read: a FIFO would wait for a writer
		return !strings.ContainsAny(arg, "./=")
	}
	text, err := os.ReadFile(arg)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") {
			return false
		}
		if declares.MatchString(line) {
			return true
		}
	}
	return false
}

// Run tests the types.
func (t *testType) Run(stdout io.Writer) error {
	types, jobs := t.sorted()
	subjects, err := t.subjects(types)
	if err != nil {
		return err
	}
	for _, arg := range jobs {
		if err := t.assign(arg, subjects); err != nil {
			return err
		}
	}
	report := typeReport{out: stdout, json: t.JSON, several: t.All || len(subjects) > 1}
	for _, s := range subjects {
		if err := s.test(&report); err != nil {
			return err
		}
	}
	return report.end(subjects)
}

// subject is a job type to be tested, with the job files that it must accept and the results of the checks.
type subject struct {
	name     string           // the name of the type, or of its file if the file has mistakes
	handler  handlers.Handler // nil if the file has mistakes
	mistakes jjm.Problems
	asked    *programs
	jobs     []string // paths of the job files, one for each of good
	good     []conformance.Good
	results  []testResult
}

// subjects returns the types to test. If a file that declares a type has mistakes, its subject has the mistakes; if
// this is the only type, subjects returns the mistakes as an error.
func (t *testType) subjects(types []string) (subjects []*subject, err error) {
	if t.All {
		return t.everyType()
	}
	for _, arg := range types {
		s := &subject{name: arg, asked: t.programs()}
		s.handler, err = t.handler(arg, s.asked.call)
		switch {
		case err == nil:
			s.name = s.handler.Type()
		case len(types) == 1 || !errors.As(err, &s.mistakes):
			return nil, err
		}
		if at := slices.IndexFunc(subjects, func(o *subject) bool { return o.name == s.name }); at >= 0 {
			return nil, &exit{exitUsage, fmt.Errorf("%s: the type %s is given twice, by %s before: leave one out", arg,
				s.name, types[at])}
		}
		subjects = append(subjects, s)
	}
	return subjects, nil
}

// everyType returns all types of the site. A type that is off, because its file has mistakes, is among them with these
// mistakes.
func (t *testType) everyType() (subjects []*subject, err error) {
	types, err := t.siteTypes()
	if err != nil {
		return nil, err
	}
	for _, name := range types.Registry.Types() {
		s := &subject{name: name, handler: types.Registry[name], asked: t.programs()}
		if _, off := s.handler.(*declared.OffType); off {
			s.handler, s.mistakes = nil, handlers.Learn(s.handler)
		}
		subjects = append(subjects, s)
	}
	for _, off := range types.Off {
		subjects = append(subjects, &subject{name: off.Type, mistakes: off.Why, asked: t.programs()})
	}
	return subjects, nil
}

// assign adds a job file to the subject whose type the job file names. It returns an error if there is no such subject,
// or if the job file has mistakes.
func (t *testType) assign(arg string, subjects []*subject) error {
	path, parts, err := expected(arg)
	if err != nil {
		return err
	}
	job := &splitJob{File: path}
	doc, wrong, err := job.read(nil)
	if err = cmp.Or(err, wrong.Err()); err != nil {
		return err
	}
	if err := job.inline(&doc.Spec); err != nil {
		return jjm.Errorf(jjm.Invalid, "%s: %w", path, err)
	}
	found := false
	for _, s := range subjects {
		if doc.Spec.Type == s.name || strings.TrimSuffix(filepath.Base(s.name), ".toml") == doc.Spec.Type {
			found, s.jobs = true, append(s.jobs, path)
			s.good = append(s.good, conformance.Good{Spec: &doc.Spec, Parts: parts})
		}
	}
	if found {
		return nil
	}
	names := make([]string, len(subjects))
	for i, s := range subjects {
		names[i] = strconv.Quote(s.name)
	}
	return jjm.Errorf(jjm.Invalid, "%s: its type is %q, and this is a test of %s", path, doc.Spec.Type,
		strings.Join(names, ", "))
}

// test runs all checks of a type, and adds the result of each check to the report. If the type cannot describe itself,
// the later checks are reported as not tried.
func (s *subject) test(report *typeReport) error {
	if s.handler == nil {
		r := testResult{Type: s.name, Check: "the file of the type", Findings: make([]string, len(s.mistakes))}
		for i, p := range s.mistakes {
			r.Findings[i] = p.String()
		}
		return report.add(s, r)
	}
	folder := "."
	if len(s.jobs) > 0 {
		folder = filepath.Dir(s.jobs[len(s.jobs)-1])
	}
	site := handlers.Site{Open: (&splitJob{File: filepath.Join(folder, "job")}).open, Run: s.asked.call}
	own := len(conformance.Checks(s.handler, site)) // these checks run first, and then one check for each job file
	unknown := false                                // the type did not describe itself: skip all other checks
	for i, check := range conformance.Checks(s.handler, site, s.good...) {
		if i >= own {
			check.Name = s.jobs[i-own]
		}
		r := testResult{Type: s.name, Check: check.Name, NotTried: unknown}
		if !unknown {
			r.Findings = findingsOf(check)
		}
		r.OK = len(r.Findings) == 0 && !unknown
		if i >= own && r.OK && s.good[i-own].Parts == 0 {
			r.NotChecked = fmt.Sprintf("number of local jobs not checked: %s=N checks it", s.jobs[i-own])
		}
		if err := report.add(s, r); err != nil {
			return err
		}
		unknown = len(handlers.Learn(s.handler)) > 0
	}
	return nil
}

// failed returns the number of checks that failed.
func (s *subject) failed() int {
	return len(slices.DeleteFunc(slices.Clone(s.results), func(r testResult) bool { return len(r.Findings) == 0 }))
}

// expected returns the path of a job file from an argument, and the expected number of its local jobs, 0 if the
// argument contains no number. JOB=8 means the job file JOB with 8 local jobs.
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

// programs runs the programs of a job type, and remembers whether one of them did not end in its time. Several
// goroutines may call its methods.
type programs struct {
	run  external.Caller
	busy atomic.Bool // a program did not end in its time, so that a retry of the tests may help
}

// programs returns a new programs.
func (t *testType) programs() *programs {
	if t.run != nil {
		return &programs{run: t.run}
	}
	return &programs{run: runProgram}
}

func (ps *programs) call(p handlers.Program) (handlers.Ran, error) {
	ran, err := ps.run(p)
	if jjm.KindOf(err) == jjm.Busy {
		ps.busy.Store(true)
	}
	return ran, err
}

// handler returns the job type that an argument means: the type of a file *.toml, or the type of the site with this
// name. call runs the program of a type that a file declares. The error is of type jjm.Problems if the file has
// mistakes.
func (t *testType) handler(arg string, call external.Caller) (handlers.Handler, error) {
	if strings.HasSuffix(arg, ".toml") {
		if _, err := os.Stat(arg); err != nil {
			return nil, &exit{exitUsage, fmt.Errorf("type: %w", err)}
		}
		h, problems := declared.Read(arg, call)
		if len(problems) == 0 {
			problems = app.Taken(arg, h.Type())
		}
		return h, problems.Err()
	}
	types, err := t.siteTypes()
	if err != nil {
		return nil, err
	}
	h, err := types.Registry.Get(arg)
	if _, off := h.(*declared.OffType); off {
		return nil, handlers.Learn(h).Err()
	}
	if err == nil {
		return h, nil
	}
	if file := arg + ".toml"; fileExists(file) {
		err = fmt.Errorf("%w; did you mean the file %s?", err, file)
	}
	return nil, &exit{exitUsage, err}
}

// siteTypes returns the job types of the site, from its configuration.
func (t *testType) siteTypes() (app.Types, error) {
	config, _, err := app.Load(t.Config, os.Getenv)
	if err != nil {
		return app.Types{}, err
	}
	types, problems := config.Types()
	return types, problems.Err()
}

// fileExists reports whether a path is a regular file.
func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
