package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"jjm/internal/sys/commons"
	"jjm/internal/sys/wary"
)

// Boxes implements [commons.Folder] for the folder of the boxes.
type Boxes struct {
	// Dir is the spool.
	Dir string
}

// Shut prevents all other accounts from making and opening boxes, until [Make] opens the folder again.
func (bs Boxes) Shut() error {
	in, err := Open(bs.Dir)
	if err != nil {
		return err
	}
	defer in.Close()
	return in.dir.Chmod(0o700)
}

// Heaps returns the size and the number of names of each box.
func (bs Boxes) Heaps() ([]commons.Heap, error) {
	in, err := Open(bs.Dir)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var heaps []commons.Heap
	if err := in.eachBox(func(b *Box) error {
		heaps = append(heaps, b.usage())
		return nil
	}); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return heaps, nil
}

// Remove removes a box and all its files.
func (bs Boxes) Remove(h commons.Heap) error {
	in, err := Open(bs.Dir)
	if err != nil {
		return err
	}
	defer in.Close()
	below, err := wary.In(bs.Dir)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	defer below.Close()
	return in.removeBox(below, h)
}

// removeBox removes a box and all its files. If this process is root, it first becomes the owner of the box, so that a
// process that has the box open cannot add files.
func (in *In) removeBox(below *wary.Dir, t commons.Heap) error {
	b, err := in.Named(t.Name, t.UID)
	if err != nil {
		return fmt.Errorf("spool: box %s: %w", t.Name, err)
	}
	defer b.Close()
	if os.Geteuid() == 0 {
		if err := errors.Join(b.dir.Chown(0, 0), b.dir.Chmod(0o700)); err != nil {
			return fmt.Errorf("spool: take box %s from account %d: %w", t.Name, t.UID, err)
		}
	}
	if err := below.RemoveAll(filepath.Join(inName, t.Name)); err != nil {
		return fmt.Errorf("spool: take box %s from account %d: %w", t.Name, t.UID, err)
	}
	return nil
}

// usage returns the number of bytes and the number of names in a box. It does not look into folders: each folder counts
// as MaxBytes, because gatekeepers make no folders in a box. usage stops after about 2*MaxEntries names.
func (b *Box) usage() commons.Heap {
	t := commons.Heap{Name: b.Name(), UID: b.UID}
	for t.Names <= 2*MaxEntries {
		names, err := b.dir.Readdirnames(chunk)
		for _, name := range names {
			bytes, folder := b.sizeOf(name)
			if folder {
				bytes = MaxBytes
			}
			t.Bytes += bytes
		}
		t.Names += len(names)
		if err != nil {
			break
		}
	}
	return t
}

// sizeOf returns the number of bytes that a file uses on disk: its length, or the space allocated for it if that is
// more (FALLOC_FL_KEEP_SIZE of fallocate(2)). folder reports whether the name is a folder. sizeOf does not open the
// file; for a name that cannot be examined it returns 0 and false.
func (b *Box) sizeOf(name string) (bytes int64, folder bool) {
	f, err := openat(b.dir, name, unix.O_PATH)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return 0, false
	}
	return commons.OfStat(&st), st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// Fit returns how many of the entries, counted from the first, are within the limits of an account: MaxEntries entries
// and MaxBytes bytes. A file that is too long for an entry counts as 0 bytes, because the daemon removes it unread.
func (b *Box) Fit(names []Name) int {
	var sum int64
	for i, n := range names {
		if bytes, _ := b.sizeOf(n.String()); bytes <= MaxEntry+slack {
			sum += bytes
		}
		if i >= MaxEntries || sum > MaxBytes {
			return i
		}
	}
	return len(names)
}

// slack is the number of bytes that a file system may allocate beyond the length of a file.
const slack = 1 << 20
