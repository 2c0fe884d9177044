package jobtype

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"jjm"
	"jjm/engine/state"
	"jjm/handlers"
	"jjm/internal/tree"
	"jjm/split"
)

// Site is what handlers may know on behalf of an owner.
func (jt *Types) Site(owner jjm.Owner, base string) handlers.Site {
	return handlers.Site{
		RecommendedCPU: jt.b.Conf().RecommendedCPU, MaxCPU: jt.b.Conf().MaxCPU,
		MaxLocalJobs: jt.b.Conf().MaxLocalJobs,
		Open:         func(path string) (io.ReadCloser, error) { return jt.openInput(owner, base, path) },
		Run:          func(p handlers.Program) (handlers.Ran, error) { return jt.run(owner, p) },
	}
}

// openInput opens a regular file that the owner may read; it never blocks on a
// pipe or a device. This process may be able to read more than the owner - its
// own store, other owners' files - so a job file that names such a thing is
// refused, whatever links lead there and however they change meanwhile.
func (jt *Types) openInput(owner jjm.Owner, base, path string) (io.ReadCloser, error) {
	if !filepath.IsAbs(path) {
		if base == "" {
			return nil, jjm.Errorf(jjm.Invalid, "%s: relative path, and the job file's folder is not known", path)
		}
		path = base + "/" + path // not cleaned: ".." behind a link is the link's target's
	}
	f, err := jt.areas.OpenAs(owner, path)
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

// Packable returns how the inputs of a job are opened to be packed: files as Site opens
// them, and folders as a [tree.Source].
func (jt *Types) Packable(owner jjm.Owner, base string) func(path string) (io.ReadCloser, error) {
	most := tree.Most{Entries: jt.b.Conf().MaxInputFiles, Bytes: jt.b.Conf().MaxInputBytes}
	return func(path string) (io.ReadCloser, error) {
		f, err := jt.openInput(owner, base, path)
		if !errors.Is(err, syscall.EISDIR) {
			return f, err
		}
		if !filepath.IsAbs(path) {
			path = base + "/" + path
		}
		t, err := jt.areas.OpenTree(owner, path, most)
		if err != nil {
			return nil, err
		}
		return t, nil
	}
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

// PackedSite opens inputs as they were packed: the job file's folder may have
// changed since.
func (jt *Types) PackedSite(job *jjm.GridJob, h handlers.Handler) (handlers.Site, error) {
	site := jt.Site(job.Owner, job.BaseDir)
	ar, err := jt.areas.Of(job.Owner)
	if err != nil {
		return site, err
	}
	packed, err := ar.ReadJob(job.ID)
	if err != nil {
		return site, err
	}
	inputs, err := handlers.Inputs(h, &job.Spec, site)
	if err != nil {
		return site, err
	}
	names := map[string]string{}
	for _, in := range inputs {
		names[in.Path] = in.Name
		if in.Name == "" {
			names[in.Path] = filepath.Base(in.Path)
		}
	}
	site.Open = func(path string) (io.ReadCloser, error) {
		if name, ok := names[path]; ok {
			return ar.OpenPacked(packed.Package, name)
		}
		return jt.openInput(job.Owner, job.BaseDir, path)
	}
	return site, nil
}

// CuttingOf asks the handler again after a restart; the answer is the same,
// because it depends on the stored spec and the packed inputs alone.
func (jt *Types) CuttingOf(job *jjm.GridJob) (*state.Cutting, error) {
	v := jt.s.View()
	known := v.Grid(job.ID).Cutting()
	v.Close()
	if known != nil {
		return known, nil
	}
	h, err := jt.b.Deps.Types.Get(job.Spec.Type)
	if err != nil {
		return nil, err
	}
	site, err := jt.PackedSite(job, h)
	if err != nil {
		return nil, err
	}
	cut, err := handlers.SplitBy(h, &job.Spec, site)
	if err != nil {
		return nil, err
	}
	sp, err := split.Get(cut.Splitter)
	if err != nil {
		return nil, err
	}
	c := &state.Cutting{Cutting: cut, Splitter: sp}
	jt.s.Adjust(func(a *state.Memo) { a.SetCutting(job.ID, c) })
	return c, nil
}
