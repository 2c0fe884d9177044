package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/engine/site"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/spool"
	"jjm/internal/sys/commons"
	"jjm/xmldb"
)

// reserve prevents accounts from filling the store's file system through the spool and the drop folder. It keeps a file
// allocated on that file system. If the file system is nearly full, reserve shuts the two folders and removes files of
// the accounts that use most there. If this does not free enough space, it frees its own file.
type reserve struct {
	app           *App
	file          string
	sharedFolders []sharedFolder
	want          uint64

	floor plan.Floor

	held bool
	shut bool      // whether the folders are shut
	last time.Time // the last time that the file system was nearly full
	said string    // the last error that was logged

	notes folderNotes
}

// sharedFolder is a folder that ordinary accounts can write to: the spool or the drop folder.
type sharedFolder struct {
	commons.Folder
	name string // for people
	dir  string // where accounts write
	open func() error
	// folders are the paths. was identifies the folders that these paths named when the sharedFolder was opened.
	folders []string
	was     []site.Place
}

// sharedFolders returns the folders in which accounts write.
func (a *App) sharedFolders() []sharedFolder {
	drop, in := xmldb.DropFolder{Dir: a.dropDir()}, filepath.Join(a.config.spoolDir(), "in")
	return []sharedFolder{
		{Folder: spool.Boxes{Dir: a.config.spoolDir()}, name: "the spool", dir: in, open: a.makeSpool,
			folders: []string{a.config.spoolDir(), in}},
		{Folder: drop, name: "the drop folder", dir: drop.Dir, open: drop.Open},
	}
}

const (
	// reserveFile is in the folder that only the daemon can enter.
	reserveFile = "reserve"
	// reserveEvery is the time between two checks of the file system. reserveCalm is the time without trouble after which
	// a shut folder is opened again. A long time does no harm: while the daemon answers, gatekeepers do not need the
	// spool, and fragments can wait.
	reserveEvery = 250 * time.Millisecond
	reserveCalm  = time.Minute
)

// openReserve creates the reserve. It checks the file system of the state folder immediately, before the daemon writes
// anything there.
func (a *App) openReserve() *reserve {
	state := a.config.State
	r := &reserve{app: a, file: filepath.Join(state, lockFolder, reserveFile), sharedFolders: a.sharedFolders(),
		want:  uint64(a.config.Reserve),
		floor: plan.Floor{Bytes: uint64(a.config.Engine.MinFreeBytes), Files: uint64(a.config.Engine.MinFreeFiles)}}
	info, err := os.Stat(r.file)
	r.held = err == nil && info.Size() > 0
	if err == nil && (r.want == 0 || r.apart()) { // left by an earlier start, and no longer needed
		r.held = os.Remove(r.file) != nil && r.held
	}
	r.look(time.Now())
	return r
}

// keep checks the file system until ctx ends.
func (r *reserve) keep(ctx context.Context) {
	t := time.NewTicker(reserveEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			r.look(now)
			r.watch()
		}
	}
}

// apart reports whether all folders of accounts are on other file systems than the store, so that accounts cannot fill
// the store's file system.
func (r *reserve) apart() bool { return len(r.beside()) == 0 }

// beside returns the folders of accounts that share the store's file system. A missing folder is included, because it
// will be made on that file system.
func (r *reserve) beside() []sharedFolder {
	var state, there unix.Stat_t
	if unix.Stat(r.app.config.State, &state) != nil {
		return r.sharedFolders
	}
	var beside []sharedFolder
	for _, d := range r.sharedFolders {
		if unix.Stat(d.dir, &there) != nil || there.Dev == state.Dev {
			beside = append(beside, d)
		}
	}
	return beside
}

// disk measures the file system of the state folder. ok is false if that fails.
func (r *reserve) disk(now time.Time) (d plan.Disk, ok bool) {
	var f unix.Statfs_t
	if unix.Statfs(r.app.config.State, &f) != nil {
		return d, false
	}
	block := uint64(f.Bsize)
	d.Space = plan.Space{Bytes: f.Blocks * block, FreeBytes: f.Bavail * block, Files: f.Files, FreeFiles: f.Ffree}
	d.Floor, d.Reserve, d.Held = r.floor, plan.ReserveOf(d.Space, r.want), r.held
	if r.apart() {
		d.Reserve = 0
	}
	d.Shut, d.Calm = r.shut, now.Sub(r.last) > reserveCalm || now.Before(r.last)
	return d, true
}

// look measures the file system and carries out the decision of plan.Relieve.
func (r *reserve) look(now time.Time) {
	d, ok := r.disk(now)
	if !ok {
		return
	}
	do := plan.Relieve(d)
	var err error
	switch {
	case do.Shut && !r.apart():
		r.last = now
		err = r.relieve(now, d)
	case do.TakeBack:
		err = r.take(int64(d.Reserve))
	case do.Open:
		err = r.open()
	}
	if err != nil && err.Error() != r.said {
		r.said = err.Error()
		r.app.log.Error("the state's file system is full, or nearly", "state", r.app.config.State, "error", err)
	}
}

// open opens the folders that were shut: the spool is needed while the daemon does not run.
func (r *reserve) open() error {
	if !r.shut {
		return nil
	}
	return r.makeAll()
}

// makeAll makes the folders of accounts and opens them.
func (r *reserve) makeAll() error {
	var trouble error
	for i := range r.sharedFolders {
		trouble = errors.Join(trouble, r.sharedFolders[i].open())
		r.sharedFolders[i].remember()
	}
	r.shut = trouble != nil
	r.notes.opened(r.shut)
	return trouble
}

// relieve frees space: it removes accounts' files from the folders, and frees the reserve if the removal is not enough.
func (r *reserve) relieve(now time.Time, d plan.Disk) error {
	var trouble error
	folders := make([]commons.Folder, 0, len(r.sharedFolders))
	for _, sharedFolder := range r.beside() {
		folders = append(folders, sharedFolder)
		if !r.shut {
			r.app.log.Error("the state's file system is full, or nearly: "+sharedFolder.name+" is shut", "dir", sharedFolder.dir,
				"free_bytes", d.Space.FreeBytes, "free_files", d.Space.FreeFiles)
		}
		trouble = errors.Join(trouble, ignoreAbsent(sharedFolder.Shut()))
	}
	r.shut = trouble == nil
	r.notes.isShut(r.beside())
	low := func() bool { d, ok := r.disk(now); return ok && plan.Relieve(d).Shut }
	err := commons.Relieve(folders, func() bool { return !low() }, func(h commons.Heap) {
		r.notes.removed(h)
		r.app.log.Error("the state's file system was full: an account's files there were removed", "account", h.UID,
			"folder", h.Name, "bytes", h.Bytes, "names", h.Names)
	})
	trouble = errors.Join(trouble, err)
	if r.held && low() {
		r.app.log.Error("the reserve file was freed, so that the store can go on: free some space", "file", r.file)
		if err := os.Truncate(r.file, 0); err != nil {
			return errors.Join(trouble, fmt.Errorf("give up the reserve: %w", err))
		}
		r.held = false
	}
	return trouble
}

// ignoreAbsent returns err, but nil if err means that a folder does not exist.
func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// take allocates the reserve file. If the file system cannot reserve space, the reserve is switched off. The error is
// not nil if the space does not suffice.
func (r *reserve) take(size int64) error {
	if err := os.MkdirAll(filepath.Dir(r.file), 0o700); err != nil {
		return fmt.Errorf("keep %d bytes in reserve: %w", size, err)
	}
	f, err := os.OpenFile(r.file, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("keep %d bytes in reserve: %w", size, err)
	}
	defer f.Close()
	switch err := unix.Fallocate(int(f.Fd()), 0, 0, size); {
	case errors.Is(err, unix.EOPNOTSUPP): // this file system cannot reserve space
		r.want = 0
		return nil
	case err != nil:
		return errors.Join(fmt.Errorf("keep %d bytes in reserve (%s): %w", size, r.file, err), f.Truncate(0))
	}
	r.held = true
	return nil
}
