// Package plain makes the job file of a plain job. A plain job is a program with arguments, an environment and files,
// which every gatekeeper can describe.
//
// A plain job becomes a grid job of the type script. The grid job's result is the exit code of the program, and a
// program that ran is never run again.
package plain

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"jjm/internal/jjm"
)

// Job is a plain job.
type Job struct {
	// Name is for people and is part of the names of collected files. Characters that are
	// not allowed there are replaced.
	Name string
	// Executable is the program. If Stage is set, it is a file on the gatekeeper's host, relative to Folder unless
	// absolute, and is copied to the worker. If Stage is not set, it is a name or a path on the worker.
	Executable string
	Stage      bool
	Arguments  []string
	Env        map[string]string
	// Stdin is a file on the gatekeeper's host that becomes standard input; "" means none.
	Stdin string
	// Merge sends standard error to standard output.
	Merge bool
	// Inputs are further files for the job's directory. Outputs are patterns of files to collect in addition to standard
	// output and error.
	Inputs  []jjm.Input
	Outputs []string
	// Folder is the absolute folder to which relative paths refer.
	Folder string
	// Count is how many times the program is run, each time as a local job; 0 means 1.
	Count int
	// Credentials are the kinds of credentials that the jobs request.
	Credentials []string
	// Request holds the resources that each local job needs.
	Request jjm.Request
	// Clusters are the clusters that may be used. If Clusters is empty, the site's default is used.
	Clusters []string
}

// File returns the name and the text of the job file. The name's ending shows that the text is JSON. The error is of
// kind Invalid if there is no program or a path is wrong.
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

// Spec returns the specification of the grid job. The error is of kind Invalid if there is no program or a path is
// wrong.
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
		name := unusedName(path.Base(program), taken)
		spec.Inputs = append(spec.Inputs, jjm.Input{Path: program, Name: name, Executable: true})
		program = "./" + name
	}
	words := append([]string{program}, j.Arguments...)
	stdin, shell := "-", `exec "$@"`
	if j.Stdin != "" {
		stdin = unusedName("jjm-stdin", taken)
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

// problems returns the mistakes of the job.
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

// inputName returns the name of an input in the job's directory.
func inputName(in jjm.Input) string {
	if in.Name != "" {
		return in.Name
	}
	return path.Base(in.Path)
}

// unusedName returns name, or name with a number if an input already has the name.
func unusedName(name string, taken map[string]bool) string {
	want := name
	for n := 1; taken[name]; n++ {
		name = fmt.Sprintf("%s.%d", want, n)
	}
	taken[name] = true
	return name
}

// nameOf makes a name that a job file may contain: at most 64 characters of A-Z a-z 0-9 _ -. The name has no dot,
// because dots separate the parts of the names of collected files.
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
	if name[0] == '-' { // a name in a job file must not begin with a dash
		name = "_" + name[1:]
	}
	return name[:min(len(name), 64)]
}
