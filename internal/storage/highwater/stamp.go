package highwater

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"jjm/internal/jjm"
)

// StampFile is the name of a stamp's file in its folder. No account has a work area of that name.
const StampFile = ".store.ids"

// block is the number of ids that one write to the stamps reserves.
const block = 100

// Stamp is the content of a stamp. It names the store to which a folder belongs.
type Stamp struct {
	// Store is the identity of the store.
	Store string
	// Until is the end of the block of ids that was reserved last. No id above it was assigned.
	Until jjm.GridID
	// Given is an id that was assigned. [Stamps.Keep] writes it about a second after the assignment.
	Given jjm.GridID
}

// Reserved returns the last id of the block that contains an id.
func Reserved(id jjm.GridID) jjm.GridID { return (max(id, 0) + block - 1) / block * block }

// Relation describes whether a folder with a stamp belongs to a store.
type Relation int

// The relations of a stamp to a store.
const (
	// Unstamped means that the folder has no stamp yet.
	Unstamped Relation = iota
	// Fits means that the folder belongs to the store.
	Fits
	// Foreign means that the folder belongs to another store.
	Foreign
	// Older means that the store is an older copy of the store to which the folder belongs.
	Older
)

// Relate returns the relation of a stamp to a store; the stamp is nil if the folder has none. highest is the highest id
// that the store knows. A block may be reserved just before its first id is stored, so a stamp may be one block ahead
// of its store.
func Relate(store string, highest jjm.GridID, s *Stamp) Relation {
	switch {
	case s == nil:
		return Unstamped
	case s.Store != store:
		return Foreign
	case s.Given > highest || s.Until > Reserved(highest+1):
		return Older
	}
	return Fits
}

// Stamped is a folder and its stamp.
type Stamped struct {
	Dir   string
	Stamp *Stamp // nil if the folder has no stamp
}

// FitStamps returns an error of kind Conflict if a folder belongs to another store or to a newer copy of this store.
func FitStamps(store string, highest jjm.GridID, folders []Stamped) error {
	const remedy = "With the daemon stopped, put the store back that was here: store.db together with store.db-wal and " +
		"store.db-shm if they are there. If it is lost, or the folder is to be this store's: " + adopt +
		", which goes on above the highest id that any folder knows"
	for _, f := range folders {
		switch Relate(store, highest, f.Stamp) {
		case Foreign:
			this := "this one is " + store
			if store == "" {
				this = "this one is new"
			}
			return jjm.Errorf(jjm.Conflict, "%s belongs to another store: %s, and %s; ids up to %d may have been given out "+
				"there. If the daemon of that store still runs, set state and work to other folders. %s", f.Dir, f.Stamp.Store,
				this, f.Stamp.highest(), remedy)
		case Older:
			return jjm.Errorf(jjm.Conflict, "store.db is older than %s: it knows grid jobs up to %d, and there ids up to %d "+
				"may have been given out, which would be given out again. %s", f.Dir, highest, f.Stamp.highest(), remedy)
		}
	}
	return nil
}

// highest returns an upper bound for the assigned ids, according to the stamp.
func (s *Stamp) highest() jjm.GridID { return max(s.Until, s.Given) }

// Known returns an upper bound for the assigned ids, as far as the folders show.
func (f Folder) Known() jjm.GridID {
	known := max(f.Record, f.Area)
	if f.Mark != nil {
		known = max(known, f.Mark.Given)
	}
	for _, s := range f.Stamps {
		if s.Stamp != nil {
			known = max(known, s.Stamp.highest())
		}
	}
	return known
}

const stampMagic = "jjm-stamp-1"

// ReadStamp reads the stamp of a folder. It returns nil if there is no stamp, and an error of kind Invalid if the stamp
// is damaged.
func ReadStamp(dir string) (*Stamp, error) {
	path := filepath.Join(dir, StampFile)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which store a folder belongs to: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, slotSize))
	if err != nil {
		return nil, fmt.Errorf("read which store a folder belongs to: %w", err)
	}
	var s Stamp
	body, sum, _ := strings.Cut(strings.TrimSpace(string(text)), " sum ")
	words := strings.Fields(body) // the form is: MAGIC store STORE until ID given ID
	if len(words) == 7 && words[0] == stampMagic && sum == sumOf(body) {
		until, bad := strconv.ParseInt(words[4], 10, 64)
		given, worse := strconv.ParseInt(words[6], 10, 64)
		s = Stamp{Store: words[2], Until: jjm.GridID(until), Given: jjm.GridID(given)}
		if bad == nil && worse == nil {
			return &s, nil
		}
	}
	return nil, jjm.Errorf(jjm.Invalid, "%s, which says which store the folder belongs to, is damaged: if store.db is "+
		"the one that was here, remove %s, and it is made anew", path, StampFile)
}

func sumOf(body string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) }

// write replaces the stamp of a folder.
func (s Stamp) write(dir string) error {
	body := fmt.Sprintf("%s store %s until %d given %d", stampMagic, s.Store, s.Until, s.Given)
	return renameio.WriteFile(filepath.Join(dir, StampFile), []byte(body+" sum "+sumOf(body)+"\n"), 0o644,
		renameio.WithTempDir(dir))
}

// patience is the longest time that [Stamps.Reserve] waits for folders that do not respond.
const patience = 5 * time.Second

// Stamps are the stamps of the folders of the open store. Its methods may be called from many goroutines.
type Stamps struct {
	store string
	dirs  []string
	until atomic.Int64 // the highest id that all stamps allow
	given atomic.Int64

	turn    chan struct{} // has a value while no goroutine writes
	written jjm.GridID    // the value of Given in all stamps; guarded by turn
}

// Take writes the stamps of a store that fits its folders, or makes other folders belong to the store. highest is the
// highest id that the store knows. The folders must exist. If the disk of a folder is full, Reserve writes the stamp
// later. The error is of kind Busy if a folder cannot be written for another reason.
func Take(store string, highest jjm.GridID, dirs []string) (*Stamps, error) {
	s := &Stamps{store: store, dirs: dirs, turn: make(chan struct{}, 1)}
	s.given.Store(int64(highest))
	s.until.Store(int64(Reserved(highest)))
	for _, dir := range dirs {
		until, err := s.take(dir, highest)
		if err != nil && !full(err) {
			return nil, jjm.Errorf(jjm.Busy, "write into %s which store it belongs to: %w: make the folder writable for "+
				"this account", dir, err)
		}
		s.until.Store(min(s.until.Load(), int64(until)))
	}
	s.written = highest
	s.turn <- struct{}{}
	return s, nil
}

// take writes one stamp, unless the present stamp allows enough ids. It returns the highest id that the stamp allows.
func (s *Stamps) take(dir string, highest jjm.GridID) (until jjm.GridID, err error) {
	there, err := ReadStamp(dir)
	if err == nil && Relate(s.store, highest, there) == Fits && there.Until >= Reserved(highest) {
		return there.Until, nil
	}
	err = Stamp{Store: s.store, Until: Reserved(highest), Given: highest}.write(dir)
	if err != nil {
		return 0, err
	}
	return Reserved(highest), nil
}

// full reports whether an error means that a disk or a quota is full, which may change while the daemon runs.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Reserved reports whether the stamps allow an id to be assigned. If there are no folders, every id is allowed.
// Reserved reads no file.
func (s *Stamps) Reserved(id jjm.GridID) bool { return int64(id) <= s.until.Load() || len(s.dirs) == 0 }

// Reserve raises the stamps so that they allow an id. The error is of kind Busy if a folder is missing, does not
// respond, or now belongs to another store.
func (s *Stamps) Reserve(ctx context.Context, id jjm.GridID) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	late := func() error {
		return jjm.Errorf(jjm.Busy, "%s: no answer while ids are reserved there", strings.Join(s.dirs, ", "))
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return late()
	}
	done := make(chan error, 1)
	go func() {
		defer func() { s.turn <- struct{}{} }()
		done <- s.raise(id)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return late()
	}
}

// raise raises all stamps so that they allow an id. The caller must hold the turn.
func (s *Stamps) raise(id jjm.GridID) error {
	if s.Reserved(id) {
		return nil
	}
	next := Stamp{Store: s.store, Until: Reserved(id), Given: jjm.GridID(s.given.Load())}
	if err := s.writeAll(next); err != nil {
		return err
	}
	s.until.Store(int64(next.Until))
	return nil
}

// writeAll writes all stamps. It returns an error if a folder now belongs to another store.
func (s *Stamps) writeAll(next Stamp) error {
	for _, dir := range s.dirs {
		if err := s.writeIn(dir, next); err != nil {
			return err
		}
	}
	s.written = next.Given
	return nil
}

// writeIn writes the stamp of one folder. It returns an error if the folder now belongs to another store. The caller
// must hold the turn.
func (s *Stamps) writeIn(dir string, next Stamp) error {
	there, err := ReadStamp(dir)
	if err == nil && there != nil && there.Store != s.store {
		return jjm.Errorf(jjm.Busy, "%s belongs to another store by now: %s, and this one is %s. Stop one of the two "+
			"daemons", dir, there.Store, s.store)
	}
	if err := next.write(dir); err != nil {
		return jjm.Errorf(jjm.Busy, "write down that ids up to %d are reserved: %w", next.Until, err)
	}
	return nil
}

// Renew writes the stamp of a folder that was created again. It does nothing if the folder is not in the list of the
// store's folders. The error is of kind Busy if the folder belongs to another store, or if the stamps are being written
// now.
func (s *Stamps) Renew(dir string) error {
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	default:
		return jjm.Errorf(jjm.Busy, "%s: the stamps of the store are being written", dir)
	}
	if !slices.Contains(s.dirs, dir) {
		return nil
	}
	return s.writeIn(dir, Stamp{Store: s.store, Until: jjm.GridID(s.until.Load()), Given: jjm.GridID(s.given.Load())})
}

// Gave notes that an id was assigned. [Stamps.Keep] writes it to the stamps.
func (s *Stamps) Gave(id jjm.GridID) {
	for {
		was := s.given.Load()
		if int64(id) <= was || s.given.CompareAndSwap(was, int64(id)) {
			return
		}
	}
}

// Keep writes the assigned ids to the stamps every second until ctx ends, and then a last time. It retries after an
// error.
func (s *Stamps) Keep(ctx context.Context) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		select {
		case <-s.turn:
			if given := jjm.GridID(s.given.Load()); given > s.written {
				_ = s.writeAll(Stamp{Store: s.store, Until: jjm.GridID(s.until.Load()), Given: given})
			}
			s.turn <- struct{}{}
		default: // a folder does not respond
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// IDs are the mark and the stamps of the open store.
type IDs struct {
	*Mark
	*Stamps
}

// Reach raises the mark to an id before it returns. It also notes the id for the stamps.
func (s IDs) Reach(id jjm.GridID) error {
	s.Gave(id)
	return s.Mark.Reach(id)
}
