package xmldb

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/commons"
	"jjm/internal/sys/wary"
)

const (
	// dropMode allows every account to leave files, which only that account and the daemon can remove.
	dropMode = 0o733 | os.ModeSticky
	// unfinished is the age at which an incomplete file, which was not renamed, is removed.
	unfinished = time.Hour
)

// MostDropped is the largest amount of data that one account may have in a drop folder. The latest entries beyond it
// are removed.
var MostDropped = commons.Most{Bytes: 256 << 20, Names: 20_000}

// tally holds the entries of one account in the drop folder, and their total size.
type tally struct {
	heap    commons.Heap
	entries []os.FileInfo
	cut     bool // whether entries beyond the limits were removed
}

// census collects the entries of a drop folder by account during one scan.
type census struct {
	drop  *Drop
	now   time.Time
	of    map[int]*tally
	bad   []os.FileInfo  // complete files that are rejected unread; they count for no account
	stuck map[stamp]bool // entries that could not be removed
}

// count counts an entry. It removes the entry instead if the entry is strange, or if its account has far too many
// entries.
func (c *census) count(st os.FileInfo) {
	d := c.drop
	switch {
	case d.immovable[stampOf(st)]:
		c.stuck[stampOf(st)] = true
		return
	case complete(st.Name()) && acceptable(st) != nil && len(c.bad) < maxScan:
		c.bad = append(c.bad, st)
		return
	case complete(st.Name()) && acceptable(st) != nil, strange(st, c.now):
		c.remove(st)
		d.warn("an entry of the drop folder is not a plain file, or was never completed: it is removed", "dir", d.dir,
			"account", uidOf(st), "kind", jjm.FileKind(st.Mode()))
		return
	}
	t := c.of[uidOf(st)]
	if t == nil {
		t = &tally{heap: commons.Heap{UID: uidOf(st)}}
		c.of[uidOf(st)] = t
	}
	if len(t.entries) >= 2*d.most.Names && uidOf(st) != 0 { // limits the memory for a flood of entries
		c.remove(st)
		t.cut = true
		return
	}
	t.heap.Names++
	t.heap.Bytes += sizeOf(st)
	t.entries = append(t.entries, st)
}

// strange reports whether an entry without the name of a complete file must be removed unread: it is not a regular
// file, or has a second link and may belong to another account, or was not completed within unfinished.
func strange(st os.FileInfo, now time.Time) bool {
	if complete(st.Name()) {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return !st.Mode().IsRegular() || ok && (sys.Nlink > 1 || changedAt(st).Before(now.Add(-unfinished)))
}

// changedAt returns the time at which the entry last changed (st_ctime), which its owner cannot set.
func changedAt(st os.FileInfo) time.Time {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return time.Unix(sys.Ctim.Unix())
	}
	return st.ModTime()
}

// within removes the latest entries of accounts that have more entries than the folder allows, and returns the complete
// files. Root's entries are not limited.
func (c *census) within() []os.FileInfo {
	infos := c.bad
	for uid, t := range c.of {
		if uid != 0 && t.heap.Over(c.drop.most) {
			slices.SortFunc(t.entries, func(a, b os.FileInfo) int {
				return cmp.Or(changedAt(a).Compare(changedAt(b)), cmp.Compare(a.Name(), b.Name()))
			})
			for n := len(t.entries); n > 0 && t.heap.Over(c.drop.most); n = len(t.entries) {
				last := t.entries[n-1]
				c.remove(last)
				t.entries, t.cut = t.entries[:n-1], true
				t.heap.Names--
				t.heap.Bytes -= sizeOf(last)
			}
		}
		if t.cut {
			c.drop.warn("an account left too much in the drop folder: its latest files are removed", "dir", c.drop.dir, "account",
				uid, "files", c.drop.most.Names, "bytes", c.drop.most.Bytes)
		}
		for _, st := range t.entries {
			if complete(st.Name()) {
				infos = append(infos, st)
			}
		}
	}
	return infos
}

// remove removes an entry. If that fails, it notes the entry as stuck, so that later scans ignore it.
func (c *census) remove(st os.FileInfo) {
	if err := c.drop.clear(st.Name(), st); err != nil {
		c.stuck[stampOf(st)] = true
		c.drop.warn("an entry of the drop folder cannot be removed: remove it by hand", "dir", c.drop.dir, "account",
			uidOf(st), "kind", jjm.FileKind(st.Mode()))
	}
}

// DropFolder implements [commons.Folder] for the drop folder.
type DropFolder struct {
	// Dir is the path of the drop folder.
	Dir string
}

// Shut prevents other accounts from leaving files, until Open. It clears their write bits and keeps their search bits,
// from which Open restores the write bits.
func (f DropFolder) Shut() error {
	return f.change(func(m os.FileMode) os.FileMode { return m &^ 0o022 })
}

// Open allows other accounts to leave files again, if the folder exists. A folder that the site closed stays closed.
func (f DropFolder) Open() error {
	err := f.change(func(m os.FileMode) os.FileMode {
		if m&os.ModeSticky == 0 {
			return m
		}
		return m | m&0o011<<1
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// change changes the mode of the folder from m to to(m).
func (f DropFolder) change(to func(os.FileMode) os.FileMode) error {
	st, err := os.Lstat(f.Dir)
	if err != nil || !st.IsDir() {
		return err
	}
	const bits = os.ModePerm | os.ModeSticky | os.ModeSetgid
	if now, next := st.Mode()&bits, to(st.Mode()&bits); next != now {
		return os.Chmod(f.Dir, next)
	}
	return nil
}

// Heaps returns the number of entries and bytes that each account has in the folder. A folder counts with
// MostDropped.Bytes in addition to its own size. A file with a second link counts for no account.
func (f DropFolder) Heaps() ([]commons.Heap, error) {
	of := map[int]*commons.Heap{}
	err := f.each(func(_ *wary.Dir, st os.FileInfo) error {
		sys, ok := st.Sys().(*syscall.Stat_t)
		if ok && !st.IsDir() && sys.Nlink > 1 {
			return nil
		}
		h := of[uidOf(st)]
		if h == nil {
			h = &commons.Heap{Name: "drop", UID: uidOf(st)}
			of[uidOf(st)] = h
		}
		h.Names++
		h.Bytes += sizeOf(st)
		if st.IsDir() {
			h.Bytes += MostDropped.Bytes
		}
		return nil
	})
	var heaps []commons.Heap
	for _, h := range of {
		heaps = append(heaps, *h)
	}
	slices.SortFunc(heaps, func(a, b commons.Heap) int { return cmp.Compare(a.UID, b.UID) })
	return heaps, err
}

// Remove removes all entries of an account in the folder.
func (f DropFolder) Remove(h commons.Heap) error {
	return f.each(func(in *wary.Dir, st os.FileInfo) error {
		if uidOf(st) != h.UID {
			return nil
		}
		if err := clearIn(in, st.Name(), st); err != nil {
			return fmt.Errorf("drop folder %s: %w", f.Dir, err)
		}
		return nil
	})
}

// each calls do for each entry of the folder except refused/. It continues after an error, and returns all errors.
func (f DropFolder) each(do func(in *wary.Dir, st os.FileInfo) error) error {
	in, err := wary.In(f.Dir)
	if err != nil {
		return err
	}
	defer in.Close()
	dir, err := os.Open(f.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	var trouble error
	for {
		names, err := dir.Readdirnames(1000)
		for _, name := range names {
			if name == refusedDir {
				continue
			}
			if st, err := in.Lstat(name); err == nil {
				trouble = errors.Join(trouble, do(in, st))
			}
		}
		if errors.Is(err, io.EOF) {
			return trouble
		}
		if err != nil {
			return errors.Join(trouble, err)
		}
	}
}
