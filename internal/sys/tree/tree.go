// Package tree packs folders that are inputs of jobs as a tar: files, folders, and links that stay within the folder,
// with their modes. It checks the number and the size of all files before it reads any file. It works with the rights
// of the process and follows no link out of the folder.
package tree

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"jjm/internal/jjm"
)

// Most holds the limits of a folder: the number of names in the folder, and the bytes of its files. 0 means no limit.
type Most struct{ Entries, Bytes int64 }

// mostDeep is the largest depth of nested folders. The names of deeper folders would be almost as long as PATH_MAX of
// Linux (4096, limits.h), so such folders could hardly be opened.
const mostDeep = 256

// ModeBits are the bits of a mode that are kept. The bits setuid, setgid and sticky, and the write permissions of the
// group and of others, are not kept.
const ModeBits fs.FileMode = 0o755

// Tree is a folder whose content was listed and checked. Close releases it.
type Tree struct {
	root    *os.Root
	entries []entry
	bytes   int64
}

// entry is a file, folder or link in the folder.
type entry struct {
	name   string
	info   fs.FileInfo
	target string // the target of a link, "" for files and folders
}

// Open lists all names below a folder. The error is of kind Invalid if the folder exceeds a limit, or contains anything
// except files, folders and links that stay within the folder.
func Open(folder string, most Most) (*Tree, error) {
	fd, err := syscall.Open(folder, syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: folder, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }()
	// Open the folder by its descriptor, because its path may now lead to another folder.
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return nil, fmt.Errorf("open folder %s: %w", folder, err)
	}
	t := &Tree{root: root}
	if err := t.list(".", most, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("folder %s: %w", folder, err), root.Close())
	}
	return t, nil
}

// Bytes returns the sum of the sizes of all files.
func (t *Tree) Bytes() int64 { return t.bytes }

// Close releases the folder.
func (t *Tree) Close() error { return t.root.Close() }

// list adds the entries of a folder, sorted by name. Each folder comes before its content.
func (t *Tree) list(dir string, most Most, deep int) error {
	if deep > mostDeep {
		return jjm.Errorf(jjm.Invalid, "%.100s lies in more than %d folders: pack it in an archive", dir, mostDeep)
	}
	names, err := t.names(dir, most)
	if err != nil {
		return err
	}
	for _, d := range names {
		e, err := t.entryOf(path.Join(dir, d.Name()))
		if err != nil {
			return err
		}
		t.entries = append(t.entries, e)
		if e.info.Mode().IsRegular() {
			t.bytes += e.info.Size()
		}
		if err := t.within(most); err != nil {
			return err
		}
		if !e.info.IsDir() {
			continue
		}
		if err := t.list(e.name, most, deep+1); err != nil {
			return err
		}
	}
	return nil
}

// within returns an error if a limit is exceeded.
func (t *Tree) within(most Most) error {
	switch {
	case most.Entries > 0 && int64(len(t.entries)) > most.Entries:
		return jjm.Errorf(jjm.Invalid, "it contains more than %d files and folders, which is what this site allows "+
			"(engine.max_input_files): pack them in an archive", most.Entries)
	case most.Bytes > 0 && t.bytes > most.Bytes:
		return jjm.Errorf(jjm.Invalid, "its files have more than %d bytes, which is what this site allows "+
			"(engine.max_input_bytes): take fewer or smaller ones, or a dataset", most.Bytes)
	}
	return nil
}

// names lists a folder in order. It reads at most one name more than the limit.
func (t *Tree) names(dir string, most Most) ([]fs.DirEntry, error) {
	d, err := t.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	limit := -1
	if most.Entries > 0 {
		limit = int(most.Entries) + 1
	}
	names, err := d.ReadDir(limit)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(names, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return names, nil
}

// entryOf returns the entry for a file, folder or symbolic link; the entry of a link has the link's target. The error
// is of kind Invalid for any other file, such as a device or a socket.
func (t *Tree) entryOf(name string) (entry, error) {
	info, err := t.root.Lstat(name)
	if err != nil {
		return entry{}, err
	}
	e := entry{name: name, info: info}
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode.IsDir():
		return e, nil
	case mode&fs.ModeSymlink == 0:
		return e, jjm.Errorf(jjm.Invalid, "%.200s is %s: want files, folders and links", name, mode.Type())
	}
	if e.target, err = t.root.Readlink(name); err != nil {
		return e, err
	}
	if err := CheckLink(name, e.target); err != nil {
		return e, err
	}
	if _, err := t.root.Stat(name); err != nil {
		return e, jjm.Errorf(jjm.Invalid, "link %.200s leads to nothing in the folder, %.200s: %w", name, e.target, err)
	}
	return e, nil
}

// CheckLink returns an error if a link leads out of its tree. The target may contain ".." only at its beginning: after
// another link, ".." is relative to the target of that link, which the text does not contain.
func CheckLink(name, target string) error {
	down := target
	for strings.HasPrefix(down, "../") {
		down = strings.TrimLeft(down[3:], "/")
	}
	if down != ".." && slices.Contains(strings.Split(down, "/"), "..") {
		return jjm.Errorf(jjm.Invalid, "link %.200s leads to %.200s: want .. at its beginning only", name, target)
	}
	if target == "" || path.IsAbs(target) || !filepath.IsLocal(path.Join(path.Dir(name), target)) {
		return jjm.Errorf(jjm.Invalid, "link %.200s leads out of the folder, to %.200s: copy its target instead", name, target)
	}
	return nil
}

// Write writes the tar and returns its length in bytes. It returns an error if a file was changed since Open.
func (t *Tree) Write(to io.Writer) (int64, error) {
	c := &counter{to: to}
	w := tar.NewWriter(c)
	for i := range t.entries {
		if err := t.add(w, &t.entries[i]); err != nil {
			return c.n, err
		}
	}
	return c.n, w.Close()
}

// add writes one entry to the tar. The error is of kind Busy if the file was changed since Open.
func (t *Tree) add(w *tar.Writer, e *entry) error {
	h := &tar.Header{Name: e.name, Mode: int64(e.info.Mode() & ModeBits), Format: tar.FormatPAX}
	switch {
	case e.info.IsDir():
		h.Typeflag = tar.TypeDir
		return w.WriteHeader(h)
	case !e.info.Mode().IsRegular():
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.target
		return w.WriteHeader(h)
	}
	f, err := t.root.OpenFile(e.name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(now, e.info) || now.Size() != e.info.Size() {
		return jjm.Errorf(jjm.Busy, "%.200s was changed while the folder was packed", e.name)
	}
	h.Typeflag, h.Size = tar.TypeReg, now.Size()
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	if _, err := io.CopyN(w, f, h.Size); err != nil {
		return fmt.Errorf("%.200s: %w", e.name, err)
	}
	return nil
}

// counter counts the bytes written.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}

// Source is a stream of the tar of a tree, with the size of the tree's content.
type Source struct {
	io.ReadCloser
	// Bytes is the sum of the sizes of all files.
	Bytes int64
}

// Size returns Bytes.
func (s *Source) Size() int64 { return s.Bytes }

// Read opens a folder as a stream. This process itself packs the folder.
func Read(folder string, most Most) (*Source, error) {
	t, err := Open(folder, most)
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() {
		_, err := t.Write(w)
		w.CloseWithError(errors.Join(err, t.Close()))
	}()
	return &Source{r, t.Bytes()}, nil
}
