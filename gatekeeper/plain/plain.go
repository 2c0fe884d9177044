// Package plain makes a job file of a plain job: the kind that every gatekeeper
// knows, a program with arguments, an environment and files. It becomes a grid
// job of the type script that reports by its exit code, which is that of the
// program, and a program that ran is never run again.
package plain

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"jjm"
)

// Job is a plain job.
type Job struct {
	// Name is for people and for the names of collected files; what does not fit
	// there is replaced.
	Name string
	// Executable is the program. With Stage it is a file here, relative to
	// Folder unless absolute, that is brought to the worker; else it is a name
	// or path there.
	Executable string
	Stage      bool
	Arguments  []string
	Env        map[string]string
	// Stdin is a file here that becomes standard input; "" is none.
	Stdin string
	// Merge sends standard error into standard output.
	Merge bool
	// Inputs are further files for the job's directory, Outputs patterns of
	// files to collect besides standard output and error.
	Inputs  []jjm.Input
	Outputs []string
	// Folder is the absolute folder that relative paths start from.
	Folder string
	// Count is how many times the program is run, each a local job; 0 is once.
	Count int
	// Credentials are the kinds of credentials that they want.
	Credentials []string
	// Request is what each of them needs.
	Request jjm.Request
	// Clusters that may be used; none: the site's default.
	Clusters []string
}

// File returns the job file, whose name says that it is JSON. The error is
// Invalid: there is no program, or a path is not what it must be.
func (j *Job) File() (name, text string, err error) {
	spec, err := j.Spec()
	if err != nil {
		return "", "", err
	}
	b, err := json.Marshal(spec)
	if err != nil {
		return "", "", jjm.Errorf(jjm.Internal, "plain job: %w", err)
	}
	return "plain.json", string(b), nil
}

// Spec returns the grid job.
func (j *Job) Spec() (jjm.Spec, error) {
	if problems := j.problems(); len(problems) > 0 {
		return jjm.Spec{}, problems.Err()
	}
	spec := jjm.Spec{
		Type: "script", Name: nameOf(j.Name), Result: jjm.ResultExit, Request: j.Request, Clusters: j.Clusters,
		Env: maps.Clone(j.Env), Inputs: append([]jjm.Input(nil), j.Inputs...), Outputs: j.Outputs, Credentials: j.Credentials,
	}
	taken := map[string]bool{}
	for _, in := range spec.Inputs {
		taken[inputName(in)] = true
	}
	program := j.Executable
	if j.Stage {
		name := free(path.Base(program), taken)
		spec.Inputs = append(spec.Inputs, jjm.Input{Path: program, Name: name, Executable: true})
		program = "./" + name
	}
	words := append([]string{program}, j.Arguments...)
	stdin, shell := "-", `exec "$@"`
	if j.Stdin != "" {
		stdin = free("jjm-stdin", taken)
		spec.Inputs = append(spec.Inputs, jjm.Input{Path: j.Stdin, Name: stdin})
		shell += ` < "$0"`
	}
	if j.Merge {
		shell += ` 2>&1`
	}
	if j.Stdin != "" || j.Merge {
		words = append([]string{"/bin/sh", "-c", shell, stdin}, words...)
	}
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "{", "{{")
	}
	spec.Params = map[string]any{"command": words}
	if j.Count > 1 {
		spec.Params["count"] = j.Count
	}
	return spec, nil
}

func (j *Job) problems() jjm.Problems {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if j.Executable == "" {
		bad("executable", "is missing: name the program")
	}
	if j.Count < 0 {
		bad("count", "%d: want 1 or more", j.Count)
	}
	if !filepath.IsAbs(j.Folder) {
		bad("directory", "%.80q: want an absolute path", j.Folder)
	}
	for _, text := range append([]string{j.Executable, j.Stdin}, j.Arguments...) {
		if strings.ContainsRune(text, 0) {
			bad("arguments", "%.40q: NUL cannot be passed to a program", text)
		}
	}
	return ps
}

func inputName(in jjm.Input) string {
	if in.Name != "" {
		return in.Name
	}
	return path.Base(in.Path)
}

// free returns a name that no input has.
func free(name string, taken map[string]bool) string {
	want := name
	for n := 1; taken[name]; n++ {
		name = fmt.Sprintf("%s.%d", want, n)
	}
	taken[name] = true
	return name
}

// nameOf makes a name as a job file may hold it: at most 64 of A-Z a-z 0-9 . _ -,
// no dot in front, and no dot at all, because the names of collected files are
// read by them.
func nameOf(s string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '_'
	}, s)
	if name == "" {
		return "plain"
	}
	return name[:min(len(name), 64)]
}
