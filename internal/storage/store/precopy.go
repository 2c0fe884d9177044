package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// keptCopies is how many of the copies made before updates of the schema are kept: the copies of the last two versions.
const keptCopies = 2

// copyName returns the path of the copy that is made of a store whose schema has a version.
func (s *Store) copyName(version int) string { return s.path + ".v" + strconv.Itoa(version) }

// update copies a store whose schema is older than the newest, then updates the schema. An error of the update names
// the copy.
func (s *Store) update(version int) error {
	if version == 0 || version == len(s.steps) {
		return s.migrate(version)
	}
	path := s.copyName(version)
	if err := s.copyTo(path); err != nil {
		return fmt.Errorf("copy it to %s before its schema goes from version %d to %d, nothing was changed: %w", path,
			version, len(s.steps), err)
	}
	if s.o.Copied != nil {
		s.o.Copied(path, version, len(s.steps))
	}
	if err := s.migrate(version); err != nil {
		return fmt.Errorf("%w: the store as it was before is in %s; docs/SERVICE.md, \"Upgrade\", tells the way back", err,
			path)
	}
	return s.dropCopies(version)
}

// copyTo copies the whole store, including its write-ahead log, to one file. The file gets its name only when it is
// complete and on the disk. The next call removes an incomplete file that a crash left.
func (s *Store) copyTo(path string) (err error) {
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreachable(temp, err)
	}
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // SQLite fills the empty file and keeps its mode
	if err != nil {
		return unreachable(temp, err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(temp) // errors are ignored: the next call removes the file too
		}
	}()
	if _, err := s.writer.exec("VACUUM INTO ?", args{}.text(temp)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return unreachable(temp, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return unreachable(path, err)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return unreachable(path, err)
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// dropCopies removes all copies except the copy of a version and the newest other copy.
func (s *Store) dropCopies(version int) error {
	names, err := filepath.Glob(filepath.Join(filepath.Dir(s.path), "*.v*"))
	if err != nil {
		return err
	}
	var others []int
	for _, name := range names {
		n, err := strconv.Atoi(strings.TrimPrefix(name, s.path+".v"))
		if err == nil && n != version && name == s.copyName(n) {
			others = append(others, n)
		}
	}
	slices.Sort(others)
	for _, n := range others[:max(len(others)-(keptCopies-1), 0)] {
		if err := os.Remove(s.copyName(n)); err != nil {
			return jjm.Errorf(jjm.Busy, "remove an older copy: %w: make its folder writable for the daemon's account", err)
		}
	}
	return nil
}
