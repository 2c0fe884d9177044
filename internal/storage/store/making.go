package store

import (
	"errors"
	"io/fs"
	"os"

	"jjm/internal/jjm"
)

// While Open makes a new store, the file of the store has one page without tables for a moment before the write-ahead
// log exists. A store that has lost its log looks the same. The file path.making tells the two apart: it exists from
// before the first page until the log has the tables.

// making returns the path of the file that exists while the store is made.
func (s *Store) making() string { return s.path + ".making" }

// noteMaking notes that a store is made if its file is empty; size is the size of the file.
func (s *Store) noteMaking(size int64) error {
	if size > 0 {
		return nil
	}
	return unreachable(s.making(), os.WriteFile(s.making(), nil, 0o600))
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
	if size == 0 || version > 0 || log {
		return nil
	}
	if _, err := os.Lstat(s.making()); err == nil {
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
