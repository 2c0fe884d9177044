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
	"sync"
	"time"

	"jjm"
)

// history follows the accounting file: each look reads only what was added. The
// file is kept open, so that a rotation by renaming loses nothing.
type history struct {
	path string
	keep time.Duration
	warn func(string, ...any)

	// turn is held by the one who reads. It is a channel because a read of a
	// dead file server does not end, and those who wait must.
	turn chan struct{}
	file *os.File
	next int64 // where reading goes on in file

	mu      sync.Mutex
	records map[key]record
	pruned  time.Time
}

func newHistory(path string, keep time.Duration, warn func(string, ...any)) *history {
	return &history{path: path, keep: keep, warn: warn, turn: make(chan struct{}, 1), records: map[key]record{}}
}

// refresh reads what is new. The error is of kind Busy; what was read stays.
func (h *history) refresh(ctx context.Context, now time.Time) error {
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return jjm.Errorf(jjm.Busy, "read %s: another reader has not ended: %w", h.path, ctx.Err())
	}
	done := make(chan error, 1)
	go func() {
		err := h.read(ctx, now)
		<-h.turn
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return jjm.Errorf(jjm.Busy, "read the accounting file: %w", err)
		}
		return nil
	case <-ctx.Done():
		return jjm.Errorf(jjm.Busy, "read %s: %w", h.path, ctx.Err())
	}
}

// read reads to the end of the file, and of the one that has taken its place.
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

// open returns false without an error before the first job has ended: Grid Engine
// makes the file then. A missing folder is another matter.
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

// rotated reports whether the path now names another file, or the file was cut.
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

// chunk is how much is read at once.
const chunk = 1 << 20

// tail reads whole lines up to the end. A last line without its end is left for
// the next time.
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

// take adds the records of whole lines. A line that cannot be read is warned
// about and skipped: it stays in the file, and an error would stop all listings
// for good. Its job is missing then, which is never taken for an end.
func (h *history) take(lines []byte, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	oldest := jjm.At(now.Add(-h.keep))
	for line := range bytes.Lines(lines) {
		r, ok, err := parseRecord(string(bytes.TrimRight(line, "\n")))
		switch {
		case err != nil:
			h.warn("a line of the accounting file cannot be read", "file", h.path, "error", err.Error(), "line", string(line))
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

// prune forgets what ended long ago.
func (h *history) prune(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.pruned) < time.Hour {
		return
	}
	h.pruned = now
	oldest := jjm.At(now.Add(-h.keep))
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

// startedAt sets the start of a task's record to what was told of the same run
// while it lived: qmaster's clock says when it sent the task off, the worker's
// when it began, 1 to 3 s later (measured on 8.1.9).
func (h *history) startedAt(k key, started jjm.Time, restarts int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.records[k]
	if ok && started != 0 && r.started != 0 && started <= r.ended && r.runs-1 == restarts {
		r.started = started
		h.records[k] = r
	}
}
