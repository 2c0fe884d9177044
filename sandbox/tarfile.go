package sandbox

import (
	"archive/tar"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// stream writes a file of the area to the tar. reason is the reason why the file is absent, nil if the file is present;
// err is an error of the tar itself.
func (t *tarring) stream(ctx context.Context, e TarEntry, line *manifestLine) (reason, err error) {
	if t.full {
		return t.capped(), nil
	}
	f, info, err := t.area.openRegular(e.Path)
	if err != nil {
		return absence(err), nil
	}
	defer f.Close()
	size := info.Size()
	if e.SHA256 != "" && size != e.Bytes {
		return fmt.Errorf("its size is %d instead of %d", size, e.Bytes), nil
	}
	if t.maxBytes > 0 && t.bytes+size > t.maxBytes {
		t.full = true
		return t.capped(), nil
	}
	if err := t.tw.WriteHeader(t.header(t.prefix+"/"+line.Path, size, info.ModTime())); err != nil {
		return nil, err
	}
	sum, reason, err := t.copyFile(ctx, f, size)
	if reason != nil || err != nil {
		return reason, err
	}
	if reason := changed(f, info, e.SHA256, sum); reason != nil {
		return reason, nil
	}
	line.Size, line.SHA256 = size, sum
	t.bytes += size
	if info.ModTime().After(t.newest) {
		t.newest = info.ModTime()
	}
	return nil, nil
}

// copyFile copies exactly size bytes of f to the tar, adds the padding that the format requires, and returns the
// SHA-256 of the bytes in hex. reason is set if f could not be read to that size. The bytes bypass the tar writer,
// which saves one copy in memory. The old tar writer does not know about these bytes, so copyFile replaces it by a new
// one.
func (t *tarring) copyFile(ctx context.Context, f *os.File, size int64) (sum string, reason, err error) {
	const block = 512 // see pax(1), ustar interchange format
	t.tw = tar.NewWriter(t.sink)
	t.hash.Reset()
	for left := size; left > 0; {
		if err := ctx.Err(); err != nil {
			return "", nil, err
		}
		n, rerr := t.sink.readFrom(f, left, t.hash)
		left -= int64(n)
		switch err := t.sink.failed(); {
		case err != nil:
			return "", nil, err
		case left == 0:
		case rerr == io.EOF || n == 0 && rerr == nil:
			return "", fmt.Errorf("it shrank to %d bytes while it was read", size-left), nil
		case rerr != nil:
			return "", absence(rerr), nil
		}
	}
	if _, err := t.sink.Write(make([]byte, (block-size%block)%block)); err != nil {
		return "", nil, err
	}
	return hex.EncodeToString(t.hash.Sum(nil)), nil, nil
}

// changed returns the reason why a file that was read to its end cannot be used: its checksum differs from want, or it
// changed during the read.
func changed(f *os.File, before os.FileInfo, want, sum string) error {
	if want != "" && !strings.EqualFold(want, sum) {
		return fmt.Errorf("its SHA-256 is %s instead", sum)
	}
	after, err := f.Stat()
	switch {
	case err != nil:
		return absence(err)
	case after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()):
		return errors.New("it changed while it was read")
	}
	return nil
}

// capped returns the reason for the absence of files beyond maxBytes.
func (t *tarring) capped() error {
	return fmt.Errorf("size cap of %d bytes reached", t.maxBytes)
}

// absence returns the cause of an error without the path, which is already in the manifest.
func absence(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
