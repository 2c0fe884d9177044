package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Look bounds a look into a folder of a bulk that jobs write to. Whatever lies
// there, only files of the bulk's positions are opened.
type Look struct {
	// N is how many positions the bulk has.
	N int
	// From is where to begin. It goes on to the last position, and then from the
	// first on up to this one.
	From int32
	// Skip names positions that are not looked at; nil: none.
	Skip func(pos int32) bool
}

// All is the position at which to go on after a look at all of them.
const All int32 = -1

// maxStrange is how many names that are no position's are passed over in one look.
// In a folder with more, files are opened by position, whatever its listing says:
// it is flooded.
const maxStrange = 4096

// unexpected are names in a folder that belong to no position.
type unexpected struct {
	name  string // one of them
	n     int
	flood bool // there are more
}

// why says what is wrong with them.
func (s unexpected) why(n int) string {
	text := fmt.Sprintf("no result: want a file name <position>.json, with a position below %d", n)
	if s.flood {
		text += fmt.Sprintf("; the folder holds more than %d names besides", maxStrange)
	} else if s.n > 1 {
		text += fmt.Sprintf("; %d more such names", s.n-1)
	}
	return text
}

// positions returns the positions that may have a file in a folder, in the order of
// the look. It reads a bounded number of names at a time, and in all.
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
	there = slices.Compact(there) // a folder that changes may name one twice
	i, _ := slices.BinarySearch(there, l.From)
	return append(there[i:], there[:i]...), more, nil
}

// every returns all positions.
func (l Look) every() []int32 {
	all := make([]int32, l.N)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}
