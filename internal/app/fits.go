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

	"golang.org/x/sys/unix"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/jjm"
	"jjm/internal/storage/highwater"
	"jjm/internal/storage/store"
	"jjm/sandbox"
	"jjm/xmldb"
)

func (c *Config) storeFile() string { return filepath.Join(c.State, "store.db") }

func (c *Config) recordDir() string { return filepath.Join(c.State, "records") }

// openStore opens the store, unless it does not belong to the state folder or to the folders of the site; with
// Options.Adopt it opens the store anyway and raises its ids (see adopt). It also opens the mark, the file beside the
// store that holds the highest assigned id.
func (a *App) openStore(ctx context.Context) (err error) {
	accept := a.config.fits
	if a.opts.Adopt {
		accept = a.config.fitsWork
	}
	open := func() error {
		a.store, err = store.Open(a.config.storeFile(), store.Options{Now: time.Now, Accept: accept, Copied: a.copied,
			Observe: a.observeStore()})
		return err
	}
	if jjm.KindOf(open()) == jjm.Busy { // an account may have filled the disk since its check
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
	if a.opts.Adopt {
		if have, err = a.adopt(ctx, have); err != nil {
			return err
		}
	}
	if a.ids.Mark, err = highwater.Open(filepath.Join(a.config.State, highwater.File), have.Identity,
		have.Highest); err != nil {
		return err
	}
	a.onClose("mark of the ids", a.ids.Mark.Close)
	if have.Work != "" && have.Work != a.config.Work {
		a.log.Warn("the work areas are in another folder than before", "work", a.config.Work, "before", have.Work)
	}
	return a.store.UsesWork(ctx, a.config.Work)
}

// adopt makes the store usable with folders that belonged to another store: it raises the next id of the store above
// the highest id in any folder. It returns the content of the store afterwards. takeFolders later writes the stamps of
// the folders.
func (a *App) adopt(ctx context.Context, have store.Content) (store.Content, error) {
	in, err := a.config.allTraces(have)
	if err != nil {
		return have, err
	}
	for _, f := range in.Stamps {
		if r := highwater.Relate(have.Identity, have.Highest, f.Stamp); r == highwater.Foreign || r == highwater.Older {
			a.log.Warn("a folder of another store, or of a newer copy of this one, is taken over", "dir", f.Dir,
				"belonged_to", f.Stamp.Store, "store", have.Identity, "ids_up_to", max(f.Stamp.Until, f.Stamp.Given))
		}
	}
	known := in.Known()
	a.log.Warn("the ids of the store were raised above the highest id in any folder", "store", have.Identity,
		"store_highest", have.Highest, "folders_highest", known, "next", max(known, have.Highest)+1)
	if known <= have.Highest {
		return have, nil
	}
	if err := a.store.Update(ctx, func(tx *store.Tx) error { return tx.SkipGrids(known) }); err != nil {
		return have, err
	}
	return a.store.Content(ctx)
}

// takeFolders writes a stamp into each folder of the site, with the store to which the folder belongs. The folders must
// exist.
func (a *App) takeFolders(ctx context.Context) error {
	have, err := a.store.Content(ctx)
	if err != nil {
		return err
	}
	var dirs []string
	for _, dir := range a.config.stamped() {
		if unix.Access(dir, unix.W_OK) != nil {
			a.log.Warn("the folder cannot be written by this account, so it does not know which store it belongs to", "dir",
				dir)
			continue
		}
		dirs = append(dirs, dir)
	}
	a.ids.Stamps, err = highwater.Take(have.Identity, have.Highest, dirs)
	return err
}

// stamped returns the folders that contain a stamp: a file that names the store to which the folder belongs.
func (c *Config) stamped() []string { return []string{c.Work, c.recordDir(), c.spoolDir()} }

// copied logs the path of the copy that was made of the store before an upgrade.
func (a *App) copied(path string, from, to int) {
	a.log.Info("the store was copied before its schema is updated", "copy", path, "version", from, "to", to)
}

// fits returns an error if the folders of the site show that they do not belong to the store, or if its work areas are
// missing.
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

// fitsWork returns an error if the work areas of all unfinished grid jobs are missing. It only compares names in the
// folder of the work areas and enters no area, because the owner of an area can mount a file system there that never
// answers.
func (c *Config) fitsWork(have store.Content) error {
	there, err := names(c.Work)
	if err != nil {
		return nil // this account cannot see the folder
	}
	return areasGone(c.Work, have, func(o jjm.Owner) bool { return !there[filepath.Base(areas.Path(c.Work, o))] })
}

// names returns the names in a folder, none if the folder does not exist.
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

// areasGone returns an error of kind Conflict if the work areas of all unfinished grid jobs are missing, because the
// setting work is misspelt, or its file system is not mounted. A daemon that continued would make the folder again,
// find no results, and judge that each of these jobs left no result. If the folder of a single account exists, the
// setting counts as right.
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

// traces collects the evidence in the folders of the site about the highest id that was ever assigned. If there is a
// mark and all folders have stamps, it reads these and searches only for records just above the store's highest id.
// Otherwise it also reads the names of all areas and records.
func (c *Config) traces(have store.Content) (in highwater.Folder, err error) {
	if in, err = c.written(); err != nil {
		return in, err
	}
	if in.Mark != nil && c.knows(in.Stamps) {
		in.Record = xmldb.HighestNear(c.recordDir(), have.Highest)
		return in, nil
	}
	err = c.readNames(have, &in)
	return in, err
}

// allTraces collects the same evidence as traces, but always reads the names of all areas and records.
func (c *Config) allTraces(have store.Content) (in highwater.Folder, err error) {
	if in, err = c.written(); err != nil {
		return in, err
	}
	err = c.readNames(have, &in)
	return in, err
}

// written returns the mark and the stamps, in which a daemon noted the highest id that it had assigned.
func (c *Config) written() (in highwater.Folder, err error) {
	in = highwater.Folder{State: c.State, Work: c.Work}
	if in.Mark, err = highwater.Read(filepath.Join(c.State, highwater.File)); err != nil {
		return in, err
	}
	for _, dir := range c.stamped() {
		s, err := highwater.ReadStamp(dir)
		if errors.Is(err, fs.ErrPermission) { // config check may run as another account
			continue
		}
		if err != nil {
			return in, err
		}
		in.Stamps = append(in.Stamps, highwater.Stamped{Dir: dir, Stamp: s})
	}
	return in, nil
}

// knows reports whether every folder has a stamp, except folders that are missing or empty.
func (c *Config) knows(folders []highwater.Stamped) bool {
	for _, f := range folders {
		if f.Stamp == nil && !missing(f.Dir) && !empty(f.Dir) {
			return false
		}
	}
	return true
}

// readNames reads the names of all areas and records.
func (c *Config) readNames(have store.Content, in *highwater.Folder) (err error) {
	in.Area, in.AreaDir = sandbox.Highest(c.Work)
	if in.Record, err = xmldb.Highest(c.recordDir(), have.Highest); err != nil {
		return err
	}
	in.Bare = in.Mark == nil && missing(c.recordDir()) && (missing(c.Work) || empty(c.Work))
	return nil
}

// missing reports whether nothing exists at a path.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// empty reports whether a folder is known to be empty.
func empty(dir string) bool {
	names, err := os.ReadDir(dir)
	return err == nil && len(names) == 0
}

// CheckState returns the error with which a daemon would refuse this state, as far as this account can read the state.
// A daemon may run at the same time.
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
		if have, err = store.Look(c.storeFile()); err != nil { // meanwhile a running daemon may have assigned ids
			return lasting(err)
		}
		if err := highwater.Fit(have.Identity, have.Highest, in); err != nil {
			return err
		}
	}
	return c.fitsWork(have)
}

// Left returns a note on each cluster that has jobs but is missing from this configuration, as far as this account can
// read the state.
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

// lasting returns err if a daemon would certainly get the same error. It returns nil for an error that may pass, and
// for an error that concerns only this account.
func lasting(err error) error {
	switch jjm.KindOf(err) {
	case jjm.Invalid, jjm.Conflict, jjm.Internal:
		return err
	}
	return nil
}
