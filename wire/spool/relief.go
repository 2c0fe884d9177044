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

// share is what a box may take of a disk that is full, in bytes and in names.
const (
	shareBytes = 1 << 20
	shareNames = 1000
)

// Taken is a box that was taken away from its account.
type Taken struct {
	Name  string
	UID   int
	Bytes int64
	Names int
}

// Shut keeps everybody from making boxes, and from coming to theirs by name, until
// [Make] opens the folder again.
func Shut(dir string) error {
	in, err := Open(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	return in.dir.Chmod(0o700)
}

// Relieve makes room on a full disk: it takes away the boxes that hold more than
// their share, the heaviest first, until there is enough. What lay there is lost, so
// told hears of each. The daemon calls it, on a folder that is shut.
func Relieve(dir string, enough func() bool, told func(Taken)) error {
	in, err := Open(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	var heavy []Taken
	if err := in.every(func(b *Box) error {
		t := b.weight()
		if t.Bytes > shareBytes || t.Names > shareNames {
			heavy = append(heavy, t)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	slices.SortFunc(heavy, func(a, b Taken) int {
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
		if err := in.takeAway(below, t); err != nil {
			trouble = errors.Join(trouble, err)
			continue
		}
		told(t)
	}
	return trouble
}

// takeAway removes a box with all in it. It is nobody's first, so that who has it
// open can make nothing in it any more.
func (in *In) takeAway(below *wary.Dir, t Taken) error {
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

// weight is what lies in a box. Folders are not entered: a box with one, which no
// entry is, weighs more than any that has none.
func (b *Box) weight() Taken {
	t := Taken{Name: b.Name(), UID: b.UID}
	for t.Names <= 2*MaxEntries {
		names, err := b.dir.Readdirnames(chunk)
		for _, name := range names {
			bytes, folder := b.weigh(name)
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

// weigh is what a name takes, in bytes: its length, or what is allocated for it if
// that is more (FALLOC_FL_KEEP_SIZE of fallocate(2)). Nothing is opened.
func (b *Box) weigh(name string) (bytes int64, folder bool) {
	f, err := openat(b.dir, name, unix.O_PATH)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return 0, false
	}
	return weightOf(&st), st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func weightOf(st *unix.Stat_t) int64 { return max(st.Size, st.Blocks*512) }

// Fit is how many of the entries, from the first on, an account may have waiting.
// Those that are too long to be entries count nothing: they are removed unread.
func (b *Box) Fit(names []Name) int {
	var sum int64
	for i, n := range names {
		if bytes, _ := b.weigh(n.String()); bytes <= MaxEntry+slack {
			sum += bytes
		}
		if i >= MaxEntries || sum > MaxBytes {
			return i
		}
	}
	return len(names)
}

// slack is what a file system may allocate beyond a file's length.
const slack = 1 << 20
