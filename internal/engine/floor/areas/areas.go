// Package areas opens the work areas of owners, and opens files and runs commands as their owners. It keeps each work
// area open until Close. Package sandbox reads and writes the contents of a work area.
package areas

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// Areas opens the work area of each owner once, and installs the wrapper in the area. Its methods may be called from
// many goroutines.
type Areas struct {
	work, wrapper string
	users         Users // nil: the daemon's account reads and writes all areas

	mu   sync.Mutex // guards open; never held while an area is opened, which one owner could delay
	open map[string]*Area
}

// Area is the work area of one owner.
type Area struct {
	*sandbox.Area
	Bin string // absolute path of the wrapper program that is installed in the area

	opening sync.Mutex // held while the area is opened; guards both fields
	// packing is locked for reading from the start of making a package until the file of a grid job names the package.
	packing sync.RWMutex
}

// Packing prevents the removal of packages until the caller calls done.
func (a *Area) Packing() (done func()) {
	a.packing.RLock()
	return a.packing.RUnlock
}

// RemovePackages removes the packages that no grid job uses. It removes nothing and returns an error of kind Busy while
// a package is being made.
func (a *Area) RemovePackages(ctx context.Context) error {
	if !a.packing.TryLock() {
		return jjm.Errorf(jjm.Busy, "packages are made just now")
	}
	defer a.packing.Unlock()
	return a.Area.RemovePackages(ctx)
}

// New returns an Areas without open work areas. work is the absolute folder of the areas, wrapper the path of the
// wrapper program; users is nil where all jobs run as the daemon's account.
func New(work, wrapper string, users Users) *Areas {
	return &Areas{work: work, wrapper: wrapper, users: users, open: map[string]*Area{}}
}

// Of returns the owner's area, and opens the area if it is not open. A call may wait for the helper or the file system
// of this owner, but never of another owner.
func (as *Areas) Of(o jjm.Owner) (*Area, error) {
	name := folderName(o)
	as.mu.Lock()
	a := as.open[name]
	if a == nil {
		a = &Area{}
		as.open[name] = a
	}
	as.mu.Unlock()
	a.opening.Lock()
	defer a.opening.Unlock()
	if a.Area != nil {
		return a, nil
	}
	sa, err := as.openArea(o, name)
	if err != nil {
		return nil, fmt.Errorf("work area of %s: %w", name, err)
	}
	bin, err := sa.InstallWrapper(as.wrapper)
	if err != nil {
		sa.Close()
		return nil, fmt.Errorf("work area of %s: %w", name, err)
	}
	a.Area, a.Bin = sa, bin
	return a, nil
}

// Close closes all areas. No other method may run during or after Close.
func (as *Areas) Close() {
	as.mu.Lock()
	defer as.mu.Unlock()
	for name, a := range as.open {
		a.opening.Lock()
		if a.Area != nil {
			a.Close()
		}
		a.opening.Unlock()
		delete(as.open, name)
	}
}

// Path returns the absolute path of an owner's area below the folder of the areas.
func Path(work string, o jjm.Owner) string { return filepath.Join(work, folderName(o)) }

// folderName returns the name of an owner's folder: the user name if it is a plain word, else "uid" and the uid. No
// such name can lead out of the work folder.
func folderName(o jjm.Owner) string {
	plain := o.User != "" && len(o.User) <= 64 && o.User[0] != '.' && o.User[0] != '-'
	for i := 0; plain && i < len(o.User); i++ {
		c := o.User[i]
		plain = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '.' || c == '_' || c == '-'
	}
	if plain {
		return o.User
	}
	return "uid" + strconv.Itoa(o.UID)
}

// RootPath returns the absolute path of an owner's area, without looking at the area.
func (as *Areas) RootPath(o jjm.Owner) string { return Path(as.work, o) }

// WorkPath returns the absolute path of the folder in which the application of an attempt
// runs or ran, without looking at the area.
func (as *Areas) WorkPath(o jjm.Owner, id jjm.AttemptID) string {
	return filepath.Join(as.work, folderName(o), sandbox.AttemptDir(id), sandbox.WorkName)
}

// GridPath returns the absolute path of the folder of a grid job, without looking at the area.
func (as *Areas) GridPath(o jjm.Owner, id jjm.GridID) string {
	return filepath.Join(as.work, folderName(o), sandbox.GridDir(id))
}

// GridsAbove returns the grid jobs with an id above the given id that have a folder in the owner's area. It does not
// create a missing area.
func (as *Areas) GridsAbove(o jjm.Owner, above jjm.GridID) (map[jjm.GridID]bool, error) {
	there, err := exists(as.work, folderName(o))
	if err != nil || !there {
		return nil, err
	}
	a, err := as.Of(o)
	if err != nil {
		return nil, err
	}
	return a.GridsAbove(above)
}

// exists reports whether the folder dir has an entry called name. It does not look at the entry itself: the owner of
// the entry can mount a file system there that never answers.
func exists(dir, name string) (bool, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	return slices.Contains(names, name), err
}

// TarPath returns the absolute path of a grid job's output tar, or "" if the tar is not
// complete.
func (as *Areas) TarPath(job *jjm.GridJob) string {
	if job.Tar == "" {
		return ""
	}
	return filepath.Join(as.work, folderName(job.Owner), sandbox.TarDir(job.ID), job.Tar)
}
