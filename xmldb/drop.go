package xmldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/commons"
	"jjm/internal/sys/wary"
)

// The limits of one scan of a drop folder.
const (
	// maxScan is the largest number of files that a scan reads.
	maxScan = 10_000
	// maxScanBytes is the total size of these files after which a scan reads no further file.
	maxScanBytes = 32 << 20
	// maxRefused is the approximate number of entries of refused/ that are kept, and maxRefusedBytes their approximate
	// total size; the oldest entries are removed.
	maxRefused      = 2_000
	maxRefusedBytes = 16 << 20
)

// refusedDir is the folder within a drop folder for rejected files.
const refusedDir = "refused"

// Drop is the drop folder: any account of the site may leave fragments in it. A fragment is a file *.xml. It is written
// under a name that starts with a dot and then renamed, so that only complete files are seen. Links, devices, fifos,
// directories and files that are too long are rejected without being read. A copy of a rejected file is kept in
// refused/, if the file is not too long; a file of the same name with .why appended contains the reason. Both belong to
// the daemon. Apart from the daemon only the writer can read them, if the file system has access lists.
//
// Any account could fill the folder, so the files of each account are limited (see [MostDropped]).
//
// The methods of a Drop are for one goroutine; only Watch may run at the same time.
type Drop struct {
	dir  string
	root *os.Root
	in   *wary.Dir // the same folder, to open others' files without following links
	warn func(msg string, args ...any)
	most commons.Most // limits of an account: MostDropped, except in tests
	// immovable contains rejected entries that could not be removed; they are ignored.
	immovable map[stamp]bool
	// refusals is the number of rejected files since refused/ was last pruned; refusedBytes is the total size of their
	// copies.
	refusals     int
	refusedBytes int64
}

// Dropped is a fragment found in a drop folder. The caller must decide whether the writer of the fragment may write
// about the job, and then call Accept or Refuse. If the caller calls neither, the next scan finds the file again.
type Dropped struct {
	Fragment Fragment
	// Name is the file's name in the folder.
	Name string
	// UID is the owner of the file.
	UID int
	// Modified is the time at which the file was last written.
	Modified time.Time

	drop *Drop
	seen stamp
}

// OpenDrop opens the drop folder at an absolute path. It creates a missing folder with mode 1733: every account may
// leave files, and only their owners and jjm may remove them. It returns an error if refused/ belongs to another
// account than the daemon's.
func OpenDrop(dir string, warn func(msg string, args ...any)) (*Drop, error) {
	if !filepath.IsAbs(dir) {
		return nil, jjm.Errorf(jjm.Invalid, "open drop folder: %q: want an absolute path", dir)
	}
	root, err := openDropRoot(dir)
	if err != nil {
		return nil, jjm.Errorf(diskKind(err), "open drop folder %s: %w", dir, err)
	}
	if warn == nil {
		warn = func(string, ...any) {}
	}
	in, err := wary.In(dir)
	if err != nil {
		root.Close()
		return nil, jjm.Errorf(diskKind(err), "open drop folder %s: %w", dir, err)
	}
	d := &Drop{dir: dir, root: root, in: in, warn: warn, most: MostDropped, immovable: make(map[stamp]bool)}
	if err := d.makeRefused(); err != nil {
		d.Close()
		return nil, jjm.Errorf(jjm.Denied, "open drop folder %s: %w", dir, err)
	}
	d.prune()
	return d, nil
}

// openDropRoot opens the folder. It creates a missing folder with the mode dropMode.
func openDropRoot(dir string) (*os.Root, error) {
	if err := os.MkdirAll(filepath.Dir(dir), dirMode); err != nil {
		return nil, err
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil { // sets the mode whatever the umask is; mkdir(2) may ignore the sticky bit
		err = os.Chmod(dir, dropMode)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// Replaced reports whether the path now leads to another folder or to none.
func (d *Drop) Replaced() bool {
	was, err := d.root.Stat(".")
	if err != nil {
		return false
	}
	now, err := os.Stat(d.dir)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(was, now)
}

// makeRefused ensures that refused/ is a folder of the daemon's account.
func (d *Drop) makeRefused() error {
	err := d.root.Mkdir(refusedDir, refusedMode)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	st, err := d.root.Lstat(refusedDir)
	if err != nil {
		return err
	}
	if uid := uidOf(st); !st.IsDir() || uid != os.Geteuid() && uid != 0 {
		return fmt.Errorf("%s: want a folder of uid %d or root, found %v of uid %d: remove it", refusedDir, os.Geteuid(),
			st.Mode(), uid)
	}
	return d.root.Chmod(refusedDir, refusedMode)
}

// Close closes the folder.
func (d *Drop) Close() error { return errors.Join(d.in.Close(), d.root.Close()) }

// Scan returns the fragments in the folder, the oldest first, and rejects files that are not fragments. It reads at
// most 10 000 files or 32 MiB; the caller repeats the call until it returns no fragment. An error is of kind Busy and
// concerns the whole folder, or is the error of ctx.
func (d *Drop) Scan(ctx context.Context) ([]Dropped, error) {
	infos, err := d.candidates(ctx)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "scan drop folder %s: %w", d.dir, err)
	}
	var found []Dropped
	var bytes int64
	for _, st := range infos {
		if err := ctx.Err(); err != nil {
			return found, jjm.Errorf(jjm.Busy, "scan drop folder %s: %w", d.dir, err)
		}
		if bytes > maxScanBytes {
			break
		}
		f, err := d.read(st)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EWOULDBLOCK):
			continue // the file was removed, or leased by its writer: the next scan reads it
		case err != nil:
			d.refuse(st.Name(), stampOf(st), err)
			continue
		}
		bytes += st.Size()
		found = append(found, f)
	}
	return found, nil
}

// candidates returns up to maxScan entries with the name of a complete file, the oldest first. It removes entries that
// no writer of fragments makes (see strange), and the entries of an account beyond its limits.
func (d *Drop) candidates(ctx context.Context) ([]os.FileInfo, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	c := census{drop: d, now: time.Now(), of: make(map[int]*tally), stuck: make(map[stamp]bool)}
	defer func() { d.immovable = c.stuck }()
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		names, err := dir.Readdirnames(1000)
		for _, name := range names {
			if name == refusedDir {
				continue
			}
			if st, err := d.in.Lstat(name); err == nil { // otherwise removed, or hidden by a mounted file system
				c.count(st)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	infos := c.within()
	sort.Slice(infos, func(i, j int) bool {
		if a, b := infos[i].ModTime(), infos[j].ModTime(); !a.Equal(b) {
			return a.Before(b)
		}
		return infos[i].Name() < infos[j].Name()
	})
	return infos[:min(len(infos), maxScan)], nil
}

// complete reports whether a file with this name is ready to be read.
func complete(name string) bool {
	return strings.HasSuffix(name, ".xml") && !strings.HasPrefix(name, ".")
}

// read reads and parses one file. Every error except ErrNotExist and EWOULDBLOCK is a reason to reject the file.
func (d *Drop) read(lst os.FileInfo) (Dropped, error) {
	if err := acceptable(lst); err != nil {
		return Dropped{}, err
	}
	// Open waits neither for a fifo that replaced the file, nor for a lease or a file system.
	f, err := d.in.Open(lst.Name(), os.O_RDONLY)
	if errors.Is(err, fs.ErrPermission) {
		return Dropped{}, errors.New("jjm may not read it: chmod a+r before you rename it")
	}
	if err != nil {
		return Dropped{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Dropped{}, err
	}
	if !os.SameFile(st, lst) {
		return Dropped{}, fs.ErrNotExist // the file was replaced: the next scan sees the new file
	}
	if err := acceptable(st); err != nil {
		return Dropped{}, err
	}
	b, err := io.ReadAll(io.LimitReader(f, jjm.MaxFragment+1))
	if err != nil {
		return Dropped{}, err
	}
	frag, err := ParseFragment(b)
	return Dropped{
		Fragment: frag, Name: lst.Name(), UID: uidOf(st), Modified: st.ModTime(), drop: d, seen: stampOf(st),
	}, err
}

// acceptable returns an error unless an entry is a regular file that is not too long and has one hard link. A file with
// a second link may belong to an account that did not leave it here.
func acceptable(st os.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.Mode().IsRegular():
		return fmt.Errorf("it is a %s: want a regular file", jjm.FileKind(st.Mode()))
	case ok && sys.Nlink > 1:
		return errors.New("it has more than one hard link: want a file of its own")
	case st.Size() > jjm.MaxFragment:
		return fmt.Errorf("it has %d bytes: want at most %d", st.Size(), jjm.MaxFragment)
	}
	return nil
}

// uidOf returns the owner of a file, -1 if it is unknown.
func uidOf(st os.FileInfo) int {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
}

// Accept removes the file. The caller must have stored the file's fragment before. A newer file of the same name stays
// for the next scan.
func (f Dropped) Accept() error {
	if !f.drop.unchanged(f.Name, f.seen) {
		return nil
	}
	if err := f.drop.root.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return jjm.Errorf(diskKind(err), "remove accepted fragment %q from %s: %w", f.Name, f.drop.dir, err)
	}
	return nil
}

// Refuse removes the file and keeps a copy in refused/, together with the reason. A file that cannot be removed stays
// in the folder, and later scans ignore it.
func (f Dropped) Refuse(why error) {
	f.drop.refuse(f.Name, f.seen, why)
}

// unchanged reports whether name is still the file that was scanned.
func (d *Drop) unchanged(name string, seen stamp) bool {
	st, err := d.in.Lstat(name)
	return err == nil && stampOf(st) == seen
}
