package verdict

import (
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"

	"jjm"
	"jjm/engine/areas"
	"jjm/sandbox"
)

func drain(errs <-chan error) {
	for range errs { // an overflow is healed by the rescan
	}
}

// tells returns the bulk that an event is about: a new name in its done folder that
// is not a file still being written.
func tells(ev fsnotify.Event) (jjm.Tag, bool) {
	if !ev.Has(fsnotify.Create) || strings.HasPrefix(filepath.Base(ev.Name), ".") {
		return "", false
	}
	return jjm.Tag(filepath.Base(filepath.Dir(filepath.Dir(ev.Name)))), true
}

// folders are the done folders that the kernel watches for us.
type folders struct {
	w    *fsnotify.Watcher
	tags map[jjm.Tag]bool
}

// watchFolders follows the open bulks. The kernel forgets a folder that is
// removed by itself.
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
			_ = f.w.Add(doneDir(ar, tag)) // without it the rescan finds the results
		}
	}
	for _, tag := range gone {
		delete(f.tags, tag)
	}
}

func doneDir(ar *areas.Area, tag jjm.Tag) string {
	return ar.Root() + "/" + sandbox.BulkDir(tag) + "/done"
}
