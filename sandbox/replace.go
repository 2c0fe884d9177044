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

// tmpPrefix marks files and folders that are being written.
const tmpPrefix = ".tmp-"

// durability is how much of a written file is certain to survive a power
// failure.
type durability uint8

const (
	quick     durability = iota // nothing
	syncFile                    // its content, if its name is there
	syncNamed                   // its content and its name
)

// writeBuffer suits files of some hundred kilobytes.
const writeBuffer = 256 << 10

// tmpName is a fresh temporary name in a folder.
func tmpName(dir string) string {
	return path.Join(dir, tmpPrefix+strconv.FormatUint(rand.Uint64(), 36))
}

// isTmp reports whether a name in a folder is a temporary one.
func isTmp(name string) bool { return strings.HasPrefix(name, tmpPrefix) }

// replace writes a file whole or not at all: fill writes its content to a
// temporary file beside it, which is then renamed.
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

// create writes a new file, or leaves none.
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

// fillTo writes a file, to the disk if it is to be durable.
func fillTo(f *os.File, d durability, fill func(*os.File) error) error {
	if err := fill(f); err != nil || d < syncFile {
		return err
	}
	return f.Sync()
}

// discard removes a file that is not needed; that this may fail too leaves a
// temporary name, which readers pass over.
func (a *Area) discard(name string) { _ = a.fs.RemoveAll(name) }

// replaceBytes is replace with ready content.
func (a *Area) replaceBytes(name string, d durability, content []byte) error {
	return a.replace(name, fileMode, d, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	})
}

// buffered returns fill a buffer.
func buffered(fill func(*bufio.Writer) error) func(*os.File) error {
	return func(f *os.File) error {
		b := bufio.NewWriterSize(f, writeBuffer)
		if err := fill(b); err != nil {
			return err
		}
		return b.Flush()
	}
}

// syncDir makes the names in a folder durable.
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
