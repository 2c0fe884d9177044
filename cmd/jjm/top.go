package main

import (
	"context"
	"os"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/jjm"
)

// top shows the clusters and the grid jobs that are not over, and updates them until the user quits.
type top struct {
	Once bool `help:"Print one frame and end, also on a terminal."`
	JSON bool `name:"json" help:"Print one frame as a JSON object and end."`

	place
}

// Help returns the text of --help below the usage.
func (*top) Help() string {
	return "The screen is renewed every 2 s. It shows the newest 500 grid jobs that are not over. If the daemon goes " +
		"away, the screen says so, keeps the last answer and asks again. If the standard input or output is not a " +
		"terminal, one frame is printed. NO_COLOR turns colours off.\n\n" +
		"Keys: q quits; the arrows, j and k, page up and page down select a grid job; enter shows what it waits for; " +
		"s sorts; / filters by id, name, user or status; ? explains the screen; escape goes back. docs/REPORTS.md " +
		"explains the columns."
}

// Run carries out jjm top.
func (t *top) Run(c *cli) error {
	_, _, ok := c.terminal(c.outFile)
	in, isFile := c.in.(*os.File)
	if !t.Once && !t.JSON && ok && isFile && isTerminal(in) {
		ctx, cancel := interruptible()
		defer cancel()
		return (&topScreen{c: c, in: in, ask: newTopAsker(t.client(c))}).run(ctx)
	}
	a := newTopAsker(t.client(c))
	data, err := a.next(context.Background(), nil)
	if err != nil {
		return err
	}
	if t.JSON {
		return c.printJSON(data)
	}
	view := topView{data: data, now: time.Now()}
	for _, line := range view.frame(maxColumns, 0) {
		if _, err := c.out.WriteString(line.text + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// newTopAsker returns a topAsker that has sent no requests yet.
func newTopAsker(daemon *client.Client) *topAsker {
	return &topAsker{daemon: daemon, meter: topMeter{jobs: map[jjm.GridID]*topPace{}}}
}
