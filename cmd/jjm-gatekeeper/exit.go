package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// The exit codes of the language core. They are the same as those of the command jjm.
const (
	exitOK       = 0
	exitNo       = 1 // the state of the grid job forbids the request
	exitUsage    = 2
	exitGone     = 3 // there is no such grid job
	exitAgain    = 4 // no answer for now: call again
	exitRefused  = 5 // the job file is wrong
	exitDenied   = 6 // the job belongs to another account
	exitInternal = 8
)

// codeOf returns the exit code for an error.
func codeOf(err error) int {
	var ps jjm.Problems
	if errors.As(err, &ps) && jjm.KindOf(err) != jjm.Busy {
		return exitRefused
	}
	switch jjm.KindOf(err) {
	case jjm.Invalid:
		return exitUsage
	case jjm.Gone:
		return exitGone
	case jjm.Busy, jjm.Ambiguous:
		return exitAgain
	case jjm.Denied:
		return exitDenied
	case jjm.Conflict:
		return exitNo
	}
	if err == nil {
		return exitOK
	}
	return exitInternal
}

// say prints a line to standard error, for people. Control characters in texts that come from jobs are escaped.
func (p *process) say(format string, args ...any) {
	_, _ = io.WriteString(p.err, "jjm-gatekeeper: "+oneLine(fmt.Sprintf(format, args...))+"\n")
}

// oneLine returns a text as one line of a protocol. If it contains characters that do not print, they are escaped as in
// Go strings.
func oneLine(s string) string {
	plain := true
	for _, r := range s {
		if r < ' ' || r == 0x7f || r >= 0x80 && !strconv.IsPrint(r) || r == '\ufffd' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	q := strconv.Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
