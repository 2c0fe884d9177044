package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	xterm "golang.org/x/term"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

const (
	// topEvery is the time between two requests of jjm top.
	topEvery = 2 * time.Second
	// keyPatience is how long the reader of keys waits for a key before it checks whether the command is over.
	keyPatience = 100 * time.Millisecond
)

// The control sequences of ECMA-48 and xterm that jjm top uses. It draws on xterm's alternate screen, so that the
// terminal shows its old content again afterwards. The terminal cuts lines that wide characters make too long.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveScreen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	restOfLine  = "\x1b[K"
	restBelow   = "\x1b[J"
)

// topScreen runs jjm top on a terminal. Its method loop is the only user of view; goroutines send requests to the
// daemon, and send the answers to the channels news and reasons.
type topScreen struct {
	c    *cli
	in   *os.File
	ask  *topAsker
	view topView

	painted string
	lostAt  time.Time // the time of the first request without an answer; zero while the daemon answers
	work    sync.WaitGroup
	news    chan topNews
	reasons chan topReasons
}

// topNews is the answer to a request for all data of the screen, or its error.
type topNews struct {
	data topData
	err  error
}

// topReasons is the answer to a request for the reasons why a grid job waits.
type topReasons struct {
	id    jjm.GridID
	lines []whyLine
}

// run shows the screen until the user quits, the terminal is closed, or ctx ends. If the first request fails, run
// returns its error and shows nothing.
func (t *topScreen) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer t.work.Wait()
	defer cancel()
	data, err := t.ask.next(ctx, nil)
	if err != nil {
		return err
	}
	t.take(topNews{data: data})
	before, err := xterm.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return fmt.Errorf("prepare the terminal: %w", err)
	}
	defer func() {
		t.put(leaveScreen)
		_ = xterm.Restore(int(t.in.Fd()), before)
	}()
	t.put(enterScreen)
	return t.loop(ctx)
}

// loop handles keys, answers of the daemon and changes of the terminal's size, and draws the screen after each of them.
func (t *topScreen) loop(ctx context.Context) error {
	t.news, t.reasons = make(chan topNews, 1), make(chan topReasons, 1)
	keys, resized := make(chan string), make(chan os.Signal, 1)
	t.work.Go(func() { readKeys(ctx, t.in, keys) })
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	tick := time.NewTicker(topEvery)
	defer tick.Stop()
	asking := false
	for {
		t.paint()
		select {
		case <-ctx.Done():
			return &exit{code: exitInterrupted}
		case key, ok := <-keys:
			if !ok || t.key(ctx, key) {
				return nil
			}
		case n := <-t.news:
			asking = false
			t.take(n)
		case r := <-t.reasons:
			if r.id == t.view.reasonsOf {
				t.view.reasons = r.lines
			}
		case <-resized:
			t.painted = ""
		case <-tick.C:
			if !asking {
				asking = true
				t.request(ctx, slices.Clone(t.view.shown))
			}
		}
	}
}

// request requests the data of the screen from the daemon, in a goroutine. shown are the grid jobs on the screen. If
// the screen shows why a grid job waits, request requests these reasons too.
func (t *topScreen) request(ctx context.Context, shown []jjm.GridID) {
	t.work.Go(func() {
		data, err := t.ask.next(ctx, shown)
		t.news <- topNews{data, err}
	})
	if id := t.view.reasonsOf; id != 0 {
		t.requestWhy(ctx, id)
	}
}

// requestWhy requests, in a goroutine, the reasons why a grid job waits. If another answer is still in the channel, the
// answer is dropped.
func (t *topScreen) requestWhy(ctx context.Context, id jjm.GridID) {
	t.work.Go(func() {
		a, err := client.Call(ctx, t.ask.daemon, wire.VerbWhy(), wire.WhyRequest{Many: wire.Refs(id.String())})
		r := topReasons{id: id, lines: []whyLine{{"error", "the daemon did not answer"}}}
		switch {
		case err != nil:
			r.lines[0][1] = err.Error()
		case len(a.Why) == 1:
			r.lines = whyLines(a.Why[0])
		}
		select {
		case t.reasons <- r:
		default:
		}
	})
}

// take stores the answer to a request. After an error, the last answer stays on the screen, with a line about the
// error.
func (t *topScreen) take(n topNews) {
	now := time.Now()
	switch {
	case n.err == nil:
		t.view.data, t.view.lost = n.data, ""
		t.lostAt = time.Time{}
		return
	case errors.Is(n.err, context.Canceled):
		return
	case t.lostAt.IsZero():
		t.lostAt = now
	}
	what := n.err.Error()
	if client.IsUnreachable(n.err) || jjm.KindOf(n.err) == jjm.Busy {
		what = lostLine
	}
	t.view.lost = fmt.Sprintf("since %s %s", t.lostAt.Format(time.TimeOnly), what)
}

// key handles a pressed key. quit is true if the user quits.
func (t *topScreen) key(ctx context.Context, key string) (quit bool) {
	v := &t.view
	switch {
	case key == "ctrl-c":
		return true
	case v.typing:
		v.typeFilter(key)
		return false
	case key == "q":
		return true
	case key == "enter" && v.selected != 0 && !v.helped:
		v.reasonsOf, v.reasons = v.selected, nil
		t.requestWhy(ctx, v.selected)
	default:
		v.key(key)
	}
	return false
}

// paint draws the screen, unless it would look the same as before.
func (t *topScreen) paint() {
	width, height, _ := t.c.terminal(t.c.outFile)
	t.view.now = time.Now()
	var b strings.Builder
	b.WriteString(toTop)
	for i, line := range t.view.frame(width, height) {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(t.styled(line) + restOfLine)
	}
	b.WriteString(restBelow)
	if b.String() != t.painted {
		t.painted = b.String()
		t.put(t.painted)
	}
}

// styled returns the text of a line with the control sequences of its style (ECMA-48, SGR), or without them if NO_COLOR
// is set (no-color.org).
func (t *topScreen) styled(line topLine) string {
	code := map[topStyle]string{headStyle: "1", chosenStyle: "7", troubleStyle: "31"}[line.style]
	if code == "" || t.c.getenv("NO_COLOR") != "" {
		return line.text
	}
	return "\x1b[" + code + "m" + line.text + "\x1b[0m"
}

// put writes to the terminal. It ignores errors: if the terminal is closed, reading keys fails too and ends the
// command.
func (t *topScreen) put(text string) { _, _ = t.c.outFile.WriteString(text) }

// readKeys sends the pressed keys to the channel keys until ctx ends or the input ends. Then it closes the channel.
func readKeys(ctx context.Context, in *os.File, keys chan<- string) {
	defer close(keys)
	buf := make([]byte, 256)
	for ctx.Err() == nil {
		ready := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, int(keyPatience.Milliseconds()))
		if errors.Is(err, unix.EINTR) || err == nil && n == 0 {
			continue
		}
		if err != nil {
			return
		}
		if n, err = in.Read(buf); err != nil || n == 0 {
			return
		}
		for _, key := range keysOf(string(buf[:n])) {
			select {
			case keys <- key:
			case <-ctx.Done():
				return
			}
		}
	}
}
