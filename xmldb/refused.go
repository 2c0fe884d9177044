package xmldb

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sort"
	"syscall"

	"jjm/internal/jjm"
	"jjm/internal/sys/acl"
	"jjm/internal/sys/commons"
	"jjm/internal/sys/wary"
	"jjm/xmldb/internal/xmltext"
)

// refusedMode allows a writer to open the copies of its files by name. Only the daemon can list the folder.
const refusedMode = 0o711

// maxWhy is the largest length of a reason in bytes.
const maxWhy = 4 << 10

// refuse removes an entry, unless it changed since it was scanned, and keeps a copy and the reason. The copy is the
// daemon's own file: the writer may have the original open, and could continue to write to it.
func (d *Drop) refuse(name string, seen stamp, why error) {
	if !d.unchanged(name, seen) {
		return
	}
	st, err := d.in.Lstat(name)
	if err != nil {
		return
	}
	// The longest name is 255 bytes (NAME_MAX); this leaves room for ".why".
	target, _ := xmltext.Cut(name, 240)
	err = errors.Join(d.keep(target, d.textOf(st), uidOf(st)), d.keepWhy(target, why, uidOf(st)))
	if err != nil {
		d.warn("a refused fragment cannot be kept", "file", filepath.Join(d.dir, name), "refused", why, "error", err)
	}
	if err := d.clear(name, st); err != nil {
		d.immovable[seen] = true
		d.warn("a refused fragment cannot be removed", "file", filepath.Join(d.dir, name), "refused", why, "error", err)
	}
	if d.refusals++; d.refusals >= 500 || d.refusedBytes > maxRefusedBytes/4 {
		d.prune()
	}
}

// textOf returns the content of a rejected file. It returns nil if the file is not acceptable, cannot be read, or was
// replaced meanwhile; no copy is then kept.
func (d *Drop) textOf(st os.FileInfo) []byte {
	if acceptable(st) != nil {
		return nil
	}
	f, err := d.in.Open(st.Name(), os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, st) || acceptable(now) != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, jjm.MaxFragment))
	if err != nil {
		return nil
	}
	return text
}

// keepWhy writes the reason of a refusal into refused/.
func (d *Drop) keepWhy(target string, why error, uid int) error {
	text, _ := xmltext.Cut(why.Error(), maxWhy)
	return d.keep(target+".why", []byte(text+"\n"), uid)
}

// keep writes a file in refused/ that only the daemon and one account can read. It replaces an older file. If text is
// nil, keep only removes the older file.
func (d *Drop) keep(target string, text []byte, uid int) error {
	path := filepath.Join(refusedDir, target)
	if err := d.in.RemoveAll(path); err != nil || text == nil {
		return err
	}
	f, err := d.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	d.refusedBytes += int64(len(text))
	if uid > 0 && uid != os.Geteuid() {
		if aerr := acl.Grant(f, acl.Read, uid); aerr != nil && !errors.Is(aerr, acl.ErrUnsupported) {
			err = errors.Join(err, aerr)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, d.root.Remove(path)) // on a full disk half of the file is useless
	}
	return nil
}

// clear removes an entry. If this process is root, it first becomes the owner of a folder, so that a process that has
// the folder open can no longer add files.
func (d *Drop) clear(name string, st os.FileInfo) error { return clearIn(d.in, name, st) }

// clearIn does the work of clear, in any folder.
func clearIn(in *wary.Dir, name string, st os.FileInfo) error {
	if st.IsDir() && os.Geteuid() == 0 {
		f, err := in.Open(name, os.O_RDONLY|syscall.O_DIRECTORY)
		if err != nil {
			return err
		}
		err = errors.Join(f.Chown(0, 0), f.Chmod(0o700), f.Close())
		if err != nil {
			return err
		}
	}
	return in.RemoveAll(name)
}

// prune removes the oldest files in refused/ beyond the limits. It also removes files that belong to other accounts, or
// that others can read.
func (d *Drop) prune() {
	d.refusals, d.refusedBytes = 0, 0
	dir, err := d.root.Open(refusedDir)
	if err != nil {
		return
	}
	defer dir.Close()
	entries, err := dir.Readdir(-1)
	if err != nil {
		return
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].ModTime().After(entries[j].ModTime()) })
	names, bytes := 0, int64(0)
	for _, st := range entries {
		if own := uidOf(st) == os.Geteuid() && st.Mode().IsRegular() && st.Mode().Perm()&0o007 == 0; own {
			names++
			bytes += sizeOf(st)
			if names <= maxRefused && bytes <= maxRefusedBytes {
				continue
			}
		}
		if err := d.clear(filepath.Join(refusedDir, st.Name()), st); err != nil {
			d.warn("an old refused fragment cannot be removed", "file", filepath.Join(d.dir, refusedDir, st.Name()),
				"error", err)
		}
	}
}

// sizeOf returns the number of bytes that a file takes on disk.
func sizeOf(st os.FileInfo) int64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return commons.Allocated(sys.Size, sys.Blocks)
	}
	return st.Size()
}
