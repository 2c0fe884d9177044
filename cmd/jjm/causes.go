package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

const (
	// mostExamples is the greatest number of causes whose example, a local job, is shown with the end of its standard
	// error.
	mostExamples = 3
	// lastColumns is how many columns of each line of this end are shown.
	lastColumns = 100
	// examplePatience is the longest wait for the ends of all examples together.
	examplePatience = 5 * time.Second
)

// firstCause returns the most frequent cause for which local jobs failed, "" if none failed permanently.
func firstCause(causes []jjm.Cause) string {
	if len(causes) == 0 || causes[0].Again {
		return ""
	}
	return cmp.Or(causes[0].Text, "various")
}

// againCause returns the most frequent cause for which local jobs are tried again, nil if there is none.
func againCause(causes []jjm.Cause) *jjm.Cause {
	if i := slices.IndexFunc(causes, func(c jjm.Cause) bool { return c.Again }); i >= 0 {
		return &causes[i]
	}
	return nil
}

// causeCell returns the cell of the column CAUSE: the most frequent cause of failures, and the grid jobs that repeat
// the failed work. For a grid job that could not be prepared, it is the reason. If no local job failed permanently, it
// is the next attempt and its reason.
func causeCell(st wire.Status) string {
	cause := firstCause(st.Causes)
	switch again := againCause(st.Causes); {
	case cause == "" && unprepared(&st):
		return plain.Printable(st.Lookup.Message)
	case cause == "" && st.NextAttempts != nil && again != nil:
		return nextText(st.NextAttempts, time.Now()) + ": " + cmp.Or(again.Text, "various")
	}
	if cause == "" || len(st.RecoveredBy) == 0 {
		return cause
	}
	return "recovered by " + plain.IDs(st.RecoveredBy) + "; " + cause
}

// causeRows returns the rows about the causes of failures of a grid job. words are the last lines that the examples of
// the causes wrote to standard error, by id (see lastWords).
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

// wordsRows returns rows with the last lines that a local job wrote to standard error, none if words has no such lines.
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

// spoken returns the causes for which a status shows the last lines of standard error: the causes of the grid job or,
// if the status is about one local job that failed or is tried again, a cause with this local job as its example.
func spoken(st wire.Status) []jjm.Cause {
	switch {
	case st.Lookup.Stale:
		return nil
	case len(st.Locals) == 0:
		return st.Causes
	case len(st.Locals) > 1 || !plain.ShowsErrors(&st.Locals[0]):
		return nil
	}
	return []jjm.Cause{{First: st.Locals[0].ID.String()}}
}

// lastWords requests from the daemon the last lines that the examples of the first mostExamples causes wrote to
// standard error. It returns these lines by the id of the local job. It leaves out examples whose file cannot be read.
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
	_, r, err := client.Open(ctx, daemon, wire.VerbCat(), plain.ErrorRequest(local))
	if err != nil {
		return nil
	}
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(io.LimitReader(r, plain.ErrorBytes))
	if err != nil {
		return nil
	}
	lines := plain.ErrorLines(string(text))
	for i, line := range lines {
		lines[i] = shorten(line, lastColumns)
	}
	return lines
}
