package base

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// again is the time after which an unchanged error is logged again.
const again = 10 * time.Minute

// troubles remembers the last text logged about each thing. An error that repeats every second is therefore logged only
// once.
type troubles struct {
	mu   sync.Mutex
	last map[string]logged
}

type logged struct {
	text string
	at   time.Time
}

// fresh reports whether to log the text about the thing: it differs from the last text
// about the thing, or that text is old. If so, fresh remembers the text.
func (t *troubles) fresh(thing, text string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l, known := t.last[thing]; known && l.text == text && now.Sub(l.at) < again {
		return false
	}
	if t.last == nil || len(t.last) > 10_000 { // over is not called for every thing: forget all things
		t.last = map[string]logged{}
	}
	t.last[thing] = logged{text, now}
	return true
}

// over forgets the last text about a thing. The next text is logged even if it is the same.
func (t *troubles) over(thing string) {
	t.mu.Lock()
	delete(t.last, thing)
	t.mu.Unlock()
}

// Complain logs an error of an operation that will be retried, if args have changed or the same args were logged ten
// minutes ago. thing identifies the operation, such as "probe/slurm"; it is not logged.
func (b *Base) Complain(level slog.Level, thing, msg string, args ...any) {
	if b.troubles.fresh(thing, fmt.Sprint(args...), b.Now()) {
		b.Log.Log(context.Background(), level, msg, args...)
	}
}

// Fresh reports whether the caller should log the text about a thing. It returns true if the text differs from the last
// text about the thing, or if ten minutes have passed.
func (b *Base) Fresh(thing, text string) bool { return b.troubles.fresh(thing, text, b.Now()) }

// Over forgets the last text about a thing, because the operation succeeded. The next error is logged even if its text
// is the same.
func (b *Base) Over(thing string) { b.troubles.over(thing) }
