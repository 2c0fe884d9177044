package main

import (
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/publish/report"
)

// printPage prints a report as text.
func (c *cli) printPage(d *report.Data) error {
	_, _ = fmt.Fprintln(c.out, hanging(plain.Printable(d.Title())))
	for _, part := range []struct {
		title string
		rows  [][2]string
	}{
		{"", d.About()},
		{"Ends:", d.Ends()},
		{"Totals over all attempts:", d.Totals()},
		{"Failures by cause:", causeRows(d.Status.Causes, d.Words)},
	} {
		if len(part.rows) == 0 {
			continue
		}
		c.heading(part.title)
		if err := c.facts(part.rows); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		title string
		rows  [][]string
	}{
		{"Requested for each local job, and used by the attempts that ended:", d.Resources()},
		{"Slowest local jobs:", d.Slowest()},
		{"Fastest local jobs:", d.Fastest()},
		{"Hosts, those that differ most from the others first:", d.Hosts()},
		{"Meanwhile:", d.Events()},
	} {
		if len(part.rows) < 2 {
			continue
		}
		c.heading(part.title)
		if err := c.wholeTable(part.rows, "HOST", "COMPARED", "BY"); err != nil {
			return err
		}
	}
	if more := d.MoreHosts(); more != "" {
		_, _ = fmt.Fprintln(c.out, more)
	}
	return nil
}

// heading prints a blank line and the title of a section. It prints nothing if the title is "".
func (c *cli) heading(title string) {
	if title != "" {
		_, _ = fmt.Fprintf(c.out, "\n%s\n", title)
	}
}
