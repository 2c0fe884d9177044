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
	Limit int
	JSON  bool
	ID    string
}

func (h *history) flags(fs *flag.FlagSet) {
	h.place.flags(fs)
	fs.IntVar(&h.Limit, "limit", 0, "At most `N`, the latest; 0 is the daemon's own limit.")
	short(fs, "n", "limit")
	fs.BoolVar(&h.JSON, "json", false, "One JSON object per line.")
}

func (h *history) take(words []string) { h.ID = words[0] }

func historyCommand() command {
	return command{
		name: "history", args: "ID", min: 1, max: 1, summary: "Every change of a job: when, from what to what, and why",
		example: "jjm history 17.3",
		make:    func() verb { return &history{} },
	}
}

func (h *history) run(c *cli) error {
	if err := checkRefs([]string{h.ID}, false); err != nil {
		return err
	}
	if h.Limit < 0 {
		return usage("--limit %d: want 0 or more", h.Limit)
	}
	a, err := h.ask(c, wire.Request{Verb: wire.VerbHistory, Refs: []string{h.ID}, Limit: h.Limit})
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
	rows := [][]string{{"TIME", "JOB", "FROM", "TO", "BY", "CAUSE"}}
	for _, e := range a.History {
		by := e.Source
		if e.Actor != "" {
			by = e.Actor
		}
		rows = append(rows, []string{clock(e.Time), entryJob(e), e.From, e.To, by, e.Cause})
	}
	return c.table(rows)
}

// entryJob names what changed: the grid job, one of its local jobs, or a range.
func entryJob(e jjm.JournalEntry) string {
	switch {
	case e.First < 0:
		return e.Grid.String()
	case e.First == e.Last:
		return fmt.Sprintf("%d.%d", e.Grid, e.First)
	}
	return fmt.Sprintf("%d.%d-%d", e.Grid, e.First, e.Last)
}
