package main

import (
	"fmt"

	"jjm"
	"jjm/wire"
)

// history shows the journal of a job.
type history struct {
	Limit  int    `short:"n" placeholder:"N" help:"At most N, the latest; 0 is the daemon's own limit."`
	Orders bool   `help:"What administrators ordered: drain, pause, resume."`
	JSON   bool   `name:"json" help:"One JSON object per line."`
	ID     string `arg:"" optional:"" name:"ID" help:"A grid job or a local job."`

	place
}

// Help is the rest of its help.
func (*history) Help() string {
	return "With --orders instead of an id: what administrators drained, paused and resumed."
}

// Run implements the command.
func (h *history) Run(c *cli) error {
	if h.Orders == (h.ID != "") {
		return usage("want the id of a job, such as 17 or 17.3, or --orders")
	}
	var refs []string
	if h.ID != "" {
		refs = []string{h.ID}
	}
	if err := checkRefs(refs, false); err != nil {
		return err
	}
	if h.Limit < 0 {
		return usage("--limit %d: want 0 or more", h.Limit)
	}
	a, err := ask(c, h.place, wire.VerbHistory(), wire.HistoryRequest{Refs: refs, Orders: h.Orders, Limit: h.Limit})
	if err != nil {
		return err
	}
	if h.JSON {
		for _, e := range a.History {
			if err := c.printJSON(e); err != nil {
				return err
			}
		}
		return nil
	}
	return c.historyTable(a.History)
}

func (c *cli) historyTable(entries []jjm.JournalEntry) error {
	rows := [][]string{{"TIME", "JOB", "FROM", "TO", "BY", "CAUSE"}}
	for _, e := range entries {
		by := e.Source
		if e.Actor != "" {
			by = e.Actor
		}
		rows = append(rows, []string{clock(e.Time), entryJob(e), e.From, e.To, by, e.Cause})
	}
	return c.table(rows)
}

// entryJob names what changed: the grid job, one of its local jobs, or a range;
// nothing for an order.
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
