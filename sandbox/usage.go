package sandbox

import (
	"os"

	"jjm"
	"jjm/internal/diskuse"
)

// Usage counts what lies in the area, within bounds. Errors are of kind Busy.
func (a *Area) Usage(most diskuse.Most) (diskuse.Use, error) {
	switch fs := a.fs.(type) {
	case interface {
		Usage(most diskuse.Most) (diskuse.Use, error)
	}:
		use, err := fs.Usage(most)
		return use, wrap(err, "count what lies in %s", a.root)
	case *os.Root:
		use, err := diskuse.Count(fs, most)
		return use, wrap(err, "count what lies in %s", a.root)
	}
	return diskuse.Use{}, jjm.Errorf(jjm.Busy, "sandbox: what lies in %s cannot be counted", a.root)
}
