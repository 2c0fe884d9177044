// Package commons defends the disk of folders in which other accounts can write. The space that each account takes
// there is counted. When the disk is full, an account that has more than its share loses its files, and no other
// account loses any. Each folder defines how it counts and removes.
package commons

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// Heap is an account's files in a folder.
type Heap struct {
	// Name is the place of the heap, for people: the name of a box, or of the folder.
	Name string
	UID  int
	// Bytes is the space that the heap takes, Names the number of its entries.
	Bytes int64
	Names int
}

// Most bounds a heap. The zero value bounds nothing.
type Most struct {
	Bytes int64
	Names int
}

// Share is the amount that each account may keep in a common folder while the disk is full.
var Share = Most{Bytes: 1 << 20, Names: 1000}

// Over reports whether a heap is beyond a bound.
func (h Heap) Over(m Most) bool {
	return m.Bytes > 0 && h.Bytes > m.Bytes || m.Names > 0 && h.Names > m.Names
}

// Folder is a folder in which other accounts can write.
type Folder interface {
	// Shut keeps other accounts from adding anything.
	Shut() error
	// Heaps returns the heap of each account in the folder. The error wraps fs.ErrNotExist if there is no folder.
	Heaps() ([]Heap, error)
	// Remove removes a heap with everything in it.
	Remove(Heap) error
}

// Relieve makes room on a full disk that folders share: it removes the heaps that are over the [Share], the largest
// of all folders first, until enough returns true. The files in a removed heap are lost, so Relieve calls removed for
// each heap. The caller must have shut the folders. A folder that cannot be counted is skipped; the error has all
// failures except missing folders.
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

// Allocated returns how many bytes a file takes: its length, or the space allocated for the file if that is more
// (FALLOC_FL_KEEP_SIZE of fallocate(2)).
func Allocated(size, blocks int64) int64 { return max(size, blocks*512) }

// OfStat is [Allocated] for a result of stat(2).
func OfStat(st *unix.Stat_t) int64 { return Allocated(st.Size, st.Blocks) }
