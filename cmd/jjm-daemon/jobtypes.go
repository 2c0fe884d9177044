package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"jjm/handlers"
	"jjm/handlers/declared"
	"jjm/internal/engine/floor/jobtype"
)

// jobTypesGroup holds the commands for authors of job types.
type jobTypesGroup struct {
	New  newType  `cmd:"" help:"Write the files of a new job type."`
	Test testType `cmd:"" help:"Check that job types do what every type must do."`
}

// newType is the command "jjm job-types new", which writes the files of a new job type.
type newType struct {
	Name string `arg:"" help:"The word in job files: small letters, digits, - and _."`
	Dir  string `help:"The folder to write into (default: this one)." default:"." placeholder:"DIR"`
	Kind string `help:"toml: one file declares the type; files: the same, for a type that reads input files; python: a program answers for it (default: toml)." default:"toml" enum:"toml,files,python" placeholder:"KIND"`
}

// Help returns the text of --help below the usage.
func (newType) Help() string {
	return `It writes the files of a type that works as it is; change them to what you need:
NAME.toml declares the type, a second file is the program that its local jobs run, and
NAME-job.toml is a job file for a first try. With --kind files the local jobs read the
files of a dataset, and three small files come with it. With --kind python the type is a program,
in any language, that answers questions in JSON: what the type is, and how each grid
job is done. Existing files are not overwritten.

Example:
  $ jjm job-types new zmumu && jjm job-types test zmumu.toml zmumu-job.toml`
}

// Run writes the files of a new job type, and prints how to try them.
func (n *newType) Run(stdout io.Writer) error {
	made, err := declared.Begin(n.Dir, n.Name, n.Kind)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "wrote %s\ntry it:\n  $ jjm job-types test %s %s\n  $ jjm run %s --type %s --part 0\n",
		strings.Join(made.All, ", "), made.Type, made.Job, made.Job, made.Type)
	return err
}

// runProgram runs the program of a job type as the account of this process.
func runProgram(p handlers.Program) (handlers.Ran, error) {
	return jobtype.RunProgram(context.Background(), p)
}
