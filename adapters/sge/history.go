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

// history follows the accounting file: each refresh reads only the new lines. The file stays open, so no line is lost
// if the file is rotated by renaming.
type history struct {
	path string
	keep time.Duration
	warn func(string, ...any)

	// reading is full during a read. It is a channel, not a mutex, because a read from a dead file server never ends,
	// and waiting calls must be able to give up.
	reading chan struct{}
	file    *os.File
	next    int64 // offset of the next read in file

	mu      sync.Mutex
	records map[key]record
	unread  []unreadLine
	pruned  time.Time
}

// unreadLine is a line of the accounting file that cannot be parsed, with the owner of its task and the time at which
// it was read.
type unreadLine struct {
	adapters.Unread
	user string
	at   jjm.Time
}

func newHistory(path string, keep time.Duration, warn func(string, ...any)) *history {
	return &history{path: path, keep: keep, warn: warn, reading: make(chan struct{}, 1), records: map[key]record{}}
}

// refresh reads the new records. Its errors are of kind Busy; the records of earlier calls remain in memory.
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

// read reads the new lines of the open file. If another file has replaced the open file, read then reads that file too.
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

// open opens the accounting file. It returns false without an error if the file does not exist yet: Grid Engine creates
// the file when the first job ends. It returns an error if the folder is missing.
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
		return false, nil // the file was renamed, and no record was written since
	}
	return err == nil && !os.SameFile(old, now), err
}

// chunk is the size of one read in bytes.
const chunk = 1 << 20

// tail reads whole lines up to the end of the file. The next call reads a last line without a newline.
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

// maxUnread is the largest number of unreadable lines that are kept in memory.
const maxUnread = 1000

// take adds the records in a text of whole lines. It logs a warning for an unreadable line and skips the line, because
// an error would prevent all listings permanently: the line stays in the file. The last maxUnread unreadable lines are
// kept in memory, and their tasks count as neither absent nor cancelled.
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

// prune forgets tasks that ended longer ago than keep. It does nothing if it ran within the last hour.
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

// get returns the last record of a user's task, and false if there is none.
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

// startedAt replaces the start in a task's record by the start that was reported while the task was alive, if both
// belong to the same run. The two times differ: the reported start is the time at which qmaster sent the task to the
// worker (by qmaster's clock), and the recorded start is the time at which the task began (by the worker's clock), 1 to
// 3 s later (measured on 8.1.9).
func (h *history) startedAt(k key, started jjm.Time, restarts int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.records[k]
	if ok && started != 0 && r.started != 0 && started <= r.ended && r.runs-1 == restarts {
		r.started = started
		h.records[k] = r
	}
}

// unreadOf returns the unreadable lines about tasks of a user.
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
