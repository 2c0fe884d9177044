package plain

import (
	"strings"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

const (
	// ErrorBytes is the number of bytes at the end of a local job's standard error that are read for people.
	ErrorBytes = 4 << 10
	// errorLines is the number of lines of these bytes that are shown.
	errorLines = 5
)

// ErrorRequest returns the request for the end of the standard error of a local job.
func ErrorRequest(local string) wire.CatRequest {
	return wire.CatRequest{One: wire.OneRef(local), CatFile: wire.CatFile{File: "stderr"}, Tail: ErrorBytes}
}

// ShowsErrors reports whether people are shown the end of the standard error of a local job: it failed, or is tried
// again.
func ShowsErrors(l *jjm.LocalJob) bool { return l.State == jjm.Failed || l.Phase == jjm.RetryWait }

// ErrorLines returns the last lines of a text, printable and without empty lines.
func ErrorLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		// Blanks at the beginning stay: compilers and interpreters use them to point at a place in the line above.
		if line = strings.TrimRight(Printable(strings.TrimRight(line, "\r\n")), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-errorLines):]
}
