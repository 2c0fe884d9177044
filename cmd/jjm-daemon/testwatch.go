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

// sayAfter is the time without output after which a line names the running checks.
const sayAfter = 30 * time.Second

// testWatch prints the running checks for people while no check begins or ends.
type testWatch struct {
	out   io.Writer
	begun time.Time
	news  chan struct{} // a check began or ended
	over  chan struct{} // closed by stop
	done  sync.WaitGroup

	mu      sync.Mutex
	running []string // in the order in which they began
}

// newTestWatch returns a watch that writes a line whenever nothing has happened for this time. The caller must call
// stop.
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

// say writes which checks run.
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

// began and ended report the begin and the end of a check to the watch.
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
