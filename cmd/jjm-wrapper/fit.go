package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// roomForGLF is the greatest length, in bytes, of the log in a result. JSON may need six bytes for one byte ("\u0000"),
// and the outputs need space too.
const roomForGLF = 256 << 10

// fit shortens a result to the length that PutResult accepts. It cuts the middle of the log. If there are more outputs
// than a separate file may contain, it replaces the last outputs by one entry that counts them.
func fit(r *jjm.Result) {
	r.Error = clip(r.Error, 16<<10)
	r.GLF = shorten(r.GLF, roomForGLF)
	all := r.Outputs
	r.Outputs = nil
	for room := roomForGLF; size(r) > sandbox.MaxResult && room > 4<<10; {
		room /= 2
		r.GLF = shorten(r.GLF, room)
	}
	r.Outputs = all
	keep := len(all)
	for keep > sandbox.MaxOutputs-1 || size(r.Outputs) > sandbox.MaxOutputList {
		keep = min(keep*3/4, sandbox.MaxOutputs-1)
		r.Outputs = append(all[:keep:keep], tooMany(all[keep:]))
	}
}

// tooMany returns the entry that replaces outputs that do not fit in a result.
func tooMany(rest []jjm.Output) jjm.Output {
	return jjm.Output{Name: "...", Absent: fmt.Sprintf("%d more outputs: too many to report", len(rest)),
		Left: jjm.LeftTooMany, Files: int64(len(rest)),
		Optional: !slices.ContainsFunc(rest, func(o jjm.Output) bool { return !o.Optional })}
}

// size returns the length of a result, or of a list of outputs, as a file.
func size(r any) int {
	b, err := json.Marshal(r)
	if err != nil {
		return 0 // PutResult will return this error
	}
	return len(b) + 1
}

// shorten shortens a text to n bytes: it keeps the first line, which is the wrapper's start record, and as many whole
// lines at the end as fit.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head := text[:n/4]
	if i := strings.IndexByte(head, '\n'); i >= 0 {
		head = head[:i+1]
	} else {
		head = head[:len(head)-1] + "\n"
	}
	tail := text[len(text)-(n-len(head)):]
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)-1 {
		tail = tail[i+1:]
	}
	return head + tail
}

// clip cuts a text to at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
