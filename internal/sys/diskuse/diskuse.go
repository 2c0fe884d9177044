// Package diskuse counts the files below a folder and the bytes that they use on the disk. The count stops at given
// limits of files, bytes and time, so that a hostile folder cannot occupy the caller for long.
package diskuse

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"
)

// Use is the result of a count.
type Use struct {
	// Bytes is the number of bytes allocated on the disk, so holes of sparse files do not count. Files is the number of
	// names, including folders.
	Bytes, Files int64
	// Partial is set if the count stopped at a limit. The numbers are then lower bounds.
	Partial bool
}

// Most holds the limits of a count. The count stops when a limit is exceeded. 0 means no limit.
type Most struct {
	Bytes, Files int64
	Time         time.Duration
}

// namesAtOnce is the number of names of a folder that are in memory at the same time.
const namesAtOnce = 1024

// blockBytes is the unit of st_blocks (stat(2)).
const blockBytes = 512

// Count counts the files below the folder dir of root; "." is root itself. It does not follow links. It skips files
// that it cannot read or that are removed meanwhile.
func Count(root *os.Root, dir string, most Most) (Use, error) {
	c := &counter{root: root, most: most}
	if most.Time > 0 {
		c.until = time.Now().Add(most.Time)
	}
	folders := []string{dir}
	for len(folders) > 0 && !c.Partial {
		last := len(folders) - 1
		at := folders[last]
		more, err := c.folder(at)
		if err != nil && at == dir {
			return c.Use, err
		}
		folders = append(folders[:last], more...)
	}
	return c.Use, nil
}

type counter struct {
	Use
	root  *os.Root
	most  Most
	until time.Time
}

// folder counts the files of one folder and returns the folders in it.
func (c *counter) folder(dir string) (folders []string, err error) {
	f, err := c.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for !c.Partial {
		names, err := f.Readdirnames(namesAtOnce)
		for _, name := range names {
			if file := path.Join(dir, name); c.file(file) {
				folders = append(folders, file)
			}
		}
		c.Partial = c.over()
		if err != nil && !errors.Is(err, io.EOF) {
			return folders, err
		}
		if err != nil || len(names) == 0 {
			break
		}
	}
	return folders, nil
}

// file counts one file. It returns true if the file is a folder.
func (c *counter) file(name string) bool {
	info, err := c.root.Lstat(name)
	if err != nil {
		return false
	}
	c.Files++
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		c.Bytes += st.Blocks * blockBytes
	}
	return info.Mode()&fs.ModeDir != 0
}

// over reports whether a limit is exceeded.
func (c *counter) over() bool {
	return c.most.Bytes > 0 && c.Bytes > c.most.Bytes || c.most.Files > 0 && c.Files > c.most.Files ||
		!c.until.IsZero() && time.Now().After(c.until)
}
