package store

import (
	"context"
	"crypto/rand"
	_ "embed" // go:embed needs this import
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"jjm/internal/jjm"
)

// applicationID is stored in SQLite's header ("jjm1", PRAGMA application_id), so that jjm
// and file(1) can distinguish a store from other databases.
const applicationID = 'j'<<24 | 'j'<<16 | 'm'<<8 | '1'

//go:embed schema/1.sql
var schema1 string

// schema returns the steps of the schema in order. Step i (counted from 1) leads to version i.
func (o Options) schema() []string {
	if o.steps != nil {
		return o.steps
	}
	return []string{schema1}
}

// smallFile is the largest size in bytes of a store that Open checks if the store was not closed. The check reads every
// page, about 100 MB per second.
const smallFile = 16 << 20

// Open opens the store at path. If the store does not exist, Open creates it with mode 0600; the folder must exist. If
// the schema is old, Open copies the store to path.vN, where N is the old version, and updates the schema. The error is
// of kind Invalid if the file is not a store, or is a store of a newer jjm, and Busy if the folder cannot be written or
// the disk is full. The folder must be on a local disk. A store that [Options.Accept] refuses stays unchanged.
//
// If the last writer did not close the store, Open runs [Store.Check] on a small store. It does not check a large
// store, because SQLite recovers by itself and the check would delay the start.
func Open(path string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	full, err := filepath.Abs(path)
	if err != nil || strings.ContainsRune(path, 0) || path == "" {
		return nil, jjm.Errorf(jjm.Invalid, "store: path %q: want the path of a file", path)
	}
	s := &Store{path: full, o: o, steps: o.schema(), turn: make(chan struct{}, 1)}
	if o.ReadOnly {
		err = s.openReadOnly()
	} else {
		err = s.openWriter()
	}
	if code(err) == sqlite3.SQLITE_NOTADB {
		err = jjm.Errorf(jjm.Invalid, "it is not a database, or its first page is damaged: "+nameOurs+
			", or restore the last backup")
	}
	if err != nil {
		for _, c := range append(s.idle, s.writer) {
			if c != nil {
				c.close() // the first error matters more than an error of close
			}
		}
		return nil, s.failFile(err, "open %s", full)
	}
	s.turn <- struct{}{}
	return s, nil
}

func (s *Store) openWriter() error {
	if err := s.accept(); err != nil {
		return err
	}
	log := s.hasLog() // before the file is opened, which makes a log
	size, err := s.fileOrNew()
	if err != nil {
		return err
	}
	if s.writer, err = dial(s.path, s.o.writeMode()); err != nil {
		return err
	}
	version, err := s.identify(s.writer)
	if err != nil {
		return err
	}
	if err := s.complete(size, version, log); err != nil {
		return err
	}
	if err := s.useWAL(); err != nil {
		return err
	}
	if err := s.update(version); err != nil {
		return err
	}
	if err := holdTransitions(s.writer); err != nil {
		return err
	}
	clean, err := s.takeOver()
	if err != nil {
		return err
	}
	if err := s.endMaking(); err != nil {
		return err
	}
	if !clean && size <= smallFile {
		return check(context.Background(), s.writer)
	}
	return nil
}

// fileOrNew returns the size of the file of the store. If there is no store, fileOrNew makes an empty file, and before
// that a note that the store is made.
func (s *Store) fileOrNew() (size int64, err error) {
	size, err = fileSize(s.path)
	exists := !errors.Is(err, fs.ErrNotExist)
	if exists && (err != nil || size > 0) {
		return size, err
	}
	if err := s.canBegin(exists); err != nil {
		return 0, err
	}
	if err := s.noteMaking(); err != nil {
		return 0, err
	}
	return touch(s.path)
}

// openReadOnly opens the store without a writer. It returns an error if the store cannot be read.
func (s *Store) openReadOnly() error {
	size, err := fileSize(s.path)
	if err != nil {
		return err
	}
	if size == 0 {
		return jjm.Errorf(jjm.Conflict, "the file is empty: start the daemon once to make the store")
	}
	return s.view(context.Background(), func(c *conn) error {
		version, err := s.identify(c)
		if err != nil {
			return err
		}
		if n := len(s.steps); version < n {
			return jjm.Errorf(jjm.Conflict,
				"its schema is version %d, this jjm needs version %d: start the daemon once to bring it up to date", version, n)
		}
		return c.query(context.Background(), "SELECT nonce FROM identity", nil, func(r row) error {
			s.nonce = r.text(0)
			return nil
		})
	})
}

// touch creates the file if it does not exist, readable only for its owner (SQLite uses the same mode for its side
// files), and returns its size. It never opens an existing file, because closing the file would drop the locks that
// another connection of this process holds (https://www.sqlite.org/howtocorrupt.html, section 2.2).
func touch(path string) (size int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fileSize(path)
	}
	if err == nil {
		err = f.Close()
	}
	return 0, unreachable(path, err)
}

// fileSize returns the size of a file. It returns an error if the path is not a regular file, or if the file is not
// empty but too small for a database.
func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, unreachable(path, err)
	}
	if !info.Mode().IsRegular() {
		return 0, jjm.Errorf(jjm.Invalid, "it is not a regular file: "+nameOurs)
	}
	if n := info.Size(); n > 0 && n < minFile {
		return 0, jjm.Errorf(jjm.Invalid, "it is not a database: it has %d bytes only; "+nameOurs, n)
	}
	return info.Size(), nil
}

// minFile is the size of SQLite's smallest page. SQLite treats a smaller file as empty
// and would overwrite it.
const minFile = 512

const nameOurs = "name the database file of jjm, or a path that does not exist yet"

// unreachable wraps an error of the operating system about the store's file and sets its kind.
func unreachable(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return jjm.Errorf(jjm.Gone, "%w: make the folder, or correct the path", err)
	case errors.Is(err, fs.ErrPermission):
		return jjm.Errorf(jjm.Busy, "%w: make %s and its folder writable for the daemon's account", err, path)
	}
	return jjm.Errorf(jjm.Busy, "%w: check the folder and the disk of %s", err, path)
}

// identify returns the version of the schema, 0 for an empty file. The error is of kind Invalid if the file is a
// database of another program, or has a schema of a jjm before 0.1.0 or a newer schema.
func (s *Store) identify(c *conn) (int, error) {
	id, err := c.number("PRAGMA application_id", nil)
	if err != nil {
		return 0, err
	}
	version, err := c.number("PRAGMA user_version", nil)
	if err != nil {
		return 0, err
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_schema", nil)
	if err != nil {
		return 0, err
	}
	if id != applicationID && (id != 0 || version != 0 || tables != 0) {
		return 0, jjm.Errorf(jjm.Invalid, "it is a database of another program (application id %#x, want %#x): %s", id,
			applicationID, nameOurs)
	}
	n := int64(len(s.steps))
	if old, err := s.unreleased(c, version); err != nil {
		return 0, err
	} else if old {
		return 0, jjm.Errorf(jjm.Invalid, "it was made by a jjm before 0.1.0, with schema version %d of that time, and "+
			"this jjm reads version %d of its own: finish its grid jobs with that jjm, and begin a new state folder", version, n)
	}
	if version > n {
		return 0, jjm.Errorf(jjm.Invalid, "its schema is version %d, this jjm reads version %d: run the newer jjm, or "+
			"restore the backup made before the upgrade", version, n)
	}
	return int(version), nil
}

func (s *Store) useWAL() error {
	var got string
	err := s.writer.query(context.Background(), "PRAGMA journal_mode = WAL", nil, func(r row) error {
		got = r.text(0)
		return nil
	})
	if err != nil {
		return err
	}
	if got != "wal" {
		return jjm.Errorf(
			jjm.Busy, "the file system does not support a write-ahead log (journal mode %q): put the store on a local disk", got)
	}
	return nil
}

// migrate updates the schema from version to the newest. Each step is a separate transaction.
func (s *Store) migrate(version int) error {
	for ; version < len(s.steps); version++ {
		if err := s.step(version, s.steps[version]); err != nil {
			return fmt.Errorf("schema version %d: %w", version+1, err)
		}
	}
	return nil
}

// step runs one step of the schema, unless another process has already run it.
func (s *Store) step(from int, text string) error {
	if _, err := s.writer.exec("BEGIN IMMEDIATE", nil); err != nil {
		return err
	}
	err := s.migrateFrom(from, text)
	if err != nil {
		s.writer.exec("ROLLBACK", nil) // the caller closes the connection anyway
	}
	return err
}

// migrateFrom runs one step in the open transaction and commits it.
func (s *Store) migrateFrom(from int, text string) error {
	now, err := s.writer.number("PRAGMA user_version", nil)
	if err != nil {
		return err
	}
	if now == int64(from) {
		err := s.writer.script(fmt.Sprintf("%s;\nPRAGMA application_id = %d;\nPRAGMA user_version = %d;\n%s", text,
			applicationID, from+1, markStep(from, text)))
		if err != nil {
			return err
		}
	}
	_, err = s.writer.exec("COMMIT", nil)
	return err
}

// takeOver reads the identity of the store and marks the store as open. For a new store it makes the identity first.
// clean is false if the last writer did not close the store.
func (s *Store) takeOver() (clean bool, err error) {
	nonce, err := newNonce()
	if err != nil {
		return false, err
	}
	_, err = s.writer.exec("INSERT INTO identity (one, nonce, created, clean) VALUES (1, ?, ?, 1) ON CONFLICT DO NOTHING",
		args{}.text(nonce).int(int64(jjm.At(s.o.Now()))))
	if err != nil {
		return false, err
	}
	err = s.writer.query(context.Background(), "SELECT nonce, clean FROM identity", nil, func(r row) error {
		s.nonce, clean = r.text(0), r.bool(1)
		return nil
	})
	if err != nil || !clean {
		return clean, err
	}
	_, err = s.writer.exec("UPDATE identity SET clean = 0", nil)
	return clean, err
}

// newNonce returns 20 random bits as four characters, for [jjm.NewTag].
func newNonce() (string, error) {
	b := make([]byte, 4)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz234567"[b[i]&31]
	}
	return string(b), nil
}
