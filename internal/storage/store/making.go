package store

import (
	"errors"
	"io/fs"
	"os"

	"jjm/internal/jjm"
)

// While Open makes a new store, the file of the store has one page without tables for a moment before the write-ahead
// log exists. A store that has lost its log looks the same. The file path.making tells the two apart: it exists from
// before the file of the store until the log has the tables.

// making returns the path of the file that exists while the store is made.
func (s *Store) making() string { return s.path + ".making" }

// noteMaking notes that a store is made.
func (s *Store) noteMaking() error {
	return unreachable(s.making(), os.WriteFile(s.making(), nil, 0o600))
}

// beingMade reports whether there is a note of noteMaking.
func (s *Store) beingMade() bool {
	_, err := os.Lstat(s.making())
	return err == nil
}

// canBegin returns an error of kind Conflict if a new store must not be made, because a store was there: its file is
// empty, or its write-ahead log exists. SQLite would remove that log. exists is set if the empty file exists.
// A store that was being made when its daemon was killed can begin.
func (s *Store) canBegin(exists bool) error {
	switch {
	case s.beingMade():
		return nil
	case s.hasLog():
		return jjm.Errorf(jjm.Conflict, "it is %s, but its write-ahead log %s-wal is there, which only %s makes readable. "+
			"Put %s back beside it or, to begin with a new store, move %s-wal away",
			map[bool]string{true: "empty", false: "missing"}[exists], s.path, s.path, s.path, s.path)
	case exists:
		return jjm.Errorf(jjm.Conflict, "it is empty: a copy may have been cut off. Put the store back or, to begin with a "+
			"new store, move %s away", s.path)
	}
	return nil
}

// endMaking removes the note of noteMaking. The note of a daemon that was killed is removed too.
func (s *Store) endMaking() error {
	if err := os.Remove(s.making()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreachable(s.making(), err)
	}
	return nil
}

// complete returns an error of kind Conflict for a store that has a page but no tables, if there is neither a
// write-ahead log nor a note that the store was being made. A store with a schema, and an empty file, are complete.
func (s *Store) complete(size int64, version int, log bool) error {
	if size == 0 || version > 0 || log || s.beingMade() {
		return nil
	}
	return jjm.Errorf(jjm.Conflict, "it has no tables: its write-ahead log %s-wal, which has them while a daemon runs, is "+
		"not there. Put this log back beside it or, to begin with a new store, move %s away", s.path, s.path)
}

// hasLog reports whether the write-ahead log is there, or may be there.
func (s *Store) hasLog() bool {
	_, err := os.Stat(s.path + "-wal")
	return !errors.Is(err, fs.ErrNotExist)
}
