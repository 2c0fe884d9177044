package main

import (
	"fmt"

	"jjm/internal/jjm"
)

// printPage prints a report as text.
func (c *cli) printPage(d *reportData) error {
	_, _ = fmt.Fprintln(c.out, hanging(printable(d.title())))
	for _, part := range []struct {
		title string
		rows  [][2]string
	}{
		{"", d.about()},
		{"Ends:", d.ends()},
		{"Totals over all attempts:", append(d.totals(), [2]string{"restarts", d.restarts()})},
		{"Failures by cause:", causeRows(d.status.Causes, d.words)},
	} {
		if len(part.rows) == 0 {
			continue
		}
		c.heading(part.title)
		if err := c.facts(part.rows); err != nil {
			return err
		}
	}
	slowest, fastest := d.extremes()
	for _, part := range []struct {
		title string
		rows  [][]string
	}{
		{"Slowest local jobs:", attemptRows(slowest)},
		{"Fastest local jobs:", attemptRows(fastest)},
		{"Hosts, those with most failures first:", d.hostRows()},
		{"Meanwhile:", d.eventRows()},
	} {
		if len(part.rows) < 2 {
			continue
		}
		c.heading(part.title)
		if err := c.wholeTable(part.rows, "HOST", "BY"); err != nil {
			return err
		}
	}
	if _, n := d.hosts(); n > 0 {
		_, _ = fmt.Fprintf(c.out, "and %s\n", jjm.Count(n, "other host"))
	}
	return nil
}

// heading prints a blank line and the title of a section; "" prints nothing.
func (c *cli) heading(title string) {
	if title != "" {
		_, _ = fmt.Fprintf(c.out, "\n%s\n", title)
	}
}

func attemptRows(all []reportAttempt) [][]string {
	rows := [][]string{{"LOCAL JOB", "RAN", zoned("STARTED"), "ENDED", "HOST"}}
	for i := range all {
		a := &all[i]
		rows = append(rows, []string{a.id, jjm.HowLong(a.wall()), stamp(a.from), stamp(a.to), a.host})
	}
	return rows
}

func (d *reportData) hostRows() [][]string {
	rows := [][]string{{"ATTEMPTS", "FAILED", "SHARE", "WALL", "HOST"}}
	all, _ := d.hosts()
	for i := range all {
		h := &all[i]
		rows = append(rows, []string{fmt.Sprint(h.ended), fmt.Sprint(h.failed), h.rate(), sumText(h.wall), h.host})
	}
	return rows
}

func (d *reportData) eventRows() [][]string {
	rows := [][]string{{zoned("TIME"), "BY", "WHAT"}}
	for _, e := range d.events() {
		rows = append(rows, []string{e[0], e[2], e[1]})
	}
	return rows
}
