package verdict

import (
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// drain discards errors of the watcher. An overflow loses events; the next scan then finds the results of these events.
func drain(errs <-chan error) {
	for range errs {
	}
}

// bulkOf returns the bulk in whose done folder an event created a result. Names with a
// leading dot are files that are still being written.
func bulkOf(ev fsnotify.Event) (jjm.Tag, bool) {
	if !ev.Has(fsnotify.Create) || strings.HasPrefix(filepath.Base(ev.Name), ".") {
		return "", false
	}
	return jjm.Tag(filepath.Base(filepath.Dir(filepath.Dir(ev.Name)))), true
}

// folders holds the bulks whose done folders the kernel watches. The done folder of a bulk is the folder in which
// wrappers put their results.
type folders struct {
	w    *fsnotify.Watcher
	tags map[jjm.Tag]bool
}

// watchFolders makes the kernel watch the done folders of new bulks. The kernel itself stops watching removed folders.
func (ju *Judge) watchFolders(f *folders) {
	v := ju.s.View()
	fresh := map[jjm.Tag]jjm.Owner{}
	for tag, b := range v.Bulks() {
		if !f.tags[tag] {
			fresh[tag] = b.Owner
		}
	}
	var gone []jjm.Tag
	for tag := range f.tags {
		if v.Bulk(tag) == nil {
			gone = append(gone, tag)
		}
	}
	v.Close()
	for tag, owner := range fresh {
		if ar, err := ju.areas.Of(owner); err == nil {
			f.tags[tag] = true
			_ = f.w.Add(doneDir(ar, tag)) // if it fails, the scans find the results
		}
	}
	for _, tag := range gone {
		delete(f.tags, tag)
	}
}

func doneDir(ar *areas.Area, tag jjm.Tag) string {
	return ar.Root() + "/" + sandbox.BulkDir(tag) + "/done"
}
