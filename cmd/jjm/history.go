package main

import (
	"flag"
	"fmt"

	"jjm"
	"jjm/wire"
)

// history shows the journal of a job.
type history struct {
	place
	Limit        int
	Orders, JSON bool
	IDs          []string
}

func (h *history) flags(fs *flag.FlagSet) {
	h.place.flags(fs)
	fs.IntVar(&h.Limit, "limit", 0, "At most `N`, the latest; 0 is the daemon's own limit.")
	short(fs, "n", "limit")
	fs.BoolVar(&h.Orders, "orders", false, "What administrators ordered: drain, pause, resume.")
	fs.BoolVar(&h.JSON, "json", false, "One JSON object per line.")
}

func (h *history) take(words []string) { h.IDs = words }

func historyCommand() command {
	return command{
		name: "history", args: "ID|--orders", max: 1, summary: "Every change of a job: when, from what to what, and why",
		detail:  "With --orders instead of an id: what administrators drained, paused and resumed.",
		example: "jjm history 17.3",
		make:    func() verb { return &history{} },
	}
}

func (h *history) run(c *cli) error {
	if h.Orders == (len(h.IDs) > 0) {
		return usage("want the id of a job, such as 17 or 17.3, or --orders")
	}
	if err := checkRefs(h.IDs, false); err != nil {
		return err
	}
	if h.Limit < 0 {
		return usage("--limit %d: want 0 or more", h.Limit)
	}
	a, err := h.ask(c, wire.Request{Verb: wire.VerbHistory, Refs: h.IDs, Orders: h.Orders, Limit: h.Limit})
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
