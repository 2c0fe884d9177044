package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

// partial is a file that is being fetched: the bytes fetched so far, and a small file beside them with their state. A
// lock excludes other processes, so that a process that outlived its daemon and a new process never write to the same
// file.
type partial struct {
	root *os.Root
	name string
	f    *os.File
	state
	since time.Time // Spent has the time up to this moment

	mu sync.Mutex // guards at, which the goroutine of [partial.syncing] reads
	at int64      // number of bytes that were written
}

// state describes the bytes fetched so far.
type state struct {
	// Address is the URL from which the bytes came, after redirects. ETag and Modified are strong validators, by which the
	// server can check whether its file is still the same; "" if there is none.
	Address  string `json:"address"`
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	// Total is the length of the file in bytes, -1 if unknown. Kept is the number of bytes that are synced to the disk.
	Total int64 `json:"total"`
	Kept  int64 `json:"kept"`
	// Resumed is set if the bytes came in several transfers.
	Resumed bool `json:"resumed,omitempty"`
	// Spent is the total time of the transfers.
	Spent jjm.Duration `json:"spent"`
}

// maxState is the maximum length of the file with the state, in bytes.
const maxState = 16 << 10

// resumable reports whether the transfer can continue after the bytes that are on the disk.
func (s *state) resumable() bool { return s.Kept > 0 && (s.ETag != "" || s.Modified != "") }

// errBusy means that another process fetches the file.
var errBusy = errors.New("it is being fetched already, by a process that an earlier daemon left: it ends by itself")

// openPartial opens the part of a file that was already fetched, and locks it. If the file is already complete, whole
// is set and size is its length in bytes. The error is errBusy if another process fetches the file.
func openPartial(root, name string) (p *partial, size int64, whole bool, err error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, 0, false, err
	}
	p = &partial{root: r, name: name, since: time.Now()}
	if size, whole = p.whole(); whole {
		return p, size, true, nil
	}
	if err := p.open(); err != nil {
		p.close()
		return nil, 0, false, err
	}
	return p, 0, false, nil
}

// whole reports whether the complete file exists under its final name, and returns its length in bytes.
func (p *partial) whole() (size int64, whole bool) {
	info, err := p.root.Lstat(p.name)
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// part and stateFile return the names of the two files of an unfinished transfer: the bytes, and their state.
func (p *partial) part() string      { return p.name + ".part" }
func (p *partial) stateFile() string { return p.name + ".json" }

// open locks the bytes fetched so far, and reads their state.
func (p *partial) open() error {
	f, err := p.root.OpenFile(p.part(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	p.f = f
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: remove it", p.part())
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return errBusy
		}
		return os.NewSyscallError("flock", err)
	}
	if named, err := p.root.Lstat(p.part()); err != nil || !os.SameFile(info, named) {
		return errBusy // the other process completed the file before this process got the lock
	}
	p.state = p.readState(info.Size())
	return p.rewind(p.Kept)
}

// readState returns the state of the bytes fetched so far; size is their number. If the stored state cannot be right,
// readState returns the state of an empty file.
func (p *partial) readState(size int64) state {
	fresh := state{Total: -1}
	f, err := p.root.Open(p.stateFile())
	if err != nil {
		return fresh
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxState))
	if err != nil {
		return fresh
	}
	s := fresh
	if json.Unmarshal(text, &s) != nil || s.Spent < 0 {
		return fresh
	}
	if s.Kept < 0 || s.Kept > size || s.Total >= 0 && s.Kept > s.Total || !s.resumable() {
		return state{Total: -1, Spent: s.Spent}
	}
	return s
}

// rewind cuts off the bytes after a position.
func (p *partial) rewind(to int64) error {
	p.at = to
	if err := p.f.Truncate(to); err != nil {
		return err
	}
	_, err := p.f.Seek(to, io.SeekStart)
	return err
}

// begin discards the bytes, and starts the file in a new state.
func (p *partial) begin(s state) error {
	s.Spent, s.Kept = p.Spent, 0
	p.state = s
	if err := p.rewind(0); err != nil {
		return err
	}
	return p.save()
}

// write appends bytes to the file.
func (p *partial) write(b []byte) error {
	n, err := p.f.Write(b)
	p.mu.Lock()
	p.at += int64(n)
	p.mu.Unlock()
	return err
}

// syncEvery is the time between two syncs of a transfer's bytes. If this process dies, the bytes since the last sync
// are lost.
const syncEvery = 3 * time.Second

// syncing starts to sync the bytes to the disk every syncEvery. The caller must call over at the end of the transfer;
// over returns the error of syncing. Before the call of over, the caller may only call write.
func (p *partial) syncing() (over func() error) {
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ticks := time.NewTicker(syncEvery)
		defer ticks.Stop()
		for {
			select {
			case <-stop:
				ended <- nil
				return
			case <-ticks.C:
			}
			if err := p.sync(); err != nil {
				ended <- err
				return
			}
		}
	}()
	return func() error {
		close(stop)
		return <-ended
	}
}

// sync syncs the bytes to the disk and stores the state.
func (p *partial) sync() error {
	p.mu.Lock()
	at := p.at
	p.mu.Unlock()
	if at > p.Kept {
		if err := p.f.Sync(); err != nil {
			return err
		}
	}
	p.Kept = at
	return p.save()
}

// save stores the state. It adds the time since its last call to Spent. If a crash leaves a torn state file, readState
// returns the state of an empty file.
func (p *partial) save() error {
	now := time.Now()
	p.Spent += jjm.Duration(now.Sub(p.since))
	p.since = now
	text, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	if err := p.root.WriteFile(p.stateFile()+".new", text, 0o600); err != nil {
		return err
	}
	return p.root.Rename(p.stateFile()+".new", p.stateFile())
}

// sum returns the SHA-256 of the bytes fetched so far, in hexadecimal digits.
func (p *partial) sum() (string, error) {
	h := sha256.New()
	_, err := io.CopyBuffer(h, struct{ io.Reader }{io.NewSectionReader(p.f, 0, p.at)}, make([]byte, copyBuffer))
	return hex.EncodeToString(h.Sum(nil)), err
}

// finish syncs the complete file to the disk, renames it to its final name, and removes the file with the state.
func (p *partial) finish() error {
	if err := p.f.Sync(); err != nil {
		return err
	}
	if err := p.root.Rename(p.part(), p.name); err != nil {
		return err
	}
	if err := p.root.Remove(p.stateFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d, err := p.root.Open(path.Dir(p.name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// close releases the lock.
func (p *partial) close() {
	if p.f != nil {
		_ = p.f.Close()
	}
	_ = p.root.Close()
}

// copyBuffer is the size of the buffers, in bytes.
const copyBuffer = 256 << 10
