package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

const (
	// mostExamples is the number of causes for which the end of an example's standard error is shown.
	mostExamples = 3
	// endLines is how many lines are shown of the end of an example's standard error, each with at most lastColumns
	// columns.
	endLines    = 5
	lastColumns = 100
	// lastBytes is how many bytes at the end of an example's standard error are requested. examplePatience is the longest
	// wait for these bytes.
	lastBytes       = 4 << 10
	examplePatience = 5 * time.Second
)

// firstCause returns the cause of most failures, "" if nothing failed permanently.
func firstCause(causes []jjm.Cause) string {
	if len(causes) == 0 || causes[0].Again {
		return ""
	}
	return cmp.Or(causes[0].Text, "various")
}

// causeCell returns the cause of most failures, and the grid jobs that repeat the failed work.
func causeCell(st wire.Status) string {
	cause := firstCause(st.Causes)
	if cause == "" || len(st.RecoveredBy) == 0 {
		return cause
	}
	return "recovered by " + plain.IDs(st.RecoveredBy) + "; " + cause
}

// causeRows returns the rows of the causes of a grid job, with the last lines of examples.
func causeRows(causes []jjm.Cause, words map[string][]string) (rows [][2]string) {
	last := ""
	for _, c := range causes {
		title := plain.CauseTitle(c)
		if title == last {
			title = ""
		} else {
			last = title
		}
		rows = append(rows, [2]string{title, plain.Cause(c)})
		rows = append(rows, wordsRows(c.First, words)...)
	}
	return rows
}

// wordsRows returns the rows with the last lines that a local job wrote to standard error. It returns no rows if there
// are no such lines.
func wordsRows(local string, words map[string][]string) (rows [][2]string) {
	for i, line := range words[local] {
		if i == 0 {
			rows = append(rows, [2]string{"",
				fmt.Sprintf("%s ends its standard error with (jjm cat %s --stderr shows all):", local, local)})
		}
		rows = append(rows, [2]string{"", "| " + line})
	}
	return rows
}

// spoken returns the local jobs whose last words are shown with a status: the examples of its causes. If the status is
// about one local job, spoken returns this local job if it failed or is tried again.
func spoken(st wire.Status) []jjm.Cause {
	switch {
	case st.Lookup.Stale:
		return nil
	case len(st.Locals) == 0:
		return st.Causes
	case len(st.Locals) > 1 || st.Locals[0].State != jjm.Failed && st.Locals[0].Phase != jjm.RetryWait:
		return nil
	}
	return []jjm.Cause{{First: st.Locals[0].ID.String()}}
}

// lastWords returns, by id, the last lines that the examples of causes wrote to standard error. Examples that cannot be
// read are left out without an error.
func lastWords(daemon *client.Client, causes []jjm.Cause) map[string][]string {
	ctx, cancel := context.WithTimeout(context.Background(), examplePatience)
	defer cancel()
	words := map[string][]string{}
	for i, c := range causes {
		if i == mostExamples {
			break
		}
		if c.First == "" {
			continue
		}
		if lines := lastLinesOf(ctx, daemon, c.First); len(lines) > 0 {
			words[c.First] = lines
		}
	}
	return words
}

func lastLinesOf(ctx context.Context, daemon *client.Client, local string) []string {
	req := wire.CatRequest{One: wire.OneRef(local), CatFile: wire.CatFile{File: "stderr"}, Tail: lastBytes}
	_, r, err := client.Open(ctx, daemon, wire.VerbCat(), req)
	if err != nil {
		return nil
	}
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(io.LimitReader(r, lastBytes))
	if err != nil {
		return nil
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		// Blanks at the front stay: they place the marks of compilers and interpreters.
		if line = strings.TrimRight(plain.Printable(strings.TrimRight(line, "\r\n")), " "); line != "" {
			lines = append(lines, shorten(line, lastColumns))
		}
	}
	return lines[max(0, len(lines)-endLines):]
}
