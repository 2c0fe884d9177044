package highwater

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
)

// File is the name of the mark's file, which is beside the store.
const File = "store.ids"

// The mark has two slots, which are written in turn. Each is a line padded with blanks; a slot that a crash left torn
// is ignored. A slot is as long as the smallest block of a disk and is overwritten in place, which needs no free space.
const (
	slots    = 2
	slotSize = 512
	magic    = "jjm-ids-1"
)

// Written is the content of a mark.
type Written struct {
	// Store is the identity of the store.
	Store string
	// Given is the highest id that was assigned, 0 if there is none.
	Given jjm.GridID
}

// Read reads the mark at path. It returns nil if there is no mark. The error is of kind Invalid if the mark is damaged.
func Read(path string) (*Written, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how far ids were given out: %w", err)
	}
	defer f.Close()
	w, _, err := read(f)
	return w, err
}

// read returns the newer slot and its number.
func read(f *os.File) (newest *Written, slot int, err error) {
	text := make([]byte, slots*slotSize)
	n, err := io.ReadFull(f, text)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, 0, fmt.Errorf("read how far ids were given out: %w", err)
	}
	for i := range slots {
		w, ok := decode(text[min(i*slotSize, n):min((i+1)*slotSize, n)])
		if ok && (newest == nil || w.Given > newest.Given) {
			newest, slot = &w, i
		}
	}
	if newest == nil {
		return nil, 0, jjm.Errorf(jjm.Invalid, "%s, which says how far ids were given out, is damaged: if store.db is the "+
			"one that was here, remove %s, and it is made anew", f.Name(), File)
	}
	return newest, slot, nil
}

// encode returns the bytes of a slot. People can read the line, too.
func encode(w Written) []byte {
	line := fmt.Sprintf("%s store %s given %d", magic, w.Store, w.Given)
	line = fmt.Sprintf("%s sum %08x", line, crc32.ChecksumIEEE([]byte(line)))
	return fmt.Appendf(nil, "%-*s\n", slotSize-1, line)
}

// decode parses a slot. ok is false if the slot is torn or empty.
func decode(slot []byte) (w Written, ok bool) {
	line := strings.TrimRight(string(slot), " \n")
	body, sum, found := strings.Cut(line, " sum ")
	if !found || sum != fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) {
		return w, false
	}
	words := strings.Fields(body) // the form is: MAGIC store STORE given ID
	if len(words) != 5 || words[0] != magic || words[1] != "store" || words[3] != "given" {
		return w, false
	}
	given, err := strconv.ParseInt(words[4], 10, 64)
	return Written{Store: words[2], Given: jjm.GridID(given)}, err == nil && given >= 0
}

// Mark is the mark of the open store. Its methods may be called from many goroutines.
type Mark struct {
	store string
	want  atomic.Int64 // the highest id for which Reach was called

	mu    sync.Mutex
	f     *os.File
	slot  int // the slot to write next
	given jjm.GridID
}

// Open opens the mark of a store and raises it to the highest id that the store knows. The caller must have checked the
// store with Fit. If there is no mark, or if the mark is of another store, Open creates a mark. The error is of kind
// Invalid if the mark is damaged, and Busy if the file cannot be opened or written.
func Open(path, store string, highest jjm.GridID) (*Mark, error) {
	there, err := Read(path)
	if err != nil {
		return nil, err
	}
	if there == nil || there.Store != store {
		if err := create(path, Written{Store: store, Given: highest}); err != nil {
			return nil, jjm.Errorf(jjm.Busy, "make %s: %w", path, err)
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "open how far ids were given out: %w", err)
	}
	w, slot, err := read(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m := &Mark{store: store, f: f, slot: (slot + 1) % slots, given: w.Given}
	if err := m.Reach(highest); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return m, nil
}

// create creates the file, with the same content in both slots.
func create(path string, w Written) error {
	both := append(encode(w), encode(w)...)
	if err := renameio.WriteFile(path, both, 0o600, renameio.WithTempDir(filepath.Dir(path))); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Reach raises the mark to at least id and syncs it. Concurrent calls share one write. The error is of kind Busy if the
// file cannot be written or synced.
func (m *Mark) Reach(id jjm.GridID) error {
	for {
		want := m.want.Load()
		if int64(id) <= want || m.want.CompareAndSwap(want, int64(id)) {
			break
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if id <= m.given {
		return nil
	}
	next := jjm.GridID(m.want.Load())
	if _, err := m.f.WriteAt(encode(Written{m.store, next}), int64(m.slot*slotSize)); err != nil {
		return jjm.Errorf(jjm.Busy, "write down that ids up to %d are given out: %w", next, err)
	}
	if err := unix.Fdatasync(int(m.f.Fd())); err != nil {
		return jjm.Errorf(jjm.Busy, "write down that ids up to %d are given out: %w", next, err)
	}
	m.slot, m.given = (m.slot+1)%slots, next
	return nil
}

// Close closes the file.
func (m *Mark) Close() error { return m.f.Close() }
