package sandbox

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"unicode"

	"jjm/internal/jjm"
	"jjm/internal/sys/tree"
)

// packTree unpacks an input that is a folder into the new folder name, with its modes, and returns a digest of its
// content. The tar may come from the helper process of an account and is not trusted: the error is of kind Invalid if
// an entry would lead out of the folder, is a special file, or exceeds the size announced in src.
func (a *Area) packTree(ctx context.Context, name string, src *tree.Source) (string, error) {
	if err := a.fs.Mkdir(name, dirMode); err != nil {
		return "", err
	}
	h := sha256.New()
	folders := map[string]bool{name: true}
	left := src.Bytes
	for t := tar.NewReader(ctxReader{ctx, src}); ; {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", jjm.Errorf(jjm.KindOf(err), "not a whole folder: %w", err)
		}
		if err := checkEntry(head, left); err != nil {
			return "", err
		}
		left -= head.Size
		mode := fs.FileMode(head.Mode) & tree.ModeBits
		at := name + "/" + head.Name
		if !folders[path.Dir(at)] {
			return "", jjm.Errorf(jjm.Invalid, "%.200q does not lie in a folder that came before it", head.Name)
		}
		sum := head.Linkname
		switch head.Typeflag {
		case tar.TypeDir:
			err = a.fs.Mkdir(at, mode|dirMode) // the owner can then always remove the content
			folders[at] = true
		case tar.TypeSymlink:
			err = a.fs.Symlink(head.Linkname, at)
		default:
			sum, err = a.packTreeFile(ctx, at, mode, t)
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %c %o %q\n", head.Name, head.Typeflag, mode, sum)
	}
	if _, err := io.Copy(io.Discard, src); err != nil { // returns an error if the folder was not read to its end
		return "", err
	}
	for f := range folders {
		if err := a.syncDir(f); err != nil {
			return "", err
		}
	}
	return "tree " + hex.EncodeToString(h.Sum(nil)), nil
}

// checkEntry returns an error if an entry does not belong in a folder, or is larger than left, the number of remaining
// bytes.
func checkEntry(h *tar.Header, left int64) error {
	for _, r := range h.Name {
		if unicode.IsControl(r) {
			return jjm.Errorf(jjm.Invalid, "%.200q: want no control characters in names", h.Name)
		}
	}
	clean := path.Clean(h.Name)
	if !filepath.IsLocal(h.Name) || h.Name != clean && h.Name != clean+"/" || clean == "." {
		return jjm.Errorf(jjm.Invalid, "%.200q is not a name below the folder", h.Name)
	}
	h.Name = clean
	switch h.Typeflag {
	case tar.TypeDir:
		return nil
	case tar.TypeSymlink:
		return tree.CheckLink(h.Name, h.Linkname)
	case tar.TypeReg:
		if isSparse(h) || h.Size > left {
			return jjm.Errorf(jjm.Invalid, "%.200q: its %d bytes are more than the folder was said to have", h.Name, h.Size)
		}
		return nil
	}
	return jjm.Errorf(jjm.Invalid, "%.200q is no file, folder or link", h.Name)
}

// packTreeFile writes a file of a folder with its mode.
func (a *Area) packTreeFile(ctx context.Context, name string, mode fs.FileMode, src io.Reader) (string, error) {
	h := sha256.New()
	err := a.create(name, mode, syncFile, func(f *os.File) error {
		_, err := io.CopyBuffer(io.MultiWriter(f, h), ctxReader{ctx, src}, make([]byte, writeBuffer))
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
