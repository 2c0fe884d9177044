package site

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"jjm/engine/fair"
	"jjm/engine/state"
)

// place is what a path names: a device and a file on it.
type place struct{ dev, ino uint64 }

// at returns what a path names, the zero value if it names nothing.
func at(path string) place {
	var st unix.Stat_t
	if path == "" || unix.Stat(path, &st) != nil {
		return place{}
	}
	return place{uint64(st.Dev), st.Ino}
}

// lost returns why the daemon must not go on with a path, for people, or "".
func lost(what, path string, first, now place) string {
	switch {
	case first == place{} || now == first:
		return ""
	case now == place{}:
		return fmt.Sprintf("%s was removed: %s is not there; put back what was there", what, path)
	}
	return fmt.Sprintf("%s was replaced: %s is another one than at the start; put back what was there, or start the "+
		"daemon again", what, path)
}

// kept are the paths that must name the same as when the engine was made.
type kept struct {
	store, work, records string
	was                  struct{ store, work, records place }
	reopened             bool // the records are to be written anew
}

func keep(store, work, records string) (k kept) {
	k.store, k.work, k.records = store, work, records
	k.was.store, k.was.work, k.was.records = at(store), at(work), at(records)
	return k
}

// look returns what was removed or replaced, for people, or "". A new folder of records is opened.
func (k *kept) look(reopen func() error) string {
	if why := lost("the store", k.store, k.was.store, at(k.store)); why != "" {
		return why
	}
	if why := lost("the work area", k.work, k.was.work, at(k.work)); why != "" {
		return why
	}
	now := at(k.records)
	if now == k.was.records || now == (place{}) {
		return lost("the folder of records", filepath.Clean(k.records), k.was.records, now)
	}
	if err := reopen(); err != nil {
		return err.Error()
	}
	k.was.records, k.reopened = now, true
	return ""
}

// heal marks all records of live grid jobs to be written again. Those of the history are looked through.
func (si *Site) heal() {
	si.s.Mark(func(m *state.Marks) { m.StaleAll() })
	fair.Kick(si.s.PubKick)
	si.mend()
}
