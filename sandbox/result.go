package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"jjm"
)

// MaxResult is the longest result file, in bytes.
const MaxResult = 1 << 20

// PutResult reports the end of an attempt.
func (a *Area) PutResult(r jjm.Result) error {
	if err := checkTag(r.Tag); err != nil {
		return err
	}
	name := posFile(r.Tag, "done", r.Pos, ".json")
	b, err := json.Marshal(&r)
	if err != nil {
		return wrap(err, "encode result %s", name)
	}
	if b = append(b, '\n'); len(b) > MaxResult {
		return jjm.Errorf(jjm.Invalid, "sandbox: result %s: %d bytes: shorten the log or the list of outputs to fit %d", name, len(b), MaxResult)
	}
	return wrap(a.replaceBytes(name, syncFile, b), "write result %s", name)
}

// DoneChanged is when a result last arrived in a bulk, by the clock of the file
// system: a cheap answer to "anything new?".
func (a *Area) DoneChanged(tag jjm.Tag) (time.Time, error) {
	if err := checkTag(tag); err != nil {
		return time.Time{}, err
	}
	info, err := a.fs.Stat(BulkDir(tag) + "/done")
	if err != nil {
		return time.Time{}, wrap(err, "look at results of bulk %s", tag)
	}
	return info.ModTime(), nil
}

// Results reads the results of a bulk, in order of position, leaving out the
// positions that seen reports (nil: none). A file that is no result of this
// bulk and position, or longer than MaxResult, becomes a problem whose Field is
// its name; the others are read all the same.
func (a *Area) Results(tag jjm.Tag, seen func(pos int32) bool) ([]jjm.Result, []jjm.Problem, error) {
	if err := checkTag(tag); err != nil {
		return nil, nil, err
	}
	dir, names, err := a.list(BulkDir(tag) + "/done")
	if err != nil {
		return nil, nil, wrap(err, "list results of bulk %s", tag)
	}
	defer dir.Close()
	results := make([]jjm.Result, 0, len(names))
	var problems []jjm.Problem
	for _, name := range names {
		pos, ok := position(name, ".json")
		if ok && seen != nil && seen(pos) {
			continue
		}
		var r jjm.Result
		if err := a.readResult(dir, name, tag, pos, ok, &r); err != nil {
			problems = append(problems, jjm.Problem{Where: BulkDir(tag) + "/done", Field: name, Text: err.Error()})
			continue
		}
		results = append(results, r)
	}
	slices.SortFunc(results, func(x, y jjm.Result) int { return cmp.Compare(x.Pos, y.Pos) })
	slices.SortFunc(problems, func(x, y jjm.Problem) int { return cmp.Compare(x.Field, y.Field) })
	return results, problems, nil
}

// readResult reads and checks one file of a done folder.
func (a *Area) readResult(dir *os.File, name string, tag jjm.Tag, pos int32, named bool, r *jjm.Result) error {
	if !named {
		return errors.New("no result: want a file name <position>.json")
	}
	f, info, err := a.openIn(dir, BulkDir(tag)+"/done", name)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := readLimited(f, info.Size(), MaxResult)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, r); err != nil {
		return fmt.Errorf("no result: %w", err)
	}
	switch {
	case r.Version != 1:
		return fmt.Errorf("version %d of results is not known here", r.Version)
	case r.Tag != tag || r.Pos != pos:
		return fmt.Errorf("a result of bulk %.20q, position %d", string(r.Tag), r.Pos)
	}
	return nil
}

// list opens a folder and gives the names in it, temporary ones left out.
func (a *Area) list(name string) (*os.File, []string, error) {
	dir, err := a.fs.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, nil, err
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, slices.DeleteFunc(names, isTmp), nil
}

// remote is an FS whose files this process must not open by itself: only the
// one behind it has the rights of the area's owner.
type remote interface{ Remote() }

// openIn opens a regular file by its bare name in an open folder, whose path is
// given too: one system call where a path below the root takes one for each of
// its elements. A symbolic link is refused.
func (a *Area) openIn(dir *os.File, path, name string) (*os.File, os.FileInfo, error) {
	if _, ok := a.fs.(remote); ok && !strings.Contains(name, "/") {
		return a.openRegular(path + "/" + name)
	}
	const flags = syscall.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC
	if strings.Contains(name, "/") || name == ".." {
		return nil, nil, &fs.PathError{Op: "openat", Path: name, Err: syscall.EINVAL}
	}
	fd, err := openat(dir, name, flags)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "openat", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "openat", Path: name, Err: notRegular(info)}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// openat is openat(2), begun again when a signal interrupts it.
func openat(dir *os.File, name string, flags int) (int, error) {
	for {
		fd, err := syscall.Openat(int(dir.Fd()), name, flags, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// position reads a file name of digits and a suffix, as posFile writes it.
func position(name, suffix string) (int32, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	n, err := strconv.ParseUint(digits, 10, 31)
	return int32(n), ok && err == nil && strconv.FormatUint(n, 10) == digits
}
