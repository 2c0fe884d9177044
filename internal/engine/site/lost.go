package site

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
)

// Place identifies the file that a path names: the device and the number of the file, and the time when the file was
// made. The time tells the file from a later file with the same number, which can happen after the file is removed. The
// time is 0 if the file system does not record it.
type Place struct {
	major, minor uint32
	ino          uint64
	made         int64
}

// At returns the Place of a path, the zero value if the path names nothing.
func At(path string) Place {
	var st unix.Statx_t
	if path == "" || unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &st) != nil {
		return Place{}
	}
	p := Place{major: st.Dev_major, minor: st.Dev_minor, ino: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		p.made = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return p
}

// Missing reports whether the path named nothing.
func (p Place) Missing() bool { return p == Place{} }

// Same reports whether p and q identify the same file.
func (p Place) Same(q Place) bool {
	if p.made == 0 || q.made == 0 {
		p.made, q.made = 0, 0
	}
	return p == q
}

// lost returns, for people, the reason why the daemon must not continue to use a path, or "".
func lost(what, path string, first, now Place) string {
	switch {
	case first.Missing() || now.Same(first):
		return ""
	case now.Missing():
		return fmt.Sprintf("%s was removed: %s is not there; put back what was there", what, path)
	}
	return fmt.Sprintf("%s was replaced: %s is another one than at the start; put back what was there, or start the "+
		"daemon again", what, path)
}

// Work returns a function that checks the folder of the work areas. The function returns a text for people if the
// folder was removed, or replaced since the call of Work, and "" otherwise; see lost.
func Work(path string) func() string {
	was := At(path)
	return func() string { return lostWork(path, was) }
}

func lostWork(path string, was Place) string { return lost("the work area", path, was, At(path)) }

// kept holds the paths that must still name the same files as when the engine was made, and these files.
type kept struct {
	store, work, records string
	was                  struct{ store, work, records Place }
	reopened             bool // all records are to be written again
}

func keep(store, work, records string) (k kept) {
	k.store, k.work, k.records = store, work, records
	k.was.store, k.was.work, k.was.records = At(store), At(work), At(records)
	return k
}

// look returns a text for people that names the first removed or replaced path, "" if there is none. If the folder of
// records was replaced, it opens the new folder; it then returns "", or the error as text.
func (k *kept) look(reopen func() error) string {
	if why := lost("the store", k.store, k.was.store, At(k.store)); why != "" {
		return why
	}
	if why := lostWork(k.work, k.was.work); why != "" {
		return why
	}
	now := At(k.records)
	if now.Same(k.was.records) || now.Missing() {
		return lost("the folder of records", filepath.Clean(k.records), k.was.records, now)
	}
	if err := reopen(); err != nil {
		return err.Error()
	}
	k.was.records, k.reopened = now, true
	return ""
}

// heal marks all records of live grid jobs to be written again, and starts a search for missing records of the history.
func (si *Site) heal() {
	si.s.Mark(func(m *state.Marks) { m.StaleAll() })
	fair.Kick(si.s.PubKick)
	si.mend()
}
