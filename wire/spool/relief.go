package spool

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"jjm/internal/wary"
)

// What a box may keep on a full disk, in bytes and in names.
const (
	shareBytes = 1 << 20
	shareNames = 1000
)

// RemovedBox describes a box that [Relieve] removed.
type RemovedBox struct {
	Name  string
	UID   int
	Bytes int64
	Names int
}

// Shut keeps all other accounts from making boxes and from opening theirs, until [Make]
// opens the folder again.
func Shut(dir string) error {
	in, err := Open(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	return in.dir.Chmod(0o700)
}

// Relieve makes room on a full disk: it removes the boxes that hold more than their share,
// the largest first, until enough returns true. Their entries are lost, so it calls removed
// for each. The daemon calls it after [Shut].
func Relieve(dir string, enough func() bool, removed func(RemovedBox)) error {
	in, err := Open(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	var heavy []RemovedBox
	if err := in.eachBox(func(b *Box) error {
		t := b.usage()
		if t.Bytes > shareBytes || t.Names > shareNames {
			heavy = append(heavy, t)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	slices.SortFunc(heavy, func(a, b RemovedBox) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Names, a.Names))
	})
	below, err := wary.In(dir)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	defer below.Close()
	var trouble error
	for _, t := range heavy {
		if enough() {
			break
		}
		if err := in.removeBox(below, t); err != nil {
			trouble = errors.Join(trouble, err)
			continue
		}
		removed(t)
	}
	return trouble
}

// removeBox removes a box with everything in it. Root takes the ownership first, so that a
// process which has the box open cannot add anything.
func (in *In) removeBox(below *wary.Dir, t RemovedBox) error {
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

// usage returns what a box holds. It does not enter folders: a box that contains one counts
// as larger than any box without, because no entry is a folder.
func (b *Box) usage() RemovedBox {
	t := RemovedBox{Name: b.Name(), UID: b.UID}
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

// sizeOf returns how many bytes a name takes: its length, or the space allocated for it if
// that is more (FALLOC_FL_KEEP_SIZE of fallocate(2)). It does not open the file.
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
	return allocated(&st), st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func allocated(st *unix.Stat_t) int64 { return max(st.Size, st.Blocks*512) }

// Fit returns how many of the entries, counted from the first, are within the limits of an
// account. Files too long to be entries count as 0 bytes, because the daemon removes them
// unread.
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

// slack is how many bytes a file system may allocate beyond the length of a file.
const slack = 1 << 20
