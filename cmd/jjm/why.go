package main

import (
	"fmt"
	"slices"
	"strings"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// whyJobs shows what unfinished jobs wait for.
type whyJobs struct {
	JSON bool     `name:"json" help:"One JSON object per line."`
	Refs []string `arg:"" name:"ID" help:"Grid jobs or local jobs."`

	place
}

// Help returns the text of --help below the usage.
func (*whyJobs) Help() string {
	return "Every local job that has not ended has one cause: what it waits for, or what is being done. Local jobs " +
		"with the same cause are shown together, with their number, the time since when, and one of them as an " +
		"example. Causes that need a person come first, with what to do. docs/WORDS.md explains the word of each " +
		"cause. jjm why 17.3 shows the cause of one local job, or how and when it ended; jjm explain 17.3 " +
		"shows why an attempt that ended failed. " +
		"While no daemon answers, the records answer with what they know, and the time of it. A request that waits in " +
		"the spool is shown by its handle."
}

// Run carries out jjm why.
func (w *whyJobs) Run(c *cli) error {
	refs, err := w.named(c, "why", w.Refs, false, true)
	if err != nil {
		return err
	}
	a, err := ask(c, w.place, wire.VerbWhy(), wire.WhyRequest{Many: wire.Refs(refs...)})
	if client.IsUnreachable(err) {
		a.Why, err = w.offline(c, "why", err).why(refs)
	}
	if err != nil {
		return err
	}
	if len(a.Why) != len(refs) {
		return jjm.Errorf(jjm.Internal, "why: %d answers for %d ids", len(a.Why), len(refs))
	}
	var first error
	for i, one := range a.Why {
		if one.Error != nil && first == nil {
			first = one.Error.Err()
		}
		if err := w.print(c, refs[i], one, i > 0); err != nil {
			return err
		}
	}
	return first
}

// print prints the answer for one reference. It prints the error of an answer only if there are several references,
// because the error for a single reference ends the command. If blank is set, a blank line comes before the answer.
func (w *whyJobs) print(c *cli, ref string, one wire.Why, blank bool) error {
	switch {
	case w.JSON:
		return c.printJSON(one)
	case one.Error != nil && len(w.Refs) == 1:
		return nil
	case one.Error != nil:
		_, err := fmt.Fprintf(c.out, "%s error %s %s\n", field(ref), one.Error.Kind, plain.Printable(one.Error.Text))
		return err
	}
	if blank {
		_ = c.out.WriteByte('\n')
	}
	return c.printWhy(ref, one)
}

// printWhy prints the causes for which the jobs of a reference wait.
func (c *cli) printWhy(ref string, one wire.Why) error {
	_, _ = fmt.Fprintf(c.out, "%s %s", field(ref), one.Status)
	if one.Unfinished > 0 {
		_, _ = fmt.Fprintf(c.out, ", %d of %s not ended", one.Unfinished, jjm.Count(one.Total, "local job"))
	}
	_, _ = c.out.WriteString(":\n")
	var rows [][2]string
	causes := slices.Clone(one.Causes)
	if one.Grid != nil {
		causes = slices.Insert(causes, 0, *one.Grid)
	}
	at := len(causes)
	if one.Unfinished == 0 {
		at = 0 // all are over: their ends come first, because the cause of the grid job does not explain them
	}
	for _, cause := range slices.Insert(causes, at, one.Ended...) {
		rows = append(rows, causeLines(cause)...)
	}
	if one.LeftOut > 0 {
		rows = append(rows, [2]string{"others", jjm.Count(one.LeftOut, "local job") + " with other causes"})
	}
	if len(rows) == 0 {
		rows = [][2]string{{"none", "no local job of these waits for anything"}}
	}
	return c.facts(rows)
}

// causeLines returns the rows about a cause: its word with its text and, if there is one, the remedy.
func causeLines(cause wire.Cause) [][2]string {
	var about []string
	if cause.Jobs > 0 {
		about = append(about, jjm.Count(cause.Jobs, "local job"))
	}
	if cause.Since != 0 {
		about = append(about, "since "+cause.Since.Local())
	}
	if cause.Until != 0 {
		about = append(about, "until "+cause.Until.Local())
	}
	if cause.Jobs > 1 {
		about = append(about, "such as "+cause.First)
	}
	text := cause.Text
	if len(about) > 0 {
		text = strings.Join(about, ", ") + ": " + text
	}
	rows := [][2]string{{cause.Code, text}}
	if cause.Remedy != "" {
		rows = append(rows, [2]string{"", "do: " + cause.Remedy})
	}
	return rows
}
