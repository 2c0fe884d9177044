package sandbox

import (
	"bufio"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// tmpPrefix is the prefix of files and folders that are being written.
const tmpPrefix = ".tmp-"

// durability states which part of a written file certainly survives a power failure.
type durability uint8

const (
	quick     durability = iota // no part of the file survives for certain
	syncFile                    // the content survives, if the name survives
	syncNamed                   // the content and the name survive
)

// writeBuffer is the size of buffers for files of some hundred kilobytes.
const writeBuffer = 256 << 10

// tmpName returns a new temporary name in a folder.
func tmpName(dir string) string {
	return path.Join(dir, tmpPrefix+strconv.FormatUint(rand.Uint64(), 36))
}

// isTmp reports whether a name in a folder is temporary.
func isTmp(name string) bool { return strings.HasPrefix(name, tmpPrefix) }

// replace writes a file completely or not at all: fill writes the content to a temporary file in the same folder, which
// is then renamed.
func (a *Area) replace(name string, perm os.FileMode, d durability, fill func(*os.File) error) (err error) {
	dir := path.Dir(name)
	tmp := tmpName(dir)
	if err := a.create(tmp, perm, d, fill); err != nil {
		return err
	}
	if err := a.fs.Rename(tmp, name); err != nil {
		a.discard(tmp)
		return err
	}
	if d == syncNamed {
		return a.syncDir(dir)
	}
	return nil
}

// create writes a new file with the content from fill; after an error it leaves no file.
func (a *Area) create(name string, perm os.FileMode, d durability, fill func(*os.File) error) error {
	f, err := a.fs.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	err = fillTo(f, d, fill)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		a.discard(name)
	}
	return err
}

// fillTo writes the content of a file, and syncs the file if d requires it.
func fillTo(f *os.File, d durability, fill func(*os.File) error) error {
	if err := fill(f); err != nil || d < syncFile {
		return err
	}
	return f.Sync()
}

// discard removes a temporary file or folder. If that fails, a temporary name is left, which readers skip.
func (a *Area) discard(name string) { _ = a.fs.RemoveAll(name) }

// replaceBytes calls replace for content in memory, with mode 0600.
func (a *Area) replaceBytes(name string, d durability, content []byte) error {
	return a.replace(name, fileMode, d, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	})
}

// buffered converts a fill function with a buffered writer into a fill function for replace.
func buffered(fill func(*bufio.Writer) error) func(*os.File) error {
	return func(f *os.File) error {
		b := bufio.NewWriterSize(f, writeBuffer)
		if err := fill(b); err != nil {
			return err
		}
		return b.Flush()
	}
}

// syncDir syncs a folder, which makes the names in the folder durable.
func (a *Area) syncDir(dir string) error {
	d, err := a.fs.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
