package jobfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
	"jjm/internal/work/stream"
)

// The limits of merging. The names of more than maxMergeFiles files would not fit on a command line. A wait of more
// than a year is treated as a mistake.
const (
	maxMergeFiles    = 10_000
	maxMergeWait     = 365 * 24 * time.Hour
	maxMergeAttempts = 100
)

// merge checks the settings for merging outputs, and sets the defaults.
func (c *checker) merge(m *jjm.Merge) {
	if m == nil {
		return
	}
	switch {
	case m.Concat && m.Command != nil:
		c.problem("merge.concat", "give either concat or command, not both")
	case m.Command != nil:
		c.program("merge.command", m.Command)
	case !m.Concat:
		c.problem("merge", `does not say how to merge: give command = ["hadd", "{output}", "{files}"], or concat = true`)
	}
	if m.Output == "" {
		m.Output = jjm.MergeOutput
	}
	if !stream.IsTemplate(m.Output) && (!wordForm.matches(m.Output) || m.Output[0] == '-') {
		c.problem(
			"merge.output", "%.40q: want a plain file name: 1 to 64 of the characters A-Z a-z 0-9 . _ -, no dot or - in front",
			m.Output)
	}
	within := func(field string, n *int64, most, or int64) {
		switch {
		case *n == 0:
			*n = or
		case *n < 1 || *n > most:
			c.problem("merge."+field, "%d is out of range: want 1 to %d", *n, most)
		}
	}
	files, attempts, wait := int64(m.Files), int64(m.Attempts), int64(m.MaxWait)
	within("files", &files, maxMergeFiles, jjm.MergeFiles)
	within("attempts", &attempts, maxMergeAttempts, jjm.MergeAttempts)
	within("bytes", &m.Bytes, maxNumber, jjm.MergeBytes)
	within("events", &m.Events, maxNumber, jjm.MergeEvents)
	if wait == 0 {
		wait = int64(jjm.MergeWait)
	}
	if d := time.Duration(wait); d < time.Second || d > maxMergeWait {
		c.problem("merge.max_wait", "%s is out of range: want 1s to %s", jjm.Duration(d),
			jjm.Duration(maxMergeWait))
	}
	c.apart(m.Apart)
	m.Files, m.Attempts, m.MaxWait = int(files), int(attempts), jjm.Duration(wait)
}

// apart checks the words by which outputs are kept apart.
func (c *checker) apart(words []string) {
	all := jjm.ApartWords()
	for i, w := range words {
		field := fmt.Sprintf("merge.apart[%d]", i)
		switch near := nearest.Of(w, all); {
		case slices.Contains(words[:i], w):
			c.problem(field, "%.40q is there twice: leave one of them out", w)
		case slices.Contains(all, w):
		case near != "":
			c.problem(field, "%.40q: did you mean %s?", w, near)
		default:
			c.problem(field, "%.40q: outputs are kept apart by %s", w, strings.Join(all, ", "))
		}
	}
}
