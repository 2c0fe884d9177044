package base

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// again is the time after which an error is logged again although its text has not changed.
const again = 10 * time.Minute

// troubles contains the last logged text about each thing, so that an error that repeats every second is not logged
// every second. A thing is the name of an operation, such as "probe/slurm".
type troubles struct {
	mu   sync.Mutex
	last map[string]logged
}

// logged is a text and when it was logged.
type logged struct {
	text string
	at   time.Time
}

// fresh reports whether a text about a thing is to be logged, because the text differs from the last text about the
// thing, or was last logged at least ten minutes ago (again). In that case, fresh stores the text as the last one.
func (t *troubles) fresh(thing, text string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l, known := t.last[thing]; known && l.text == text && now.Sub(l.at) < again {
		return false
	}
	if t.last == nil || len(t.last) > 10_000 { // not all callers call over: limit the memory
		t.last = map[string]logged{}
	}
	t.last[thing] = logged{text, now}
	return true
}

// over forgets the last text about a thing. The next text about it is logged even if it is the same.
func (t *troubles) over(thing string) {
	t.mu.Lock()
	delete(t.last, thing)
	t.mu.Unlock()
}

// Complain logs an error of an operation that will be retried. It logs nothing if the same args were logged for the
// same thing less than ten minutes ago. thing identifies the operation, such as "probe/slurm", and is not logged.
func (b *Base) Complain(level slog.Level, thing, msg string, args ...any) {
	if b.troubles.fresh(thing, fmt.Sprint(args...), b.Now()) {
		b.Log.Log(context.Background(), level, msg, args...)
	}
}

// Fresh reports whether the caller should log a text about a thing. It returns true if the text differs from the last
// text about the thing, or if that was logged at least ten minutes ago. If it returns true, it stores the text as the
// last one.
func (b *Base) Fresh(thing, text string) bool { return b.troubles.fresh(thing, text, b.Now()) }

// Over forgets the last text about a thing; callers call it when the operation has succeeded. The next error is logged
// even if its text is the same.
func (b *Base) Over(thing string) { b.troubles.over(thing) }
