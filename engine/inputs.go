package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"jjm"
	"jjm/handlers"
)

// site is what handlers may know on behalf of an owner.
func (e *Engine) site(owner jjm.Owner, base string) handlers.Site {
	return handlers.Site{
		RecommendedCPU: e.conf().RecommendedCPU, MaxCPU: e.conf().MaxCPU,
		MaxLocalJobs: e.conf().MaxLocalJobs,
		Open:         func(path string) (io.ReadCloser, error) { return e.openInput(owner, base, path) },
	}
}

// openInput opens a regular file that the owner may read; it never blocks on a
// pipe or a device. This process may be able to read more than the owner - its
// own store, other owners' files - so a job file that names such a thing is
// refused, whatever links lead there and however they change meanwhile.
func (e *Engine) openInput(owner jjm.Owner, base, path string) (io.ReadCloser, error) {
	if !filepath.IsAbs(path) {
		if base == "" {
			return nil, jjm.Errorf(jjm.Invalid, "%s: relative path, and the job file's folder is not known", path)
		}
		path = base + "/" + path // not cleaned: ".." behind a link is the link's target's
	}
	f, err := e.openAs(owner, path)
	if err == nil {
		return f, nil
	}
	kind := jjm.Invalid
	if k := jjm.KindOf(err); k == jjm.Busy || k == jjm.Ambiguous || passes(err) {
		kind = jjm.Busy
	}
	var p *fs.PathError
	if errors.As(err, &p) && errors.Is(err, fs.ErrPermission) && p.Path == path {
		err = fmt.Errorf("open %s: %s may not read it: %w", path, owner.User, p.Err)
	}
	return nil, jjm.Errorf(kind, "%w", err)
}

// passes reports whether an error is of the machine rather than of the file.
func passes(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.ESTALE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// checkInputs finds inputs that cannot be read.
func checkInputs(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	var ps jjm.Problems
	for i, in := range spec.Inputs {
		f, err := site.Open(in.Path)
		if err != nil {
			ps = append(ps, jjm.Problem{Field: fmt.Sprintf("inputs[%d].path", i), Text: err.Error()})
			continue
		}
		f.Close()
	}
	return ps
}
