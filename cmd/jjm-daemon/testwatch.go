package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"jjm/internal/jjm"
)

// sayAfter is the time after which a line names the running checks if no check has begun or ended.
const sayAfter = 30 * time.Second

// testWatch prints, for people, which checks are running, while for a long time no check begins or ends.
type testWatch struct {
	out   io.Writer
	begun time.Time
	news  chan struct{} // a check began or ended
	over  chan struct{} // closed by stop
	done  sync.WaitGroup

	mu      sync.Mutex
	running []string // the names of the running checks, in the order in which they began
}

// newTestWatch starts a watch that writes a line to out whenever no check has begun or ended for the time after. The
// caller must call stop.
func newTestWatch(out io.Writer, after time.Duration) *testWatch {
	w := &testWatch{out: out, begun: time.Now(), news: make(chan struct{}), over: make(chan struct{})}
	w.done.Go(func() { w.watch(after) })
	return w
}

func (w *testWatch) watch(after time.Duration) {
	tick := time.NewTicker(after)
	defer tick.Stop()
	for {
		select {
		case <-w.over:
			return
		case <-w.news:
			tick.Reset(after)
		case <-tick.C:
			w.say()
		}
	}
}

// say prints a line with the running checks, at most two by name.
func (w *testWatch) say() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.running) == 0 {
		return
	}
	const most = 2
	names, more := w.running, ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(", and %d more", n)
	}
	_, _ = fmt.Fprintf(w.out, "after %s still waiting for: %s%s\n", jjm.HowLong(time.Since(w.begun).Round(time.Second)),
		strings.Join(names, ", "), more)
}

// began reports to the watch that a check began; ended reports that it ended.
func (w *testWatch) began(check string) {
	w.change(func() { w.running = append(w.running, check) })
}

func (w *testWatch) ended(check string) {
	w.change(func() { w.running = slices.DeleteFunc(w.running, func(name string) bool { return name == check }) })
}

func (w *testWatch) change(do func()) {
	w.mu.Lock()
	do()
	w.mu.Unlock()
	select {
	case w.news <- struct{}{}:
	case <-w.over:
	}
}

// stop ends the watch.
func (w *testWatch) stop() {
	close(w.over)
	w.done.Wait()
}
