package main

import (
	"fmt"
	"slices"
	"strings"

	"jjm/wire"
)

// list shows many grid jobs in a table.
type list struct {
	All    bool   `short:"a" help:"Finished ones too."`
	Status string `placeholder:"WORD" help:"Those in this status, such as failed."`
	Type   string `placeholder:"TYPE" help:"Those of this job type."`
	Owner  string `placeholder:"USER" help:"Those of this user."`
	Limit  int    `short:"n" placeholder:"N" default:"50" help:"At most N, newest first; 50 unless told."`
	Before int64  `placeholder:"ID" help:"Only ids below this one: the next page."`
	JSON   bool   `name:"json" help:"One JSON object per line."`

	place
}

// Run implements the command.
func (l *list) Run(c *cli) error {
	if l.Limit < 1 {
		return usage("--limit %d: want at least 1", l.Limit)
	}
	a, err := ask(c, l.place, wire.VerbList(), wire.ListRequest{List: &wire.List{
		// A status asked for may be a final one.
		All: l.All || l.Status != "", Status: l.Status, Type: l.Type, Owner: l.Owner, Limit: l.Limit, Before: l.Before}})
	if err != nil {
		return err
	}
	if l.JSON {
		return c.printEach(a.Status)
	}
	if len(a.Status) == 0 {
		c.say("no grid jobs%s", map[bool]string{false: " that are not finished; --all shows those too"}[l.All ||
			l.Status != ""])
		return nil
	}
	return c.listTable(a.Status)
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
	rows := [][]string{{"ID", "STATUS", "JOBS", "DONE", "RUNNING", "FAILED", "TYPE", "OWNER", "ACCEPTED", "NAME"}}
	for _, s := range all {
		n := s.Lookup.Counts
		rows = append(rows, []string{s.Lookup.ID.String(), s.Lookup.Status, fmt.Sprint(max(n.Expected, n.Total)),
			fmt.Sprint(n.Completed), fmt.Sprint(n.Running), fmt.Sprint(n.Failed + n.Killed), s.Type, s.Owner,
			clock(s.Accepted), s.Name})
	}
	if slices.ContainsFunc(all, func(s wire.Status) bool { return len(s.Steps) > 0 }) {
		column(rows, "STEPS", func(i int) string { return stepsText(all[i].Steps) })
	}
	return c.table(rows)
}

// column puts a column before the last of a table, which may be long.
func column(rows [][]string, title string, cell func(i int) string) {
	for i := range rows {
		text := title
		if i > 0 {
			text = cell(i - 1)
		}
		rows[i] = slices.Insert(rows[i], len(rows[i])-1, text)
	}
}

// stepsText says how far the steps of a grid job are.
func stepsText(all []wire.Step) string {
	var texts []string
	for _, s := range all {
		texts = append(texts, stepText(s))
	}
	return strings.Join(texts, ", ")
}
