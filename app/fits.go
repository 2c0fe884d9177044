package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"jjm"
	"jjm/engine/areas"
	"jjm/sandbox"
	"jjm/store"
	"jjm/store/highwater"
	"jjm/xmldb"
)

func (c *Config) storeFile() string { return filepath.Join(c.State, "store.db") }

func (c *Config) recordDir() string { return filepath.Join(c.State, "records") }

// openStore opens the store if it belongs to this state folder, and the file that marks the highest id.
func (a *App) openStore(ctx context.Context) (err error) {
	open := func() error {
		a.store, err = store.Open(a.config.storeFile(), store.Options{Now: time.Now, Accept: a.config.fits, Copied: a.copied})
		return err
	}
	if jjm.KindOf(open()) == jjm.Busy { // an account may fill the disk anew between the look at it and here
		a.reserve.look(time.Now())
		err = open()
	}
	if err != nil {
		return err
	}
	a.onClose("store", a.store.Close)
	have, err := a.store.Content(ctx)
	if err != nil {
		return err
	}
	if a.ids, err = highwater.Open(filepath.Join(a.config.State, highwater.File), have.Identity,
		have.Highest); err != nil {
		return err
	}
	a.onClose("mark of the ids", a.ids.Close)
	if have.Work != "" && have.Work != a.config.Work {
		a.log.Warn("the work areas are in another folder than before", "work", a.config.Work, "before", have.Work)
	}
	return a.store.UsesWork(ctx, a.config.Work)
}

// copied logs where the store of before an upgrade is.
func (a *App) copied(path string, from, to int) {
	a.log.Info("the store was copied before its schema is updated", "copy", path, "version", from, "to", to)
}

// fits returns an error if a store does not belong to the state folder, or not to the folder of the work areas.
func (c *Config) fits(have store.Content) error {
	in, err := c.traces(have)
	if err != nil {
		return err
	}
	if err := highwater.Fit(have.Identity, have.Highest, in); err != nil {
		return err
	}
	return c.fitsWork(have)
}

// fitsWork looks for the work areas by their names in the folder alone: whoever owns one can mount a file system there
// that never answers a look at it.
func (c *Config) fitsWork(have store.Content) error {
	there, err := names(c.Work)
	if err != nil {
		return nil // this account cannot see it
	}
	return areasGone(c.Work, have, func(o jjm.Owner) bool { return !there[filepath.Base(areas.Path(c.Work, o))] })
}

// names returns the names in a folder, none if there is no folder.
func names(dir string) (map[string]bool, error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.Readdirnames(-1)
	there := map[string]bool{}
	for _, name := range all {
		there[name] = true
	}
	return there, err
}

// areasGone returns an error of kind Conflict if the grid jobs that are not over have their work areas elsewhere: work
// is misspelt, or its file system is not mounted. A daemon that went on would make the folder anew, find no result, and
// take each of these jobs for one that left none. One account's folder that is there means that work is right.
func areasGone(work string, have store.Content, gone func(jjm.Owner) bool) error {
	var grids int64
	for _, a := range have.Areas {
		if !gone(a.Owner) {
			return nil
		}
		grids += a.Grids
	}
	if grids == 0 {
		return nil
	}
	first, last := areas.Path(work, have.Areas[0].Owner), "the last daemon had the same folder, so is it mounted?"
	switch have.Work {
	case work:
	case "":
		last = "set work to the folder of before"
	default:
		last = fmt.Sprintf("the last daemon had work = %q: set it to that again", have.Work)
	}
	return jjm.Errorf(jjm.Conflict, "work %s has not the work areas of this store: grid jobs that are not over: %d, "+
		"and %s is not there. %s If the folder was moved on purpose, move the areas too, with the daemon stopped. "+
		"If they are lost, make the empty folder %s: what ran is then judged without its results", work, grids, first,
		last, first)
}

// traces returns what the folders say about the highest id that was ever assigned. If there is a mark, it says so, and
// only the records just above the store's highest id are looked for. Without one, the names of all areas and records
// are read, once.
func (c *Config) traces(have store.Content) (highwater.Folder, error) {
	in := highwater.Folder{State: c.State, Work: c.Work}
	var err error
	if in.Mark, err = highwater.Read(filepath.Join(c.State, highwater.File)); err != nil {
		return in, err
	}
	if in.Mark != nil {
		in.Record = xmldb.HighestNear(c.recordDir(), have.Highest)
		return in, nil
	}
	in.Area, in.AreaDir = sandbox.Highest(c.Work)
	if in.Record, err = xmldb.Highest(c.recordDir(), have.Highest); err != nil {
		return in, err
	}
	in.Bare = missing(c.recordDir()) && (missing(c.Work) || empty(c.Work))
	return in, nil
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// empty reports whether a folder is known to have nothing in it.
func empty(dir string) bool {
	names, err := os.ReadDir(dir)
	return err == nil && len(names) == 0
}

// CheckState returns the error with which a daemon would refuse this state, as far as this account can see it. A daemon
// may be running.
func (c *Config) CheckState() error {
	have, err := store.Look(c.storeFile())
	if err != nil {
		return lasting(err)
	}
	in, err := c.traces(have)
	if err != nil {
		return lasting(err)
	}
	if highwater.Fit(have.Identity, have.Highest, in) != nil {
		if have, err = store.Look(c.storeFile()); err != nil { // a running daemon may have assigned ids in between
			return lasting(err)
		}
		if err := highwater.Fit(have.Identity, have.Highest, in); err != nil {
			return err
		}
	}
	return c.fitsWork(have)
}

// Left returns a note on each cluster that has jobs and is not in this configuration, as far as this account can see
// the state.
func (c *Config) Left() (notes jjm.Problems) {
	have, err := store.Look(c.storeFile())
	if err != nil {
		return nil // CheckState reports it
	}
	for _, name := range have.Clusters {
		if !slices.ContainsFunc(c.Cluster, func(section map[string]any) bool { return section["name"] == name }) {
			notes = append(notes, jjm.Problem{Field: "cluster", Text: fmt.Sprintf("%q is not there, and has jobs: nobody "+
				"follows or ends them until its [[cluster]] is back. Drain it first, and remove it when it has none", name)})
		}
	}
	return notes
}

// lasting returns errors that a daemon would have too. It returns nil for errors that may pass, and for those of this
// account only.
func lasting(err error) error {
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Conflict, jjm.Internal:
		return err
	}
	return nil
}
