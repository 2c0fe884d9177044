package base

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// again is how often trouble that goes on unchanged is logged again.
const again = 10 * time.Minute

// troubles remembers what was logged last about each thing, so that trouble
// which repeats every second is one line in the log, not a flood.
type troubles struct {
	mu   sync.Mutex
	last map[string]logged
}

type logged struct {
	text string
	at   time.Time
}

// Fresh reports whether a text is news about a thing.
func (t *troubles) fresh(thing, text string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l, known := t.last[thing]; known && l.text == text && now.Sub(l.at) < again {
		return false
	}
	if t.last == nil || len(t.last) > 10_000 { // things come and go: start over
		t.last = map[string]logged{}
	}
	t.last[thing] = logged{text, now}
	return true
}

// Over forgets the trouble of a thing: the next one is news.
func (t *troubles) over(thing string) {
	t.mu.Lock()
	delete(t.last, thing)
	t.mu.Unlock()
}

// Complain logs trouble that will be tried again, on change only. The thing
// tells one kind of trouble from another; it is not logged.
func (b *Base) Complain(level slog.Level, thing, msg string, args ...any) {
	if b.troubles.fresh(thing, fmt.Sprint(args...), b.Now()) {
		b.Log.Log(context.Background(), level, msg, args...)
	}
}

// Fresh reports whether a text is news about a thing.
func (b *Base) Fresh(thing, text string) bool { return b.troubles.fresh(thing, text, b.Now()) }

// Over forgets the trouble of a thing: the next one is news.
func (b *Base) Over(thing string) { b.troubles.over(thing) }
