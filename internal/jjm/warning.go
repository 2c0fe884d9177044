package jjm

import "fmt"

// NoticeKind is the subject of a notice.
type NoticeKind string

// The kinds of notices.
const (
	// NoKeyword: an attempt wrote no keyword into its log, although its job reports its end by the log.
	NoKeyword NoticeKind = "keyword"
	// NoOutput: a local job completed without a requested output.
	NoOutput NoticeKind = "output"
	// LeftOutput: a local job completed, and outputs that it made were left out.
	LeftOutput NoticeKind = "left-out"
	// InputsAgain: a grid job that the notice's grid job waited for, or whose outputs it read, runs again or lost outputs.
	// It is about the whole grid job, and its Warning has no First.
	InputsAgain NoticeKind = "inputs"
	// Further is the text that stands for all notices of a grid job after the first MaxWarnings different notices.
	Further NoticeKind = "further"
)

// Notice is a fact about the end of an attempt, or about the inputs of a grid job, that people should know and that no
// state shows.
type Notice struct {
	Kind NoticeKind `json:"kind"`
	// Text contains no number, so that equal notices of one grid job can be counted together.
	Text string `json:"text"`
}

// Warning is a fact about a grid job that its status does not show and that people should know. It stands for equal
// notices about the ends of attempts, or of kind InputsAgain.
type Warning struct {
	Notice
	// Count is the number of attempts; for NoOutput and LeftOutput the number of local jobs; for InputsAgain how many
	// times it happened.
	Count int `json:"count"`
	// First is the number of the first local job with this notice.
	First int32 `json:"first"`
}

// MaxWarnings limits the different warnings of a grid job. Warnings are stored with the grid job, and jobs must not
// be able to make it grow.
const MaxWarnings = 20

// Warned returns a copy of the warnings to which a notice of a local job is added. An equal notice only raises the
// count.
func Warned(all []Warning, n Notice, local int32) []Warning {
	out := append([]Warning(nil), all...)
	for i := range out {
		if out[i].Notice == n {
			out[i].Count++
			return out
		}
	}
	if n.Kind != Further && len(out) >= MaxWarnings {
		return Warned(out, Notice{Further, "other warnings, which are told with their local jobs"}, local)
	}
	return append(out, Warning{n, 1, local})
}

// Line returns a warning of a grid job for people: "TEXT (3 attempts, such as one of 17.0)", "TEXT (2 local jobs,
// such as 17.0)", "TEXT (3 times)".
func (w Warning) Line(grid GridID) string {
	first := LocalID{Grid: grid, N: w.First}
	if w.Kind == InputsAgain {
		return w.Text + map[bool]string{true: fmt.Sprintf(" (%d times)", w.Count)}[w.Count > 1]
	}
	switch local := w.Kind == NoOutput || w.Kind == LeftOutput; {
	case local && w.Count == 1:
		return fmt.Sprintf("%s (1 local job: %s)", w.Text, first)
	case local:
		return fmt.Sprintf("%s (%d local jobs, such as %s)", w.Text, w.Count, first)
	case w.Count == 1:
		return fmt.Sprintf("%s (1 attempt, of %s)", w.Text, first)
	}
	return fmt.Sprintf("%s (%d attempts, such as one of %s)", w.Text, w.Count, first)
}
