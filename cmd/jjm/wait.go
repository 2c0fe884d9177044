package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"jjm"
	"jjm/gate/client"
	"jjm/wire"
)

const (
	redrawEvery = 250 * time.Millisecond
	// plainEvery is the least time between two plain lines.
	plainEvery = 3 * time.Second
	// A lost daemon is looked for after retryFirst, then ever less often.
	retryFirst = 100 * time.Millisecond
	retryMost  = 5 * time.Second
)

// wait waits for the end of grid jobs.
type wait struct {
	Timeout time.Duration `placeholder:"TIME" help:"Give up waiting after this time, such as 5m; exit 7."`
	Quiet   bool          `short:"q" help:"Show no progress."`
	JSON    bool          `name:"json" help:"The end as one JSON object per line, as lookup does."`
	IDs     []string      `arg:"" name:"ID" help:"Grid jobs."`

	place
}

// Help is the rest of its help.
func (*wait) Help() string {
	return "Progress goes to standard error: a bar on a terminal, else a line now and then. A daemon that restarts " +
		"is found again. Interrupting leaves the jobs running."
}

// Run implements the command.
func (w *wait) Run(c *cli) error {
	if err := checkRefs(w.IDs, true); err != nil {
		return err
	}
	ctx, cancel := interruptible()
	defer cancel()
	if w.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, w.Timeout)
		defer stop()
	}
	return (&waiter{c: c, client: w.client(c), refs: w.IDs, quiet: w.Quiet, json: w.JSON, last: c.out}).run(ctx)
}

// waiter follows grid jobs and shows how far they are.
type waiter struct {
	c      *cli
	client *client.Client
	refs   []string
	quiet  bool
	json   bool
	last   io.Writer // for the lines that say how it ended

	states []wire.Status
	lost   error // why there is no daemon, while there is none
	paces  map[jjm.GridID]*pace
	screen screen
	said   string
	saidAt time.Time
}

// news is what the follower found: states, or that the daemon is lost.
type news struct {
	states []wire.Status
	lost   error
}

// run shows progress until the end, and gives the exit code as an error.
func (w *waiter) run(ctx context.Context) error {
	w.paces = make(map[jjm.GridID]*pace)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	feed, over := make(chan news), make(chan error, 1)
	go func() { over <- w.follow(ctx, feed) }()
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	w.show(time.Now(), false)
	for {
		select {
		case n := <-feed:
			w.take(n, time.Now())
		case <-tick.C:
		case err := <-over:
			return w.end(ctx, err)
		}
		w.show(time.Now(), false)
	}
}

// follow feeds what the daemon says, and finds it again when it was lost. A
// daemon that never answered is an error at once.
func (w *waiter) follow(ctx context.Context, feed chan<- news) error {
	tell := func(n news) error {
		select {
		case feed <- n:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	met, pause := false, retryFirst
	for {
		err := client.Watch(ctx, w.client, wire.VerbWait(), wire.WaitRequest{Refs: w.refs}, func(a wire.StatusAnswer) error {
			met, pause = true, retryFirst
			return tell(news{states: a.Status})
		})
		gone := client.IsUnreachable(err) || jjm.KindOf(err) == jjm.Busy
		if err == nil || ctx.Err() != nil || !gone || !met {
			return err
		}
		if err := tell(news{lost: err}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, retryMost)
	}
}

// take notes what the follower found.
func (w *waiter) take(n news, now time.Time) {
	w.lost = n.lost
	if n.lost != nil || len(n.states) == 0 {
		return
	}
	w.states = n.states
	for _, st := range n.states {
		p := w.paces[st.Lookup.ID]
		if p == nil {
			p = &pace{}
			w.paces[st.Lookup.ID] = p
		}
		p.add(now, fraction(st))
	}
}

// show draws the bars on a terminal, or says what changed elsewhere; now or
// never with final set.
func (w *waiter) show(now time.Time, final bool) {
	if w.quiet || len(w.states) == 0 {
		return
	}
	if width, height, ok := w.c.terminal(w.c.errFile); ok {
		_, _ = io.WriteString(w.c.err, w.screen.draw(w.bars(now, width, height)))
		return
	}
	var lines []string
	for _, st := range w.states {
		lines = append(lines, plainLine(st))
	}
	if w.lost != nil {
		lines = append(lines, "no daemon answers; trying again")
	}
	text := strings.Join(lines, "\n") + "\n"
	if text == w.said || now.Sub(w.saidAt) < plainEvery && !final {
		return
	}
	w.said, w.saidAt = text, now
	_, _ = io.WriteString(w.c.err, text)
}

// bars are the lines for a terminal.
func (w *waiter) bars(now time.Time, width, height int) []string {
	var lines []string
	room := max(height-2, 1)
	for i, st := range w.states {
		if i == room-1 && len(w.states) > room {
			lines = append(lines, clip(fmt.Sprintf("and %d more", len(w.states)-i), width-1))
			break
		}
		lines = append(lines, barLine(st, w.paces[st.Lookup.ID], now, width))
	}
	if w.lost != nil {
		lines = append(lines, clip("no daemon answers; trying again", width-1))
	}
	return lines
}

// end says how it ended and chooses the exit code.
func (w *waiter) end(ctx context.Context, err error) error {
	_, _ = io.WriteString(w.c.err, w.screen.clear())
	ids := strings.Join(w.refs, " ")
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &exit{exitUnfinished, fmt.Errorf("not finished in time: %s", w.summary())}
	case err != nil && ctx.Err() != nil:
		w.c.say("jjm: interrupted; job %s goes on. Watch it again: jjm wait %s; stop it: jjm kill %s", ids, ids, ids)
		return &exit{code: exitInterrupted}
	case err != nil:
		return err
	case len(w.states) == 0:
		return jjm.Errorf(jjm.Internal, "the daemon ended the wait without a state")
	}
	done := true
	for _, st := range w.states {
		done = done && st.Lookup.Status == jjm.Done.String()
		if w.json {
			err = w.c.printJSON(st.Lookup)
		} else {
			_, err = io.WriteString(w.last, lastLine(st)+"\n")
		}
		if err != nil {
			return err
		}
	}
	if !done {
		return &exit{code: exitNo}
	}
	return nil
}

func (w *waiter) summary() string {
	if len(w.states) == 0 {
		return "job " + strings.Join(w.refs, " ")
	}
	lines := make([]string, len(w.states))
	for i, st := range w.states {
		lines[i] = plainLine(st)
	}
	return strings.Join(lines, "; ")
}
