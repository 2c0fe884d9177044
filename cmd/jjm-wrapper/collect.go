package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// collector examines the outputs of the attempt. It determines their sizes and checksums, and copies the files that the
// application named by RETURN_FILE and that lie outside of the attempt's folder into this folder. All other files stay
// in their places; the daemon collects them from there.
type collector struct {
	a           *attempt
	limit, left int64 // in bytes: MaxOutputBytes, and its unused part; limit 0 means no limit
	returned    map[string]int
	buf         []byte
	open        func(w wanted) (*os.File, error) // openWanted; tests replace it
}

func (a *attempt) newCollector() *collector {
	return &collector{a: a, left: a.job.MaxOutputBytes, limit: a.job.MaxOutputBytes, returned: map[string]int{},
		open: a.openWanted}
}

// collect examines one file and returns its entry in the result. If the file cannot be collected, the entry's Absent
// has the reason. After ctx has ended, collect computes no checksums.
func (c *collector) collect(ctx context.Context, w wanted) jjm.Output {
	o := jjm.Output{Name: w.name, Absent: w.absent, Left: w.left, Optional: w.optional}
	if why := sandbox.BadName(w.name); o.Absent == "" && why != "" {
		o.Absent, o.Left = why, jjm.LeftName
	}
	if o.Absent == "" {
		if err := c.file(ctx, w, &o); err != nil {
			o.Absent, o.Left = cause(err), leftBy(err)
		}
	}
	if o.Absent != "" && w.from != "" {
		o.Name = w.from
	}
	return o
}

// file examines one file and sets the size, the checksum and possibly the name of its output. It returns an error if
// the file cannot be collected.
func (c *collector) file(ctx context.Context, w wanted, o *jjm.Output) error {
	src, err := c.open(w)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if err := plain(src, info); err != nil {
		return err
	}
	o.Bytes = info.Size()
	if c.limit > 0 && o.Bytes > c.left {
		return fmt.Errorf("%w of %d bytes reached", errSizeCap, c.limit)
	}
	if w.from != "" {
		o.Name = c.unique(w.name)
		o.SHA256, o.Bytes, err = c.copy(ctx, o.Name, src, o.Bytes)
	} else {
		o.SHA256, o.Bytes, err = c.read(ctx, src, io.Discard, o.Bytes)
		if errors.Is(err, context.Canceled) {
			o.Bytes, err = info.Size(), nil // the file exists, but there was no time for its checksum
			o.SHA256 = ""
		}
	}
	c.left -= o.Bytes
	return err
}

// openWanted opens a file to collect. It returns an error for files that are not regular, and never waits for their
// other end. It opens files of the attempt's folder relative to the open folder, so that no symbolic link can lead
// outside; the daemon collects these files in the same way.
func (a *attempt) openWanted(w wanted) (*os.File, error) {
	if w.from != "" {
		info, err := os.Stat(w.from)
		if err == nil {
			err = regular(info) // a device is not even opened
		}
		if err != nil {
			return nil, err
		}
		return os.OpenFile(w.from, reading, 0)
	}
	f, err := a.openRegular(w.name)
	if escapes(err) {
		if err := a.relink(w.name); err != nil {
			return nil, err
		}
		f, err = a.openRegular(w.name)
	}
	return f, err
}

// plain returns an error of type noContent unless a file is a regular file on a disk. Folders, devices and FIFOs have
// no content of their own. The files of proc and sysfs have size 0 and may have no end.
func plain(f *os.File, info os.FileInfo) error {
	if err := regular(info); err != nil {
		return err
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return err
	}
	if st.Type == unix.PROC_SUPER_MAGIC || st.Type == unix.SYSFS_MAGIC {
		return noContent("is a file of the kernel, not on a disk")
	}
	return nil
}

// unique returns a name for a copied file that no earlier copy has: name itself, or name with a number.
func (c *collector) unique(name string) string {
	c.returned[name]++
	if n := c.returned[name]; n > 1 {
		return c.unique(name + "." + strconv.Itoa(n))
	}
	return name
}

// copy copies a file of at most size bytes into the attempt's folder under a new name. It returns the SHA-256 and the
// number of the copied bytes. After an error it removes the copy.
func (c *collector) copy(ctx context.Context, name string, src *os.File, size int64) (sum string, n int64, err error) {
	root := c.a.root
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return "", 0, err
	}
	dst, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, err
	}
	sum, n, err = c.read(ctx, src, dst, size)
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		err = fmt.Errorf("copy: %w", err)
		if rerr := root.Remove(name); rerr != nil {
			err = errors.Join(err, rerr)
		}
		c.a.note(diskFull(err))
	}
	return sum, n, err
}

// diskFull returns err, with the step that failed, if the disk or a quota is full, because people must see this error.
// It returns nil for all other errors.
func diskFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("collect outputs: %w", err)
	}
	return nil
}

// read copies at most size bytes from src to dst, and returns the SHA-256 and the number of the copied bytes. It stops
// with the error of ctx when ctx ends.
func (c *collector) read(ctx context.Context, src io.Reader, dst io.Writer, size int64) (sum string, n int64,
	err error) {
	if c.buf == nil {
		c.buf = make([]byte, 256<<10)
	}
	h := sha256.New()
	for n < size {
		if err := ctx.Err(); err != nil {
			return "", n, err
		}
		k, err := src.Read(c.buf[:min(size-n, int64(len(c.buf)))])
		h.Write(c.buf[:k])
		if _, err := dst.Write(c.buf[:k]); err != nil {
			return "", n, err
		}
		n += int64(k)
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", n, err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// errSizeCap is the error for files that exceed MaxOutputBytes.
var errSizeCap = errors.New("size cap")

// leftBy returns the reason why a file is left out of the outputs, from the error of reading it. It returns "" if the
// file does not exist or cannot have content, because such a file is missing and not left out.
func leftBy(err error) jjm.LeftReason {
	var none noContent
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG) || errors.As(err, &none):
		return ""
	case errors.Is(err, errSizeCap):
		return jjm.LeftSize
	case escapes(err) || errors.Is(err, errLeadsOut):
		return jjm.LeftLink
	case errors.Is(err, context.Canceled):
		return jjm.LeftTime
	}
	return jjm.LeftUnreadable
}

// cause returns the text of an error without the path of the file, because the name of the output already contains the
// path.
func cause(err error) string {
	if escapes(err) {
		return errLeadsOut.Error()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "missing"
	}
	if p, ok := err.(*fs.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}
