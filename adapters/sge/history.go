package sge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// history follows the accounting file: each refresh reads only what was added. The file is
// kept open, so that a rotation by renaming loses nothing.
type history struct {
	path string
	keep time.Duration
	warn func(string, ...any)

	// reading is full while a call reads. It is a channel, not a mutex, because a read from a dead file server never
	// ends, and waiting calls must be able to give up.
	reading chan struct{}
	file    *os.File
	next    int64 // offset in file at which reading goes on

	mu      sync.Mutex
	records map[key]record
	unread  []unreadLine
	pruned  time.Time
}

// unreadLine is a line of the accounting file that cannot be parsed, with the owner of its task and the
// time at which it was read.
type unreadLine struct {
	adapters.Unread
	user string
	at   jjm.Time
}

func newHistory(path string, keep time.Duration, warn func(string, ...any)) *history {
	return &history{path: path, keep: keep, warn: warn, reading: make(chan struct{}, 1), records: map[key]record{}}
}

// refresh reads new records. The error is of kind Busy; the records of earlier calls stay.
func (h *history) refresh(ctx context.Context, now time.Time) error {
	select {
	case h.reading <- struct{}{}:
	case <-ctx.Done():
		return jjm.Errorf(jjm.Busy, "read %s: another reader has not ended: %w", h.path,
			jjm.Plainly(ctx.Err()))
	}
	done := make(chan error, 1)
	go func() {
		err := h.read(ctx, now)
		<-h.reading
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return jjm.Errorf(jjm.Busy, "read the accounting file: %w", err)
		}
		return nil
	case <-ctx.Done():
		return jjm.Errorf(jjm.Busy, "read %s: %w", h.path, jjm.Plainly(ctx.Err()))
	}
}

// read reads to the end of the file, and then of the file that has taken its place.
func (h *history) read(ctx context.Context, now time.Time) error {
	h.prune(now)
	for {
		if h.file == nil {
			if ok, err := h.open(); !ok {
				return err
			}
		}
		if err := h.tail(ctx, now); err != nil {
			return err
		}
		rotated, err := h.rotated()
		if err != nil || !rotated {
			return err
		}
		_ = h.file.Close()
		h.file = nil
	}
}

// open opens the accounting file. It returns false without an error if the file does not exist yet:
// Grid Engine makes it when the first job ends. A missing folder is an error.
func (h *history) open() (bool, error) {
	f, err := os.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(h.path))
		return false, err
	}
	if err != nil {
		return false, err
	}
	h.file, h.next = f, 0
	return true, nil
}

// rotated reports whether the path now names another file, or the file was truncated.
func (h *history) rotated() (bool, error) {
	old, err := h.file.Stat()
	if err != nil {
		return false, err
	}
	if old.Size() < h.next {
		return true, nil
	}
	now, err := os.Stat(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // between the renaming and the next record
	}
	return err == nil && !os.SameFile(old, now), err
}

// chunk is how many bytes are read at once.
const chunk = 1 << 20

// tail reads whole lines up to the end. A last line without a newline is left for the next
// time.
func (h *history) tail(ctx context.Context, now time.Time) error {
	buf := make([]byte, chunk)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := h.file.ReadAt(buf, h.next)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		end := bytes.LastIndexByte(buf[:n], '\n') + 1
		if end == 0 {
			if n < len(buf) {
				return nil
			}
			buf = make([]byte, 2*len(buf)) // a line longer than the buffer
			continue
		}
		h.take(buf[:end], now)
		h.next += int64(end)
	}
}

// maxUnread is the largest number of lines that cannot be read and are remembered.
const maxUnread = 1000

// take adds the records in whole lines. A line that cannot be read is skipped with a warning; the last maxUnread such
// lines are remembered, and their tasks count as neither absent nor cancelled. An error instead would stop all listings
// permanently, because the line stays in the file.
func (h *history) take(lines []byte, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	oldest := jjm.At(now.Add(-h.keep))
	for line := range bytes.Lines(lines) {
		r, ok, err := parseRecord(string(bytes.TrimRight(line, "\n")))
		switch {
		case err != nil:
			h.warn("a line of the accounting file cannot be read", "file", h.path, "error", err.Error(), "line", string(line))
			u := unreadRecord(string(bytes.TrimRight(line, "\n")), err)
			u.at = jjm.At(now)
			h.unread = append(h.unread[max(0, len(h.unread)+1-maxUnread):], u)
		case ok:
			if r.read = jjm.At(now); r.when() < oldest {
				continue
			}
			r.runs = h.records[r.key].runs
			if r.started > 0 || r.failed == failedRerun {
				r.runs++
			}
			h.records[r.key] = r
		}
	}
}

// prune forgets tasks that ended more than keep ago. It does nothing if it ran within the last hour.
func (h *history) prune(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.pruned) < time.Hour {
		return
	}
	h.pruned = now
	oldest := jjm.At(now.Add(-h.keep))
	h.unread = slices.DeleteFunc(h.unread, func(u unreadLine) bool { return u.at < oldest })
	maps.DeleteFunc(h.records, func(_ key, r record) bool { return r.when() < oldest })
}

// get returns the last record of a task of a user.
func (h *history) get(k key, user string) (record, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.records[k]
	return r, ok && r.owner == user
}

// of returns the last record of each task of a user that ended at or after since.
func (h *history) of(user string, since jjm.Time) []record {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []record
	for _, r := range h.records {
		if r.owner == user && r.when() >= since {
			out = append(out, r)
		}
	}
	return out
}

// startedAt replaces the start in a task's record by the start that was reported for the same run while the task was
// alive. The two differ: qmaster's clock shows when qmaster sent the task to the worker, the worker's clock when the
// task began, 1 to 3 s later (measured on 8.1.9).
func (h *history) startedAt(k key, started jjm.Time, restarts int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.records[k]
	if ok && started != 0 && r.started != 0 && started <= r.ended && r.runs-1 == restarts {
		r.started = started
		h.records[k] = r
	}
}

// unreadOf returns the lines about tasks of a user that cannot be read.
func (h *history) unreadOf(user string) (out []adapters.Unread) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, u := range h.unread {
		if u.user == user {
			out = append(out, u.Unread)
		}
	}
	return out
}
