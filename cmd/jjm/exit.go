package main

import (
	"context"
	"errors"

	"jjm/internal/api/client"
	"jjm/internal/jjm"
)

// The exit codes; doc.go documents them.
const (
	exitOK          = 0
	exitNo          = 1
	exitUsage       = 2
	exitGone        = 3
	exitUnreachable = 4
	exitRefused     = 5
	exitDenied      = 6
	exitUnfinished  = 7
	exitInternal    = 8
	exitSome        = 9
	exitInterrupted = 130 // 128 + SIGINT, as in shells
)

// exitHelp is the description of the exit codes in jjm --help.
const exitHelp = `Exit codes:
  0  ok                                    5    refused: the job file is wrong
  1  the answer is "no": the job failed    6    denied: another's job, ban, drain,
                                                no administrator
  2  the command line is wrong             7    not finished yet
  3  no such job                           8    anything else
  4  no daemon answers, or it is too busy  9    some succeeded, others were refused
                                           130  interrupted
`

// exit is an error that determines the exit code. If err is nil, no error is printed.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// usage returns the error that the command line is wrong. Its kind is Invalid and its exit code exitUsage.
func usage(format string, args ...any) error {
	return &exit{exitUsage, jjm.Errorf(jjm.Invalid, format, args...)}
}

// codeOf returns the exit code for the error of a command.
func codeOf(err error) int {
	var e *exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case client.IsUnreachable(err) && jjm.KindOf(err) != jjm.Ambiguous:
		return exitUnreachable
	}
	return codeOfKind(jjm.KindOf(err))
}

func codeOfKind(k jjm.Kind) int {
	switch k {
	case jjm.Gone:
		return exitGone
	case jjm.Denied:
		return exitDenied
	case jjm.Busy:
		return exitUnreachable
	case jjm.Invalid:
		return exitUsage
	case jjm.Conflict:
		return exitNo
	}
	return exitInternal
}
