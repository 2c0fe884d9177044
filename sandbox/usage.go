package sandbox

import (
	"os"

	"jjm/internal/jjm"
	"jjm/internal/sys/diskuse"
)

// Usage counts the files below a folder of the area, and their bytes; "." is the area itself. It stops counting at a
// limit in most. Its errors are of kind Busy.
func (a *Area) Usage(dir string, most diskuse.Most) (diskuse.Use, error) {
	switch fs := a.fs.(type) {
	case interface {
		Usage(dir string, most diskuse.Most) (diskuse.Use, error)
	}:
		use, err := fs.Usage(dir, most)
		return use, a.wrap(err, "count the files in %s", a.root)
	case *os.Root:
		use, err := diskuse.Count(fs, dir, most)
		return use, a.wrap(err, "count the files in %s", a.root)
	}
	return diskuse.Use{}, jjm.Errorf(jjm.Busy, "sandbox: the files in %s cannot be counted", a.root)
}
