package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Look selects the files to read in a folder of a bulk that jobs write to. Only files of the bulk's positions are
// opened, whatever other files the folder contains.
type Look struct {
	// N is the number of positions of the bulk.
	N int
	// From is the position to begin with. After the last position follow the positions from 0 up to From.
	From int32
	// Skip reports whether to skip a position; nil skips no position.
	Skip func(pos int32) bool
}

// All is returned instead of the position at which to continue, if the files of all positions were read.
const All int32 = -1

// maxStrange is the largest number of names without a position that are skipped in one look. If a folder has more such
// names, because a job flooded it, its listing is no longer read, and the file of each position is tried.
const maxStrange = 4096

// unexpected describes names in a folder that belong to no position.
type unexpected struct {
	name  string // one of the names
	n     int
	flood bool // whether there are more than maxStrange
}

// why returns a text about the names for people. n is the number of positions.
func (s unexpected) why(n int) string {
	text := fmt.Sprintf("no result: want a file name <position>.json, with a position below %d", n)
	if s.flood {
		text += fmt.Sprintf("; the folder holds more than %d names besides", maxStrange)
	} else if s.n > 1 {
		text += fmt.Sprintf("; %d more such names", s.n-1)
	}
	return text
}

// positions returns the positions that may have a file in a folder, in the order of the look, and a description of the
// other names in the folder. A file has the name of its position followed by suffix. The number of names that are read
// is limited; if the folder has too many other names, positions returns all positions.
func (l Look) positions(dir *os.File, suffix string) (there []int32, more unexpected, err error) {
	const some = 1024
	for {
		names, err := dir.Readdirnames(some)
		for _, name := range names {
			pos, ok := position(name, suffix)
			switch {
			case ok && int(pos) < l.N:
				there = append(there, pos)
				continue
			case !isTmp(name):
				more.name = name
			}
			more.n++
		}
		if more.n > maxStrange {
			more.flood = true
			there = l.every()
			break
		}
		if errors.Is(err, io.EOF) || err == nil && len(names) == 0 {
			break
		}
		if err != nil {
			return nil, more, err
		}
	}
	if l.Skip != nil {
		there = slices.DeleteFunc(there, l.Skip)
	}
	slices.Sort(there)
	there = slices.Compact(there) // a listing of a changing folder may have a name twice
	i, _ := slices.BinarySearch(there, l.From)
	return append(there[i:], there[:i]...), more, nil
}

// every returns all positions in the order of the look.
func (l Look) every() []int32 {
	all := make([]int32, l.N)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}
