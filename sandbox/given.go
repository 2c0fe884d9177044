package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"jjm/internal/jjm"
)

// InName is the name of a folder in the folder of an attempt. It contains links to the files that the attempt reads and
// that local jobs of this site made.
const InName = "in"

// Given is a file that one local job made and another local job reads.
type Given struct {
	// Link is the name of the link below InName: the name of the file in its dataset, with a number in front if several
	// files of the part have that name.
	Link string `json:"link"`
	// Path is the path of the file below the area.
	Path string `json:"path"`
	// Size is the size of the file in bytes when it was made.
	Size int64 `json:"size"`
}

// InDir returns the absolute path of the folder for an attempt's links, for a worker that sees the area.
func (a *Area) InDir(id jjm.AttemptID) string { return filepath.Join(a.root, AttemptDir(id), InName) }

// MoveIn makes the command, the environment and the part of an assignment name the files in Given by paths below the
// folder to, instead of below In. It is used on a worker that does not see the area and therefore has its own area.
func (s *Assignment) MoveIn(to string) {
	if s.In == "" || s.In == to {
		return
	}
	move := func(words []string) []string {
		words = slices.Clone(words)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], s.In+"/", to+"/")
		}
		return words
	}
	s.Argv, s.Analyse = move(s.Argv), move(s.Analyse)
	s.Env = maps.Clone(s.Env)
	for name, value := range s.Env {
		s.Env[name] = strings.ReplaceAll(value, s.In+"/", to+"/")
	}
	streams := make(map[string][]string, len(s.Part.Streams))
	for name, files := range s.Part.Streams {
		streams[name] = move(files)
	}
	s.Part.Streams = streams
	if in := s.Part.Input; in != nil {
		s.Part.Input = in.Renamed(func(_ string, lfn string) string { return move([]string{lfn})[0] })
	}
	s.In = to
}

// givenDir returns the folder of a bulk for workers that do not see the area. It contains a folder for each position
// with the files of that position.
func givenDir(tag jjm.Tag) string { return BulkDir(tag) + "/" + InName }

// LinkGiven creates links to the files that the positions of a bulk read, in a form that a batch system can send: for
// each position a folder named by its number, which contains the files, each named by its number. A missing file is
// left out; the worker will report it.
func (a *Area) LinkGiven(tag jjm.Tag, as []Assignment) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	for pos := range as {
		dir := givenDir(tag) + "/" + strconv.Itoa(pos)
		if err := a.fs.MkdirAll(dir, dirMode); err != nil {
			return a.wrap(err, "make %s", dir)
		}
		for n, g := range as[pos].Given {
			err := a.fs.Link(g.Path, dir+"/"+strconv.Itoa(n))
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
				return a.wrap(err, "link %s for bulk %s", g.Path, tag)
			}
		}
	}
	return nil
}

// GivenFolder returns the absolute path of the folder that LinkGiven created for a bulk, "" if there is no such folder.
func (a *Area) GivenFolder(tag jjm.Tag) (string, error) {
	_, err := a.fs.Stat(givenDir(tag))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return filepath.Join(a.root, givenDir(tag)), a.wrap(err, "look at %s", givenDir(tag))
}

// PutGiven moves the files in s.Given, which a batch system has brought to a worker, from folder to the paths that they
// have in the original area. A missing file is skipped.
func (a *Area) PutGiven(folder string, s *Assignment) error {
	for n, g := range s.Given {
		if !fs.ValidPath(g.Path) {
			return jjm.Errorf(jjm.Invalid, "sandbox: file %.100q: want a path below the area", g.Path)
		}
		if err := a.fs.MkdirAll(path.Dir(g.Path), dirMode); err != nil {
			return a.wrap(err, "make the folder of %s", g.Path)
		}
		err := os.Rename(filepath.Join(folder, strconv.Itoa(n)), filepath.Join(a.root, g.Path))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return a.wrap(err, "move %s", g.Path)
		}
	}
	return nil
}

// CheckMade returns the state of a file that a local job made: ready if it is still a regular file of the given size,
// lost if it does not exist, otherwise broken. why explains the states lost and broken. If the area cannot be read,
// CheckMade returns an error, and the state means nothing.
func (a *Area) CheckMade(name string, size int64) (is jjm.FileState, why string, err error) {
	info, err := a.fs.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return jjm.FileLost, "it is not there any more", nil
	case err != nil:
		return jjm.FileReady, "", a.wrap(err, "look at %s", name)
	case !info.Mode().IsRegular():
		return jjm.FileBroken, "it " + notRegular(info).Error(), nil
	case info.Size() != size:
		return jjm.FileBroken, fmt.Sprintf("it has %d bytes, and %d were made", info.Size(), size), nil
	}
	return jjm.FileReady, "", nil
}
