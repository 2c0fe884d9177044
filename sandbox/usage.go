package sandbox

import (
	"os"

	"jjm/internal/jjm"
	"jjm/internal/sys/diskuse"
)

// Usage counts the files in the area and their bytes. It stops counting at a limit in most. Its errors are of kind
// Busy.
func (a *Area) Usage(most diskuse.Most) (diskuse.Use, error) {
	switch fs := a.fs.(type) {
	case interface {
		Usage(most diskuse.Most) (diskuse.Use, error)
	}:
		use, err := fs.Usage(most)
		return use, a.wrap(err, "count the files in %s", a.root)
	case *os.Root:
		use, err := diskuse.Count(fs, most)
		return use, a.wrap(err, "count the files in %s", a.root)
	}
	return diskuse.Use{}, jjm.Errorf(jjm.Busy, "sandbox: the files in %s cannot be counted", a.root)
}
