package store

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"jjm/internal/jjm"
)

// fail adds the attempted operation and a remedy to an error of the database, and sets its kind. An error that already
// has a kind keeps it. The text begins with "store: " if the store itself is in trouble, but not if a request asked for
// something that the store does not have or refuses, because people read such a text. Errors of callers' functions must
// not be passed to fail.
func (s *Store) fail(err error, format string, a ...any) error {
	return failure(s.path, err, format, a...)
}

// failFile is fail for an error about the file of the store, whose text always begins with "store: ".
func (s *Store) failFile(err error, format string, a ...any) error {
	failed := s.fail(err, format, a...)
	if asked(jjm.KindOf(failed)) {
		return fmt.Errorf("store: %w", failed)
	}
	return failed
}

func failure(path string, err error, format string, a ...any) error {
	what := fmt.Sprintf(format, a...)
	var own *jjm.Error
	if errors.As(err, &own) {
		if asked(own.Kind) {
			return jjm.Errorf(own.Kind, "%s: %w", what, err)
		}
		return jjm.Errorf(own.Kind, "store: %s: %w", what, err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return jjm.Errorf(jjm.Busy, "store: %s: %w", what, err)
	}
	kind, remedy := diagnose(err)
	if remedy != "" {
		remedy = ": " + fmt.Sprintf(remedy, path)
	}
	return jjm.Errorf(kind, "store: %s: %w%s", what, err, remedy)
}

// asked reports whether an error of a kind is caused by what was requested, and not by the state of the store.
func asked(kind jjm.Kind) bool {
	return kind == jjm.Gone || kind == jjm.Conflict || kind == jjm.Invalid || kind == jjm.Denied
}

// diagnose returns the kind of a database error and a remedy, in which %s stands for the path.
// https://www.sqlite.org/rescode.html explains the codes.
func diagnose(err error) (kind jjm.Kind, remedy string) {
	switch code(err) & 0xff {
	case sqlite3.SQLITE_FULL:
		return jjm.Busy, "the disk (or the quota) of %s is full: make room, then try again"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH:
		return jjm.Busy, "%s and its folder must exist and be writable for the daemon's account: " +
			"check owner, mode and whether the file system is mounted read-only"
	case sqlite3.SQLITE_IOERR:
		return jjm.Busy, "the disk of %s reports errors: check that it is not full, and look into the kernel log"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return jjm.Busy, "another process holds %s: find it with fuser(1)"
	case sqlite3.SQLITE_NOMEM:
		return jjm.Busy, "out of memory while using %s"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return jjm.Internal, "%s is damaged: stop the daemon, keep a copy, restore the last backup"
	case sqlite3.SQLITE_TOOBIG:
		return jjm.Invalid, ""
	}
	return jjm.Internal, ""
}

// Damaged reports whether an error means that the file of the store is damaged. Such an error is not caused by the rows
// that were being stored.
func Damaged(err error) bool {
	switch code(err) & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	}
	return false
}

// code returns SQLite's extended result code of an error, 0 if the error has no code.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}
