package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"jjm/internal/jjm"
)

// Highest returns the highest id of a grid job that has a folder in a work area below work, and the path of the jobs
// folder that contains this folder. It returns 0 if there is no such folder, or if no folder can be read. It skips
// areas of other accounts than this process's own account, because their owners can forge folders.
func Highest(work string) (highest jjm.GridID, dir string) {
	entries, err := os.ReadDir(work)
	if err != nil {
		return 0, ""
	}
	for _, e := range entries {
		jobs := filepath.Join(work, e.Name(), "jobs")
		if !e.IsDir() || !own(filepath.Dir(jobs)) {
			continue
		}
		if n := highestIn(jobs); n > highest {
			highest, dir = n, jobs
		}
	}
	return highest, dir
}

// own reports whether a folder belongs to the account of this process.
func own(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// highestIn returns the highest id among the folders of grid jobs.
func highestIn(jobs string) (highest jjm.GridID) {
	d, err := os.OpenFile(jobs, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return 0
	}
	defer d.Close()
	for err == nil {
		var names []string
		names, err = d.Readdirnames(4096)
		for _, name := range names {
			if n, bad := strconv.ParseInt(name, 10, 64); bad == nil {
				highest = max(highest, jjm.GridID(n))
			}
		}
	}
	return highest
}

// GridsAbove returns the grid jobs with ids above the given id that have a folder in the area.
func (a *Area) GridsAbove(above jjm.GridID) (map[jjm.GridID]bool, error) {
	dir, err := a.openDir("jobs")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, a.wrap(err, "look for folders of grid jobs")
	}
	defer dir.Close()
	var ids map[jjm.GridID]bool
	for {
		names, err := dir.Readdirnames(4096)
		for _, name := range names {
			n, bad := strconv.ParseInt(name, 10, 64)
			if id := jjm.GridID(n); bad == nil && id > above && id.String() == name && len(ids) < maxStrangers {
				if ids == nil {
					ids = map[jjm.GridID]bool{}
				}
				ids[id] = true
			}
		}
		if errors.Is(err, io.EOF) {
			return ids, nil
		}
		if err != nil {
			return nil, a.wrap(err, "look for folders of grid jobs")
		}
	}
}

// maxStrangers is the largest number of grid jobs that GridsAbove returns. It limits the memory for the folders in one
// account's area.
const maxStrangers = 100_000

// CheckUnused returns an error of kind Invalid if the area already has local jobs of a new grid job. These local jobs
// belong to another grid job with the same number, and their outputs would be mistaken for outputs of the new grid job.
func (a *Area) CheckUnused(grid jjm.GridID) error {
	dir, err := a.openDir(GridDir(grid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return a.wrap(err, "look into the folder of grid job %s", grid)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return a.wrap(err, "look into the folder of grid job %s", grid)
	}
	for _, name := range names {
		number, folder := strings.CutSuffix(name, "xxx")
		if _, err := strconv.Atoi(number); folder && err == nil {
			return jjm.Errorf(jjm.Invalid, "%s has local jobs of another grid job %s, of a store that was lost or of "+
				"another site: move that folder away and submit again", filepath.Join(a.root, GridDir(grid)), grid)
		}
	}
	return nil
}
