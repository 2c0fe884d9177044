package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"jjm/internal/jjm"
)

// MaxResult is the largest length of a result file in bytes.
const MaxResult = 1 << 20

// The limits of the file that lists the outputs that do not fit into a result: the number of outputs, and bytes.
const (
	MaxOutputs    = 50_000
	MaxOutputList = 16 << 20
)

// PutResult stores the result of an attempt. If the result would be longer than MaxResult, its outputs are written into
// a separate file, from which Results and ReadResult read them. PutResult returns an error for more than MaxOutputs
// outputs.
func (a *Area) PutResult(r jjm.Result) error {
	if err := checkTag(r.Tag); err != nil {
		return err
	}
	name := posFile(r.Tag, "done", r.Pos, ".json")
	if n := len(r.Outputs); n > MaxOutputs {
		return jjm.Errorf(jjm.Invalid, "sandbox: result %s: %d outputs: collect at most %d files", name, n, MaxOutputs)
	}
	b, err := json.Marshal(&r)
	if err != nil {
		return a.wrap(err, "encode result %s", name)
	}
	if len(b)+1 > MaxResult && len(r.Outputs) > 0 {
		if err := a.putOutputs(&r); err != nil {
			return err
		}
		if b, err = json.Marshal(&r); err != nil {
			return a.wrap(err, "encode result %s", name)
		}
	}
	if b = append(b, '\n'); len(b) > MaxResult {
		return jjm.Errorf(jjm.Invalid, "sandbox: result %s: %d bytes: shorten the log to fit %d", name, len(b), MaxResult)
	}
	return a.wrap(a.replaceBytes(name, syncFile, b), "write result %s", name)
}

// DoneChanged returns when the latest result arrived in a bulk, by the clock of the file system. It takes only one
// system call, so the caller can use it often to detect new results.
func (a *Area) DoneChanged(tag jjm.Tag) (time.Time, error) {
	if err := checkTag(tag); err != nil {
		return time.Time{}, err
	}
	info, err := a.fs.Stat(BulkDir(tag) + "/done")
	if err != nil {
		return time.Time{}, a.wrap(err, "look at results of bulk %s", tag)
	}
	return info.ModTime(), nil
}

// Results calls the function take for each result of a bulk, in the order of look, until take returns false. If a file
// is not a result of this bulk and position, or is longer than MaxResult, Results adds a problem whose Field is the
// name of the file, and continues with the next file. It returns at most maxProblems problems. next is the position at
// which to continue, or All.
func (a *Area) Results(ctx context.Context, tag jjm.Tag, look Look, take func(*jjm.Result) bool) (next int32,
	problems []jjm.Problem, err error) {
	if err := checkTag(tag); err != nil {
		return look.From, nil, err
	}
	where := BulkDir(tag) + "/done"
	dir, err := a.openDir(where)
	if err != nil {
		return look.From, nil, a.wrap(err, "list results of bulk %s", tag)
	}
	defer dir.Close()
	there, strange, err := look.positions(dir, ".json")
	if err != nil {
		return look.From, nil, a.wrap(err, "list results of bulk %s", tag)
	}
	if strange.name != "" {
		problems = append(problems, jjm.Problem{Where: where, Field: strange.name, Text: strange.why(look.N)})
	}
	for _, pos := range there {
		if ctx.Err() != nil {
			return pos, problems, nil
		}
		name := strconv.Itoa(int(pos)) + ".json"
		r, err := a.readResult(dir, name, tag, pos)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case jjm.KindOf(err) == jjm.Busy: // the account's helper does not answer; the file may be good
			return pos, problems, a.wrap(err, "read result %s of bulk %s", name, tag)
		case err != nil && len(problems) < maxProblems:
			problems = append(problems, jjm.Problem{Where: where, Field: name, Text: err.Error()})
		case err == nil && !take(r):
			return pos, problems, nil
		}
	}
	return All, problems, nil
}

// maxProblems is the largest number of bad files in a folder that one look reports.
const maxProblems = 10

// ReadResult returns the result of one position, nil if there is none. It returns an error if the file is not a valid
// result of this position.
func (a *Area) ReadResult(tag jjm.Tag, pos int32) (*jjm.Result, error) {
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	where := BulkDir(tag) + "/done"
	dir, err := a.openDir(where)
	if err != nil {
		return nil, a.wrap(err, "open results of bulk %s", tag)
	}
	defer dir.Close()
	r, err := a.readResult(dir, strconv.Itoa(int(pos))+".json", tag, pos)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, a.wrap(err, "read result %d of bulk %s", pos, tag)
}

// readResult reads and checks one file of a done folder.
func (a *Area) readResult(dir *os.File, name string, tag jjm.Tag, pos int32) (*jjm.Result, error) {
	f, info, err := a.openIn(dir, BulkDir(tag)+"/done", name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := readLimited(f, info.Size(), MaxResult)
	if err != nil {
		return nil, err
	}
	r := new(jjm.Result)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("no result: %w", err)
	}
	switch {
	case r.Version != 1:
		return nil, fmt.Errorf("version %d of results is unknown", r.Version)
	case len(r.Outputs) > MaxOutputs:
		return nil, fmt.Errorf("%d outputs: want at most %d", len(r.Outputs), MaxOutputs)
	case len(r.Unmet) > jjm.MaxUnmet:
		return nil, fmt.Errorf("%d patterns without outputs: want at most %d", len(r.Unmet), jjm.MaxUnmet)
	case r.Tag != tag || r.Pos != pos:
		return nil, fmt.Errorf("a result of bulk %.20q, position %d", string(r.Tag), r.Pos)
	}
	if err := a.readOutputs(r); err != nil {
		return nil, err
	}
	if !ValidPhases(r.Phases) {
		r.Phases = nil // phases are only for people: a mistake in them must not lose the result
	}
	return r, nil
}

func (a *Area) openDir(name string) (*os.File, error) {
	return a.fs.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
}

// remote is implemented by an FS whose files this process must not open itself, because only the helper process of the
// FS has the rights of the area's owner.
type remote interface{ Remote() }

// openIn opens a regular file by its name in an open folder. It takes one system call; opening a path below the root
// takes one system call for each element. path is the folder's path, for a remote FS. openIn returns an error for a
// symbolic link.
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
		return nil, nil, &fs.PathError{Op: "openat", Path: path + "/" + name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		f.Close()
		return nil, nil, &fs.PathError{Op: "openat", Path: name, Err: notRegular(info)}
	}
	return f, info, nil
}

// openat calls openat(2), and repeats the call if a signal interrupts it.
func openat(dir *os.File, name string, flags int) (int, error) {
	for {
		fd, err := syscall.Openat(int(dir.Fd()), name, flags, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// position parses a file name that consists of digits and a suffix, which is the form of posFile.
func position(name, suffix string) (int32, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	n, err := strconv.ParseUint(digits, 10, 31)
	return int32(n), ok && err == nil && strconv.FormatUint(n, 10) == digits
}
