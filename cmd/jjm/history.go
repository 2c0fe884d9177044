package main

import (
	"fmt"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// history shows the journal of a job.
type history struct {
	Limit  int      `short:"n" placeholder:"N" help:"At most N, the latest; 0 is the daemon's own limit."`
	Orders bool     `help:"The site: orders, starts of the daemon, outages of clusters."`
	JSON   bool     `name:"json" help:"One JSON object per line."`
	IDs    []string `arg:"" optional:"" name:"ID" help:"Grid jobs or local jobs."`

	place
}

// Help returns the text of --help below the usage.
func (*history) Help() string {
	return "For a local job, its attempts follow, with --json as objects that have the member attempt: where and how " +
		"long each ran, what it used, and how it was judged: what became of the local job, the level that decided, " +
		"and the class of failures that it counts in. With --orders instead of an id, it shows what administrators " +
		"drained, paused and resumed, when the daemon started, and outages of clusters that lasted a minute or longer."
}

// Run implements the command.
func (h *history) Run(c *cli) error {
	if h.Orders == (len(h.IDs) > 0) {
		return usage("want ids of jobs, such as 17 or 17.3, or --orders")
	}
	if h.Limit < 0 {
		return usage("--limit %d: want 0 or more", h.Limit)
	}
	if h.Orders {
		return h.show(c)
	}
	ids, err := h.named(c, "history", h.IDs, false, true)
	if err != nil {
		return err
	}
	return c.forEach(ids, func(id string) error {
		if id != ids[0] && !h.JSON {
			_ = c.out.WriteByte('\n')
		}
		return h.show(c, id)
	})
}

// show prints the journal of one job, or the journal of orders.
func (h *history) show(c *cli, refs ...string) error {
	a, err := ask(c, h.place, wire.VerbHistory(),
		wire.HistoryRequest{Many: wire.Refs(refs...), Orders: h.Orders, Limit: h.Limit})
	if client.IsUnreachable(err) && !h.Orders {
		a.History, err = h.offline(c, "history", err).history(refs[0], h.Limit)
	}
	if err != nil {
		return err
	}
	if h.JSON {
		return h.printJSON(c, a)
	}
	if len(a.History) == 0 && h.Orders {
		c.say("nothing so far: no order of an administrator, no start of the daemon, no outage of a cluster")
		return nil
	}
	if err := c.historyTable(a.History); err != nil || len(a.Attempts) == 0 {
		return err
	}
	_ = c.out.WriteByte('\n')
	return c.attemptTable(a.Attempts)
}

// printJSON prints each change of an answer, and then each attempt, as an object on its own line.
func (h *history) printJSON(c *cli, a wire.HistoryAnswer) error {
	for _, e := range a.History {
		if err := c.printJSON(e); err != nil {
			return err
		}
	}
	for _, one := range a.Attempts {
		if err := c.printJSON(one); err != nil {
			return err
		}
	}
	return nil
}

// historyTable prints the entries of a journal as a table. Their causes are not cut, because people look for the
// causes.
func (c *cli) historyTable(entries []jjm.JournalEntry) error {
	rows := [][]string{{plain.Zoned("TIME"), "JOB", "FROM", "TO", "BY", "CAUSE"}}
	for _, e := range entries {
		by := e.Source
		if e.Actor != "" {
			by = e.Actor
		}
		rows = append(rows, []string{plain.TableClock(e.Time), entryJob(e), e.From, e.To, by, e.Cause})
	}
	return c.wholeTable(rows, "BY")
}

// entryJob returns the jobs that an entry of the journal is about: a grid job, one of its local jobs, or a range of
// them. It returns "" for an order of an administrator.
func entryJob(e jjm.JournalEntry) string {
	switch {
	case e.Grid == 0:
		return ""
	case e.First < 0:
		return e.Grid.String()
	case e.First == e.Last:
		return fmt.Sprintf("%d.%d", e.Grid, e.First)
	}
	return fmt.Sprintf("%d.%d-%d", e.Grid, e.First, e.Last)
}

// attemptTable prints a line for each attempt of a local job.
func (c *cli) attemptTable(all []wire.Attempt) error {
	rows := [][]string{{"ATTEMPT", "BATCH JOB", "HOST", plain.Zoned("STARTED"), "ENDED", "RAN", "CPU", "MIB", "EXIT",
		"VERDICT"}}
	for i := range all {
		a := &all[i]
		row := []string{fmt.Sprint(a.Attempt), a.Batch, a.Host, plain.Stamp(a.Started), plain.Stamp(a.Ended), "", "", "", "",
			verdictText(a.Verdict)}
		if u := a.Used; u != nil {
			row[5], row[6] = plain.Milliseconds(u.WallMS), plain.Milliseconds(u.UserMS+u.SysMS)
			row[7] = fmt.Sprint((u.MaxRSSKB + 1023) >> 10)
		}
		if a.Exit >= 0 && a.Ended != 0 {
			row[8] = fmt.Sprint(a.Exit)
		}
		rows = append(rows, row)
	}
	return c.wholeTable(rows, "BATCH JOB", "HOST")
}

// verdictText returns a verdict as text, with its level, its class and its reason: "retry (EXIT, EARLY): exit code 3".
// Without a verdict it returns "not over".
func verdictText(v *jjm.Verdict) string {
	if v == nil {
		return "not over"
	}
	by := v.Level
	if v.Class != "" {
		by += ", " + v.Class
	}
	return fmt.Sprintf("%s (%s): %s", v.Action, by, v.Text)
}
