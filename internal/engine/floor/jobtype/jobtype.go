package jobtype

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"jjm/handlers"
	"jjm/internal/engine/floor/state"
	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/sys/tree"
	"jjm/internal/work/split"
)

// Site returns the site as handlers see it: its limits, and functions that open files and
// run programs as an owner. base is the folder of the job file.
func (jt *Types) Site(owner jjm.Owner, base string) handlers.Site {
	return handlers.Site{
		RecommendedCPU: jt.b.Conf().RecommendedCPU, MaxCPU: jt.b.Conf().MaxCPU,
		MaxLocalJobs: jt.b.Conf().MaxLocalJobs,
		Open:         func(path string) (io.ReadCloser, error) { return jt.openInput(owner, base, path) },
		Run:          func(p handlers.Program) (handlers.Ran, error) { return jt.run(owner, p) },
	}
}

// SubmissionSite returns the site for a submission. It differs from Site only for a submission from the spool: the
// error is of kind Invalid if a program does not end within its time. Entries of the spool are processed in turn, and a
// program that never ends would delay all other entries permanently.
func (jt *Types) SubmissionSite(owner jjm.Owner, base string, spooled bool) handlers.Site {
	site := jt.Site(owner, base)
	if !spooled {
		return site
	}
	site.Run = func(p handlers.Program) (handlers.Ran, error) {
		leave, err := jt.enter(owner, p.Limit)
		if err != nil {
			return handlers.Ran{}, err
		}
		defer leave()
		ran, err := RunProgram(jt.areas.As(context.Background(), owner), p)
		if jjm.KindOf(err) == jjm.Busy {
			err = jjm.Errorf(jjm.Invalid, "%w", err)
		}
		return ran, err
	}
	return site
}

// openInput opens a regular file with the owner's rights; it never blocks on a pipe or a device. The daemon itself may
// be able to read more files, such as its own store or other owners' files. A job file that names such a file is
// refused, whatever links lead there and however the links change meanwhile. The error is of kind Busy if the machine
// is at fault, else Invalid.
func (jt *Types) openInput(owner jjm.Owner, base, path string) (io.ReadCloser, error) {
	if weburl.Is(path) {
		return nil, jjm.Errorf(jjm.Invalid, "%s is a URL: only files of inputs are fetched, and only before they are packed; "+
			"name a local file", weburl.Shown(path))
	}
	if !filepath.IsAbs(path) {
		if base == "" {
			return nil, jjm.Errorf(jjm.Invalid, "%s: relative path, and the job file's folder is not known", path)
		}
		path = base + "/" + path // not cleaned: ".." after a link means the parent of its target
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

// Packable returns a function that opens inputs for packing. It opens files in the same way as [Types.Site], and
// folders as a [tree.Source].
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

// passes reports whether an error is temporary and has its cause in the machine, not in the file.
func passes(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.ESTALE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// PackedSite returns the same as Site, for a prepared grid job, but inputs are read from the sandbox package, because
// the files in the job file's folder may have changed. The error means that the package, or the list of the inputs in
// it, cannot be read.
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
	}
	site.Open = func(path string) (io.ReadCloser, error) {
		if name, ok := names[path]; ok {
			return ar.OpenPacked(packed.Package, name)
		}
		return jt.openInput(job.Owner, job.BaseDir, path)
	}
	return site, nil
}

// CuttingOf returns how a grid job is cut. After a restart it asks the job type again. The result is the same as
// before, because it depends only on the stored specification and the packed inputs.
func (jt *Types) CuttingOf(job *jjm.GridJob) (*state.Cutting, error) {
	v := jt.s.View()
	known := v.Grid(job.ID).Cutting()
	v.Close()
	if known != nil {
		return known, nil
	}
	c, err := jt.Ask(job)
	if err == nil {
		jt.s.Adjust(func(a *state.Memo) { a.SetCutting(job.ID, c) })
	}
	return c, err
}

// Ask asks the job type how a prepared grid job is cut. The grid job may be over.
func (jt *Types) Ask(job *jjm.GridJob) (*state.Cutting, error) {
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
	return &state.Cutting{Cutting: cut, Splitter: sp}, nil
}
