package sandbox

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// BoxName is the file name of a box, in the bulk's folder and, on the worker, in the folder in which the job starts.
const BoxName = "box.tar"

// Box lists the files that the batch system must bring, in addition to the wrapper, to workers that do not see the work
// area.
type Box struct {
	// File is the absolute path of the box: a tar of the bulk's assign file, the job.json of its grid jobs and their
	// credentials, with the same paths as in the area.
	File string
	// Packages are the absolute paths of the sandbox packages.
	Packages []string
	// Proxies are the proxy certificates of those grid jobs that request a proxy. The box contains the certificates too.
	Proxies map[jjm.GridID]Proxy
}

// boxFile returns the path of a bulk's box below the area.
func boxFile(tag jjm.Tag) string { return BulkDir(tag) + "/" + BoxName }

// backDir returns the folder to which the parcels of a bulk are returned.
func backDir(tag jjm.Tag) string { return BulkDir(tag) + "/back" }

// BackDir returns the absolute path of the folder into which the batch system puts the parcels of a bulk, named by
// position.
func (a *Area) BackDir(tag jjm.Tag) string { return filepath.Join(a.root, backDir(tag)) }

// WriteBox writes the box of a bulk, and creates the folder for the bulk's parcels. The assign file must exist. grids
// are the grid jobs of the bulk's members. WriteBox may be called repeatedly.
func (a *Area) WriteBox(tag jjm.Tag, grids []jjm.GridID) (Box, error) {
	if err := checkTag(tag); err != nil {
		return Box{}, err
	}
	box := Box{File: filepath.Join(a.root, boxFile(tag)), Proxies: map[jjm.GridID]Proxy{}}
	files := []string{assignFile(tag)}
	for _, grid := range slices.Compact(slices.Sorted(slices.Values(grids))) {
		job, err := a.ReadJob(grid)
		if err != nil {
			return Box{}, err
		}
		files = append(files, GridDir(grid)+"/job.json")
		files = slices.AppendSeq(files, maps.Values(job.Credentials))
		if proxy, ok, err := a.proxyOf(job); err != nil {
			return Box{}, err
		} else if ok {
			box.Proxies[grid] = proxy
		}
		if dir := filepath.Join(a.root, "packages", job.Package); job.Package != "" && !slices.Contains(box.Packages, dir) {
			box.Packages = append(box.Packages, dir)
		}
	}
	if err := a.fs.MkdirAll(backDir(tag), dirMode); err != nil {
		return Box{}, a.wrap(err, "make folder for the parcels of bulk %s", tag)
	}
	err := a.replace(boxFile(tag), fileMode, syncNamed, func(f *os.File) error {
		w := tar.NewWriter(f)
		for _, name := range files {
			if err := a.addFile(w, name); err != nil {
				return err
			}
		}
		return w.Close()
	})
	return box, a.wrap(err, "write the box of bulk %s", tag)
}

// addFile adds one regular file of the area to a tar, under the same path.
func (a *Area) addFile(w *tar.Writer, name string) error {
	f, info, err := a.openRegular(name)
	if err != nil {
		return err
	}
	defer f.Close()
	mode := int64(fileMode)
	if info.Mode()&0o100 != 0 {
		mode = execMode
	}
	err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: info.Size(),
		ModTime: info.ModTime()})
	if err != nil {
		return err
	}
	_, err = io.CopyN(w, f, info.Size())
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s became shorter while it was read", name)
	}
	return err
}

// Unbox unpacks a box on the worker into an area there, and creates the folders that a wrapper writes to.
func (a *Area) Unbox(tag jjm.Tag, box io.Reader) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if err := a.makeBulk(tag); err != nil {
		return err
	}
	err := eachFile(box, func(h *tar.Header, r io.Reader) error {
		if h.Name != assignFile(tag) && !(strings.HasPrefix(h.Name, "jobs/") && path.Base(h.Name) == "job.json") &&
			!strings.HasPrefix(h.Name, "credentials/") {
			return jjm.Errorf(jjm.Invalid, "%.100q does not belong in a box", h.Name)
		}
		return a.putFile(h, r, quick)
	})
	return a.wrap(err, "unpack the box of bulk %s", tag)
}

// eachFile calls do for each entry of a tar. It returns an error of kind Invalid for an entry that is not a regular
// file or whose name is absolute or contains . or .. elements.
func eachFile(r io.Reader, do func(*tar.Header, io.Reader) error) error {
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return jjm.Errorf(jjm.Invalid, "not a whole tar: %w", err)
		case h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) || path.Clean(h.Name) != h.Name:
			return jjm.Errorf(jjm.Invalid, "%.100q is not a regular file below the area", h.Name)
		case isSparse(h):
			return jjm.Errorf(jjm.Invalid, "%.100q is a sparse file, whose holes would be written out: want whole files", h.Name)
		}
		if err := do(h, t); err != nil {
			return err
		}
	}
}

// isSparse reports whether an entry is a sparse file. In such a file some kilobytes may represent terabytes of zeros
// (GNU tar's manual, section "Storing Sparse Files").
func isSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// putFile writes one file of a tar, complete or not at all.
func (a *Area) putFile(h *tar.Header, r io.Reader, d durability) error {
	if err := a.fs.MkdirAll(path.Dir(h.Name), dirMode); err != nil {
		return err
	}
	mode := os.FileMode(fileMode)
	if h.Mode&0o100 != 0 {
		mode = execMode
	}
	return a.replace(h.Name, mode, d, func(f *os.File) error {
		n, err := io.Copy(f, r)
		if err != nil {
			return err
		}
		if n != h.Size {
			return io.ErrUnexpectedEOF
		}
		return nil
	})
}
