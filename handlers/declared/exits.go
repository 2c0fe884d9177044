package declared

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"jjm"
	"jjm/glf"
	"jjm/handlers"
)

var _ handlers.Analyser = declared{}

// checkExits finds what is wrong with the meanings of exit codes.
func (f *File) checkExits() (problems jjm.Problems) {
	for _, code := range slices.Sorted(maps.Keys(f.OnExit)) {
		bad := func(format string, args ...any) {
			problems = append(problems, jjm.Problem{Field: "on_exit." + code, Text: fmt.Sprintf(format, args...)})
		}
		if n, err := strconv.Atoi(code); err != nil || n < 1 || n > 255 || strconv.Itoa(n) != code {
			bad("%.20q: want an exit code from 1 to 255", code)
		}
		keyword, _, _ := strings.Cut(f.OnExit[code], " ")
		switch {
		case !glf.Terminal(keyword) || strings.ContainsAny(f.OnExit[code], "\n\r\x00"):
			bad("%.60q: want SUCCEEDED, FAILED, RETRY or HOLD, and what it says behind it", f.OnExit[code])
		case keyword == glf.Succeeded && f.Result == jjm.ResultGLF:
			bad("a command that reports by the GBS log file says itself that it succeeded, and with which outputs")
		}
	}
	return problems
}

// Analyse says what the exit code of an attempt means.
func (t declared) Analyse(_ *jjm.Spec, _ *jjm.LocalJob, r *jjm.Result) (keyword, data string) {
	meaning, known := t.file.OnExit[strconv.Itoa(r.Exit)]
	if !known || r.Signal != 0 {
		return "", ""
	}
	keyword, data, _ = strings.Cut(meaning, " ")
	if data = strings.TrimSpace(data); data == "" {
		data = "exit=" + strconv.Itoa(r.Exit)
	}
	if keyword == glf.Succeeded {
		data = "-"
	}
	return keyword, data
}
