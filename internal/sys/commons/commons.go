// Package commons protects the disk of folders in which other accounts can write. It counts the space that each account
// uses there. When the disk is full, an account that uses more than its share loses its files; no other account loses
// files. Each folder defines how its files are counted and removed.
package commons

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// Heap describes all files that one account has in a folder.
type Heap struct {
	// Name is a text for people: the name of a box, or of the folder.
	Name string
	UID  int
	// Bytes is the space that the heap uses. Names is the number of its entries.
	Bytes int64
	Names int
}

// Most is the maximum size of a heap. A zero field means no limit.
type Most struct {
	Bytes int64
	Names int
}

// Share is the amount that each account may keep in a common folder while the disk is full.
var Share = Most{Bytes: 1 << 20, Names: 1000}

// Over reports whether a heap exceeds one of the limits.
func (h Heap) Over(m Most) bool {
	return m.Bytes > 0 && h.Bytes > m.Bytes || m.Names > 0 && h.Names > m.Names
}

// Folder is a folder in which other accounts can write.
type Folder interface {
	// Shut prevents other accounts from adding files.
	Shut() error
	// Heaps returns the heap of each account in the folder. The error wraps fs.ErrNotExist if there is no folder.
	Heaps() ([]Heap, error)
	// Remove removes a heap with all its files.
	Remove(Heap) error
}

// Relieve frees space on a full disk that folders share. It removes the heaps that exceed the [Share], the largest heap
// of all folders first, until enough returns true. The files of a removed heap are lost, so Relieve calls removed for
// each removed heap. The caller must have shut the folders. A folder that cannot be counted is skipped; the error
// contains all failures except missing folders.
func Relieve(folders []Folder, enough func() bool, removed func(Heap)) error {
	type found struct {
		Heap
		in Folder
	}
	var heavy []found
	var trouble error
	for _, f := range folders {
		heaps, err := f.Heaps()
		if !errors.Is(err, fs.ErrNotExist) {
			trouble = errors.Join(trouble, err)
		}
		for _, h := range heaps {
			if h.Over(Share) {
				heavy = append(heavy, found{h, f})
			}
		}
	}
	slices.SortStableFunc(heavy, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Names, a.Names))
	})
	for _, h := range heavy {
		if enough() {
			break
		}
		if err := h.in.Remove(h.Heap); err != nil {
			trouble = errors.Join(trouble, err)
			continue
		}
		removed(h.Heap)
	}
	return trouble
}

// Allocated returns the number of bytes that a file uses: its length, or the space allocated for the file if that is
// more (FALLOC_FL_KEEP_SIZE of fallocate(2)).
func Allocated(size, blocks int64) int64 { return max(size, blocks*512) }

// OfStat returns the number of bytes that a file uses, from a result of stat(2).
func OfStat(st *unix.Stat_t) int64 { return Allocated(st.Size, st.Blocks) }
