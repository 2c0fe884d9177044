// Package commons defends the disk of folders in which other accounts can write: what an account
// takes there is counted, whoever has more than a share loses it when the disk is full, and the
// others lose nothing. Each folder says how it counts and removes.
package commons

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// Heap is what one account has in a folder.
type Heap struct {
	// Name says where it is, for people: the name of a box, or of the folder.
	Name string
	UID  int
	// Bytes is the space that it takes, Names how many entries it has.
	Bytes int64
	Names int
}

// Most bounds a heap. The zero value bounds nothing.
type Most struct {
	Bytes int64
	Names int
}

// Share is what each account may keep on a full disk.
var Share = Most{Bytes: 1 << 20, Names: 1000}

// Over reports whether a heap is beyond a bound.
func (h Heap) Over(m Most) bool {
	return m.Bytes > 0 && h.Bytes > m.Bytes || m.Names > 0 && h.Names > m.Names
}

// Folder is a folder in which other accounts can write.
type Folder interface {
	// Shut keeps other accounts from adding anything.
	Shut() error
	// Heaps returns what each account has there. The error wraps fs.ErrNotExist if there is no
	// folder.
	Heaps() ([]Heap, error)
	// Remove removes a heap with everything in it.
	Remove(Heap) error
}

// Relieve makes room on a full disk that folders share: it removes the heaps that are over the
// [Share], the largest of all folders first, until enough returns true. What is in them is lost, so
// it calls removed for each. The caller shuts the folders before. A folder that cannot be counted
// is passed over; the error has all trouble but folders that do not exist.
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

// Allocated returns how many bytes a file takes: its length, or the space allocated for it if that
// is more (FALLOC_FL_KEEP_SIZE of fallocate(2)).
func Allocated(size, blocks int64) int64 { return max(size, blocks*512) }

// OfStat is [Allocated] of what stat(2) says.
func OfStat(st *unix.Stat_t) int64 { return Allocated(st.Size, st.Blocks) }
