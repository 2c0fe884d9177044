package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

const (
	redrawEvery = 250 * time.Millisecond
	// plainEvery is the least time between two lines of progress.
	plainEvery = 3 * time.Second
	// retryFirst is the first pause before a request is sent again after the daemon was lost. It grows to retryMost.
	retryFirst = 100 * time.Millisecond
	retryMost  = 5 * time.Second
)

// wait waits until grid jobs are finished.
type wait struct {
	Timeout time.Duration `placeholder:"TIME" help:"Give up waiting after this time, such as 5m; exit 7."`
	Quiet   bool          `short:"q" help:"Show no progress."`
	JSON    bool          `name:"json" help:"The end as one JSON object per line, as lookup does."`
	IDs     []string      `arg:"" name:"ID" help:"Grid jobs."`

	place
}

// Help returns the text of --help below the usage.
func (*wait) Help() string {
	return "Progress goes to standard error: a bar on a terminal, otherwise a line from time to time. If the daemon " +
		"restarts, it connects again. If no daemon answers, the records answer for grid jobs that are over; for other " +
		"grid jobs, it shows the last known state and waits for the daemon. If it is interrupted, the jobs go on."
}

// Run carries out jjm wait.
func (w *wait) Run(c *cli) error {
	ids, err := w.named(c, "wait", w.IDs, true, true)
	if err != nil {
		return err
	}
	ctx, cancel := interruptible()
	defer cancel()
	if w.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, w.Timeout)
		defer stop()
	}
	records := func(down error) ([]wire.Status, error) { return w.offline(c, "wait", down).latest(ids) }
	return (&waiter{c: c, client: w.client(c), refs: ids, quiet: w.Quiet, json: w.JSON, last: c.out,
		records: records}).run(ctx)
}

// waiter shows the progress of grid jobs until all of them have ended. One goroutine runs follow, which receives the
// daemon's answers; run takes these from a channel and is the only user of records and of the fields below it.
type waiter struct {
	c      *cli
	client *client.Client
	refs   []string
	quiet  bool
	json   bool
	last   io.Writer // gets a line about the end of each grid job
	// records returns the states in the records, and says from when they are; nil if only the daemon is to answer.
	records func(down error) ([]wire.Status, error)

	states []wire.Status
	lost   error // why no daemon answers; nil while a daemon answers
	paces  map[jjm.GridID]*pace
	screen screen
	said   []string // the lines of progress at the time of the last output, see fresh
	saidAt time.Time
	warned map[string]bool // the warnings that were printed
}

// news is a message from follow to run: either new states of the grid jobs, or the error because no daemon answers.
type news struct {
	states []wire.Status
	lost   error
}

// run shows progress until all grid jobs have ended or ctx ends, and returns the exit code of the command as an error.
func (w *waiter) run(ctx context.Context) error {
	w.paces, w.warned = make(map[jjm.GridID]*pace), make(map[string]bool)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	feed, over := make(chan news), make(chan error, 1)
	go func() { over <- w.follow(ctx, feed) }()
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	w.show(time.Now())
	for {
		select {
		case n := <-feed:
			if over, err := w.take(n, time.Now()); over || err != nil {
				return w.end(ctx, err)
			}
		case <-tick.C:
		case err := <-over:
			return w.end(ctx, err)
		}
		w.show(time.Now())
	}
}

// follow sends each answer of the daemon to feed until all grid jobs have ended, and then returns nil. If the daemon
// stops answering, follow sends the error to feed and connects again, with growing pauses. If no daemon has ever
// answered and there are no records to answer, follow returns the error immediately.
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
		req := wire.WaitRequest{Many: wire.Refs(w.refs...)}
		err := client.Watch(ctx, w.client, wire.VerbWait(), req, func(a wire.StatusAnswer) error {
			met, pause = true, retryFirst
			return tell(news{states: a.Status})
		})
		down := client.IsUnreachable(err)
		again := met && (down || jjm.KindOf(err) == jjm.Busy) || down && w.records != nil
		if err == nil || ctx.Err() != nil || !again {
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

// take stores a message of follow. over is true if the records say that all grid jobs are over. The error means that
// neither the daemon nor the records have ever said anything about the grid jobs.
func (w *waiter) take(n news, now time.Time) (over bool, err error) {
	before := w.lost
	w.lost = n.lost
	if n.lost != nil && before == nil {
		return w.takeRecords(n.lost)
	}
	if n.lost == nil && len(n.states) > 0 {
		w.states = n.states
		for _, st := range n.states {
			w.pace(st.Lookup.ID).add(now, fraction(st))
		}
	}
	return false, nil
}

// takeRecords reads the states of the grid jobs from the records when the daemon is lost. It keeps these states if all
// grid jobs are over, or if the daemon has never answered. The results are those of take.
func (w *waiter) takeRecords(down error) (over bool, err error) {
	if w.records == nil {
		return false, nil
	}
	_, _ = io.WriteString(w.c.err, w.screen.clear())
	states, err := w.records(down)
	switch {
	case err != nil && len(w.states) > 0:
		return false, nil
	case err != nil:
		return false, err
	}
	over = !slices.ContainsFunc(states, func(st wire.Status) bool { return !plain.Final(st.Lookup.Status) })
	if over || len(w.states) == 0 {
		w.states = states
	}
	return over, nil
}

// pace returns the pace of a grid job. It makes the pace if there is none.
func (w *waiter) pace(id jjm.GridID) *pace {
	if w.paces[id] == nil {
		w.paces[id] = &pace{}
	}
	return w.paces[id]
}

// show prints the progress: bars on a terminal, otherwise the lines that have changed, at most once in plainEvery.
func (w *waiter) show(now time.Time) {
	if w.quiet || len(w.states) == 0 {
		return
	}
	if width, height, ok := w.c.terminal(w.c.errFile); ok {
		_, _ = io.WriteString(w.c.err, w.screen.draw(w.bars(now, width, height)))
		return
	}
	if now.Sub(w.saidAt) < plainEvery {
		return
	}
	lines := w.lines()
	fresh := append(w.fresh(lines), w.warnings()...)
	if len(fresh) == 0 {
		return
	}
	w.said, w.saidAt = lines, now
	_, _ = io.WriteString(w.c.err, strings.Join(fresh, "\n")+"\n")
}

// lostLine is the line that is shown while no daemon answers.
const lostLine = "no daemon answers; trying again"

// lines returns a line of progress for each grid job, and lostLine while no daemon answers.
func (w *waiter) lines() (lines []string) {
	for _, st := range w.states {
		lines = append(lines, plainLine(st))
	}
	if w.lost != nil {
		lines = append(lines, lostLine)
	}
	return lines
}

// fresh returns those of the lines that the last output did not have. If the daemon answers again after it was lost,
// fresh returns all lines.
func (w *waiter) fresh(lines []string) (fresh []string) {
	back := slices.Contains(w.said, lostLine) && w.lost == nil
	for _, line := range lines {
		if back || !slices.Contains(w.said, line) {
			fresh = append(fresh, line)
		}
	}
	return fresh
}

// warnings returns the lines of the warnings that were not printed yet, and marks them as printed. Each warning is
// printed again when its grid job ends, because its count may have grown.
func (w *waiter) warnings() (lines []string) {
	for _, st := range w.states {
		for _, warning := range st.Warnings {
			if key := st.Lookup.ID.String() + " " + warning.Text; !w.warned[key] {
				w.warned[key] = true
				lines = append(lines, warningLine(st, warning))
			}
		}
	}
	return lines
}

// rest prints the warnings that came since the last output. It is called when the command ends before the grid jobs.
func (w *waiter) rest() {
	if lines := w.warnings(); len(lines) > 0 && !w.quiet {
		_, _ = io.WriteString(w.c.err, strings.Join(lines, "\n")+"\n")
	}
}

// bars returns the lines for a terminal of this size: a bar for each grid job, then texts about grid jobs that are
// in trouble, wait or are tried again, then warnings as far as there is room.
func (w *waiter) bars(now time.Time, width, height int) []string {
	var lines []string
	room := max(height-2, 1)
	for i, st := range w.states {
		if i == room-1 && len(w.states) > room {
			lines = append(lines, clip(fmt.Sprintf("and %d more", len(w.states)-i), width-1))
			break
		}
		lines = append(lines, barLine(st, w.pace(st.Lookup.ID), now, width))
	}
	for _, st := range w.states {
		if line := plainLine(st); (len(st.Trouble) > 0 || st.Waits != "" || retries(st) != "") && len(lines) < room {
			lines = append(lines, clip(line, width-1))
		}
		for _, warning := range st.Warnings[:min(len(st.Warnings), max(room-len(lines), 0))] {
			lines = append(lines, clip(warningLine(st, warning), width-1))
		}
	}
	if w.lost != nil {
		lines = append(lines, clip(lostLine, width-1))
	}
	return lines
}

// end prints how the grid jobs ended, and returns the exit code of the command as an error. err is the error of follow
// or take: nil if the daemon or the records ended the wait.
func (w *waiter) end(ctx context.Context, err error) error {
	_, _ = io.WriteString(w.c.err, w.screen.clear())
	ids := strings.Join(w.refs, " ")
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		w.rest()
		return &exit{exitUnfinished, fmt.Errorf("not finished in time: %s", w.summary())}
	case err != nil && ctx.Err() != nil:
		w.rest()
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
			_, err = io.WriteString(w.last, lastLines(st))
			w.tellCauses(st)
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

// tellCauses prints on standard error why local jobs of a grid job failed, and the command that runs them again.
func (w *waiter) tellCauses(st wire.Status) {
	rows := causeRows(st.Causes, lastWords(w.client, st.Causes))
	if again := againText(&st); again != "" {
		rows = append(rows, [2]string{"do", again})
	}
	for _, row := range rows {
		if row[0] != "" {
			w.c.say("%s:", row[0])
		}
		for _, line := range wrap(row[1], maxColumns-2) {
			w.c.say("  %s", line)
		}
	}
}

func (w *waiter) summary() string {
	if len(w.states) == 0 {
		return "job " + strings.Join(w.refs, " ")
	}
	lines := make([]string, len(w.states))
	for i, st := range w.states {
		lines[i] = plainLine(st)
	}
	if w.lost != nil {
		lines = append(lines, "no daemon answers")
	}
	return strings.Join(lines, "; ")
}
