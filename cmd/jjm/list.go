package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// mostListed is the greatest --limit that has an effect: there are no more ids of grid jobs.
const mostListed = math.MaxInt32

// list shows many grid jobs in a table or as CSV.
type list struct {
	All     bool     `short:"a" help:"Those that are over too; so do ids, --status and filters of local jobs."`
	Limit   int      `short:"n" placeholder:"N" default:"50" help:"At most N, newest first; 50 unless told."`
	Before  int64    `placeholder:"ID" help:"Only ids below this one: the next page."`
	Columns string   `placeholder:"NAME,..." help:"These columns, such as id,name,status; an unknown one lists all that there are."`
	Sort    string   `placeholder:"COLUMN" help:"Sort what is shown by this column; :desc reverses, such as failed:desc."`
	CSV     bool     `name:"csv" help:"Print CSV with a header, for spreadsheets."`
	JSON    bool     `name:"json" help:"One JSON object per line."`
	Refs    []string `arg:"" optional:"" name:"ID" help:"Only these grid jobs: 12, name:GLOB; those of local jobs such as 12.3."`

	filters
	place
}

// Help returns the text of --help below the usage.
func (*list) Help() string {
	return "A grid job must match all filters. Filters of local jobs select the grid jobs that have a local job which " +
		"matches all of them. The same filters exist for kill, release, resubmit and remove: docs/SELECTION.md. " +
		"--sort sorts the grid jobs that are shown, which are the newest ones that fit. docs/SEEING.md describes the " +
		"columns and the CSV."
}

// Run implements the command.
func (l *list) Run(c *cli) error {
	if l.Limit < 1 {
		return usage("--limit %d: want at least 1", l.Limit)
	}
	lay, err := l.layout()
	if err != nil {
		return err
	}
	of, err := l.of()
	if err != nil {
		return err
	}
	a, err := ask(c, l.place, wire.VerbList(), wire.ListRequest{List: &of})
	bad := 0
	if client.IsUnreachable(err) {
		a.Status, bad, err = l.offline(c, "list", err).list(of)
	}
	if err != nil {
		return err
	}
	shown := a.Status[:min(l.Limit, len(a.Status))]
	if err := l.print(c, lay, lay.sorted(shown)); err != nil {
		return err
	}
	if len(shown) < len(a.Status) {
		_ = c.out.Flush()
		c.say("there are more: --before %s shows the next ones, --limit more at once", shown[len(shown)-1].Lookup.ID)
	}
	return unreadable(bad)
}

// of returns the request of the command line: the grid jobs to list.
func (l *list) of() (of wire.List, err error) {
	where, err := l.where(l.place)
	if err != nil {
		return of, err
	}
	list, err := patterns(l.Refs, false)
	if err != nil {
		return of, err
	}
	// Grid jobs named by the user may be over, and also grid jobs that a status or a filter of local jobs selects.
	of = wire.List{All: l.All || l.Status != "" || len(list) > 0 || where.OfLocals(), Status: l.Status, Type: l.Type,
		Owner: l.User, Limit: min(l.Limit, mostListed) + 1, Before: l.Before, Refs: list.Words(), Where: where}
	of.Where.Status, of.Where.Type, of.Where.User = "", "", "" // the request has separate fields for these
	return of, nil
}

// print prints the grid jobs: with --json one object per line, with --csv as CSV, otherwise as a table.
func (l *list) print(c *cli, lay layout, all []wire.Status) error {
	if l.JSON {
		return c.printEach(all)
	}
	if l.CSV {
		return c.columnCSV(lay.columns, all)
	}
	if len(all) == 0 {
		c.say("no grid jobs%s", l.noneText())
		return nil
	}
	if lay.columns != nil {
		return c.columnTable(lay.columns, all)
	}
	return c.listTable(all)
}

// noneText returns the end of the message "no grid jobs": which grid jobs were searched for, and the option that shows
// others. It returns "" if the user restricted the list in another way than by --status failed.
func (l *list) noneText() string {
	switch {
	case l.Status == jjm.GridFailed.String():
		return " of which all failed; --status finished shows those of which some local jobs did"
	case l.All || l.Status != "" || len(l.Refs) > 0 || (*selection.Filters)(&l.filters).Any():
		return ""
	}
	return " that are not over; --all shows those too"
}

func (c *cli) printEach(all []wire.Status) error {
	for _, s := range all {
		if err := c.printJSON(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) listTable(all []wire.Status) error {
	rows := [][]string{{"ID", "STATUS", "JOBS", "DONE", "RUNNING", "FAILED", "TYPE", "OWNER", plain.Zoned("ACCEPTED"),
		"NAME"}}
	for _, s := range all {
		n := s.Lookup.Counts
		rows = append(rows, []string{s.Lookup.ID.String(), s.Lookup.Status, fmt.Sprint(max(n.Expected, n.Total)),
			fmt.Sprint(n.Completed), fmt.Sprint(n.Running), fmt.Sprint(n.Failed + n.Killed), s.Type, s.Owner,
			plain.Stamp(s.Accepted), s.Name})
	}
	if slices.ContainsFunc(all, func(s wire.Status) bool { return len(s.Steps) > 0 }) {
		column(rows, "STEPS", func(i int) string { return stepsText(all[i].Steps) })
	}
	if slices.ContainsFunc(all, func(s wire.Status) bool { return len(s.Warnings) > 0 }) {
		column(rows, "WARNINGS", func(i int) string { return warningsText(all[i].Warnings) })
	}
	if slices.ContainsFunc(all, func(s wire.Status) bool { return len(s.Awaited) > 0 }) {
		column(rows, "AFTER", func(i int) string { return plain.IDs(all[i].Awaited) })
	}
	if slices.ContainsFunc(all, func(s wire.Status) bool { return causeCell(s) != "" }) {
		column(rows, "CAUSE", func(i int) string { return causeCell(all[i]) })
	}
	if err := c.table(rows, "TYPE", "OWNER", "STEPS", "NAME", "CAUSE"); err != nil {
		return err
	}
	for _, line := range mendings(all) {
		_, _ = fmt.Fprintln(c.out, line)
	}
	return nil
}

// mendings returns a line with the command for the grid jobs that could not be prepared, and a line for the kept ones
// of these, each with the first grid job as the example.
func mendings(all []wire.Status) (lines []string) {
	for _, kept := range []bool{false, true} {
		jobs := slices.DeleteFunc(slices.Clone(all), func(s wire.Status) bool { return !unprepared(&s) || s.Kept != kept })
		if len(jobs) == 0 || againText(&jobs[0]) == "" {
			continue
		}
		line := "do: " + againText(&jobs[0])
		if more := len(jobs) - 1; more > 0 {
			line += "; and so for " + jjm.Count(more, "other grid job")
		}
		lines = append(lines, line)
	}
	return lines
}

// warningsText returns the number of warnings, or "" for none.
func warningsText(all []wire.Warning) string {
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprint(len(all))
}

// column inserts a column into a table, before its last column, which stays last because its texts may be long. The
// first row has the titles. cell(i) returns the cell for row i+1.
func column(rows [][]string, title string, cell func(i int) string) {
	for i := range rows {
		text := title
		if i > 0 {
			text = cell(i - 1)
		}
		rows[i] = slices.Insert(rows[i], len(rows[i])-1, text)
	}
}

// stepsText returns the texts of all steps of a grid job, separated by commas.
func stepsText(all []wire.Step) string {
	var texts []string
	for _, s := range all {
		texts = append(texts, stepText(s))
	}
	return strings.Join(texts, ", ")
}
