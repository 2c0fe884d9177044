package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// conclude prints how the part ended, where its files are, and what the daemon would decide about a local job with this
// end. It returns an error if the daemon would not count a first attempt with this end as complete. The error has the
// exit code of the command, or 1 if the command exited with 0.
func (w *workplace) conclude(attempt string, result *jjm.Result, stderr io.Writer) error {
	say := func(format string, args ...any) {
		fmt.Fprintf(stderr, "jjm run: %s\n", printable(fmt.Sprintf(format, args...)))
	}
	if result.Error != "" {
		say("%s", result.Error)
	}
	say("part %d ended with exit code %d after %s; its files are in %s, beside %s, %s and %s", w.id.N, result.Exit,
		jjm.HowLong(time.Duration(result.WallMS)*time.Millisecond), filepath.Join(attempt, sandbox.WorkName), sandbox.Stdout,
		sandbox.Stderr, sandbox.GLFName)
	v, warned := w.verdict(result), map[string]bool{}
	for _, n := range v.Notices {
		say("warning: %s", n.Text)
		warned[n.Text] = true
	}
	for _, o := range result.Outputs {
		if text := fmt.Sprintf("output %s: %s", ownName(o), o.Absent); o.Absent != "" && !warned[text] {
			say("%s", text)
		}
	}
	if v.Action == jjm.Complete {
		say("part %d would be completed: %s; %s%s", w.id.N, v.Text, collected(result.Outputs),
			counted(w.part, result.Processed))
		return nil
	}
	would := map[jjm.Action]string{jjm.Retry: "would be tried again", jjm.Hold: "would be held",
		jjm.Fail: "would fail"}[v.Action]
	return &exit{cmp.Or(result.Exit, 1), fmt.Errorf("part %d %s: %s", w.id.N, would, printable(v.Text))}
}

// ownName returns the name by which the application knows an output.
func ownName(o jjm.Output) string { return strings.TrimPrefix(o.Name, sandbox.WorkName+"/") }

// maxCollected is the greatest number of outputs of a part whose names are printed.
const maxCollected = 10

// collected returns the names of the collected outputs as the text "collects ...".
func collected(outputs []jjm.Output) string {
	var names []string
	for _, o := range outputs {
		if o.Absent == "" {
			names = append(names, ownName(o))
		}
	}
	switch n := len(names); {
	case n == 0:
		return "collects no file"
	case n > maxCollected:
		return fmt.Sprintf("collects %s and %d more", strings.Join(names[:maxCollected], ", "), n-maxCollected)
	}
	return "collects " + strings.Join(names, ", ")
}

// counted returns the last clause of the message of conclude: how much of its part the application says that it has
// processed. It returns "" for a part that is a row if the application reports nothing, because the exit code is then
// the report.
func counted(part *jjm.Part, said *jjm.Processed) string {
	own := jjm.CountedAs(part.Unit)
	switch {
	case said == nil && part.Unit == jjm.UnitRow: // the exit code of a row is its report
		return ""
	case said == nil:
		return fmt.Sprintf("; it does not say how much it processed: \"$GBS_LOG\" INFO processed=N %s", own)
	}
	unit := cmp.Or(said.Unit, own)
	of, noun := said.Count, strings.TrimSuffix(unit, "s")
	if unit != own || part.Unit == jjm.UnitRange { // the number of events in the part's files is not known here
		return "; it says that it processed " + jjm.Count(of, noun)
	}
	return fmt.Sprintf("; it says that it processed %d of %s", of, jjm.Count(part.Count, noun))
}
