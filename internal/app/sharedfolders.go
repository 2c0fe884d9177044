package app

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"jjm/internal/api/server"
	"jjm/internal/engine/site"
	"jjm/internal/jjm"
	"jjm/internal/sys/commons"
)

// remember notes which folders the paths of a sharedFolder name now.
func (d *sharedFolder) remember() {
	d.was = d.was[:0]
	for _, path := range d.folders {
		d.was = append(d.was, site.At(path))
	}
}

// lost returns the first path of a sharedFolder that was removed, or that names another folder than when the
// sharedFolder was opened; "" if all paths are as they were.
func (d *sharedFolder) lost() string {
	for i, was := range d.was {
		if !was.Missing() && !was.Same(site.At(d.folders[i])) {
			return d.folders[i]
		}
	}
	return ""
}

// watch looks for shared folders that were removed or replaced. It creates such a folder again and opens it to the
// accounts, as at the start of the daemon, and logs the result. While the folders are shut because the disk is full,
// watch does nothing; makeAll creates missing folders when it opens them.
func (r *reserve) watch() {
	for i := range r.sharedFolders {
		d := &r.sharedFolders[i]
		path := d.lost()
		if path == "" || r.shut {
			continue
		}
		if err := r.remake(d); err != nil {
			if r.notes.lost(fmt.Sprintf("%s was removed or replaced (%s), and cannot be made again: %v", d.name, path, err)) {
				r.app.log.Error(d.name+" was removed or replaced and cannot be made again, will try again", "dir", path,
					"error", err)
			}
			continue
		}
		r.notes.lost("")
		r.app.log.Warn(d.name+" was removed or replaced, and was made again", "dir", path)
	}
}

// remake creates a shared folder that was removed or replaced, and opens it to the accounts. If the store has stamps,
// which show that a folder belongs to this store, remake also writes the stamp of the spool again. It returns an error
// if the folder cannot be created or the stamp cannot be written.
func (r *reserve) remake(d *sharedFolder) error {
	if err := d.open(); err != nil {
		return err
	}
	if r.app.ids.Stamps != nil {
		if err := r.app.ids.Renew(r.app.config.spoolDir()); err != nil {
			return err
		}
	}
	d.remember()
	return nil
}

// mostRemoved is the maximum number of removals of accounts' files that the notes keep.
const mostRemoved = 5

// folderNotes holds the current problems of the shared folders as texts for people. Its methods may be called from
// several goroutines.
type folderNotes struct {
	mu    sync.Mutex
	shut  string         // which folders are shut, "" if none is
	heaps []commons.Heap // the last mostRemoved removals since the folders were shut
	gone  string         // the folder that was lost and cannot be made again
}

// isShut notes that the folders are shut, because the disk is full.
func (n *folderNotes) isShut(sharedFolders []sharedFolder) {
	var names []string
	for _, d := range sharedFolders {
		names = append(names, d.name+" ("+filepath.Clean(d.dir)+")")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shut = strings.Join(names, " and ")
}

// removed notes that the daemon removed an account's files from a folder.
func (n *folderNotes) removed(h commons.Heap) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.heaps = append(n.heaps, h)
	n.heaps = slices.Clone(n.heaps[max(0, len(n.heaps)-mostRemoved):])
}

// opened notes that the folders are open again, unless a folder could not be opened.
func (n *folderNotes) opened(failed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !failed {
		n.shut, n.heaps = "", nil
	}
}

// lost notes the text about a folder that cannot be created again; "" means that all folders exist. It reports whether
// the text differs from the last one.
func (n *folderNotes) lost(why string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	news := n.gone != why
	n.gone = why
	return news
}

// tell returns the notes for a caller. Only administrators see which account filled a folder.
func (n *folderNotes) tell(c server.Caller) (out []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone != "" {
		out = append(out, n.gone)
	}
	if n.shut == "" {
		return out
	}
	out = append(out, "the file system of the state is full, or nearly: nobody can write into "+n.shut+
		" until there was room for a minute")
	if !c.Admin {
		return out
	}
	for _, h := range n.heaps {
		out = append(out, fmt.Sprintf("removed to make room: %s in %s, by uid %d", amount(h), h.Name, h.UID))
	}
	return out
}

// amount returns the size of an account's files for people.
func amount(h commons.Heap) string {
	return fmt.Sprintf("%.1f MB in %s", float64(h.Bytes)/1e6, jjm.Count(h.Names, "file"))
}
