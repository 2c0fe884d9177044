// Package areas opens the work areas of owners, and files and commands as them.
package areas

import (
	"fmt"
	"path/filepath"
	"strconv"
	"sync"

	"jjm"
	"jjm/sandbox"
)

// Areas opens the work area of each owner once, with the wrapper installed.
type Areas struct {
	work, wrapper string
	users         Users // nil: as the daemon's account

	mu   sync.Mutex // held for moments: one owner's trouble is not the others'
	open map[string]*Area
}

// Area is one owner's work area and where its wrapper lies.
type Area struct {
	*sandbox.Area
	Bin string

	opening sync.Mutex
}

func New(work, wrapper string, users Users) *Areas {
	return &Areas{work: work, wrapper: wrapper, users: users, open: map[string]*Area{}}
}

// Of returns the owner's area. The folder is named by user name where that is a
// plain word, else by uid, so that no name can lead elsewhere.
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

// TarPath is the absolute path of the complete tar, or "".
func (as *Areas) TarPath(job *jjm.GridJob) string {
	if job.Tar == "" {
		return ""
	}
	return filepath.Join(as.work, folderName(job.Owner), sandbox.TarDir(job.ID), job.Tar)
}
