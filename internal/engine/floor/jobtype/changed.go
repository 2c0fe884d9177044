package jobtype

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"

	"jjm/handlers"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/sys/tree"
	"jjm/sandbox"
)

const (
	// mostCompared limits, in bytes, how much of the inputs of one grid job is compared. Who resubmits a job waits for
	// the comparison. mostNames limits the files, folders and links of all folders among these inputs.
	mostCompared = 64 << 20
	mostNames    = 10_000
)

// Changed compares the inputs of a grid job with the packed files, with the owner's rights. changed contains the paths
// of the inputs that differ, in the order of the inputs. not contains the inputs that were not compared, with the
// reasons: URLs, inputs that the owner cannot read, and inputs beyond mostCompared or mostNames.
func (jt *Types) Changed(job *jjm.GridJob) (changed []string, not []wire.Uncompared) {
	c, inputs, err := jt.comparison(job)
	if err != nil {
		return nil, []wire.Uncompared{{Path: "inputs", Why: err.Error()}}
	}
	for i, in := range inputs {
		differs, err := c.differs(in.Path, c.packed.Files[i])
		switch {
		case differs:
			changed = append(changed, in.Path)
		case err != nil:
			not = append(not, wire.Uncompared{Path: weburl.Shown(in.Path), Why: err.Error()})
		}
	}
	return changed, not
}

// comparison compares inputs of one grid job with the packed files. left is what may still be compared.
type comparison struct {
	jt     *Types
	job    *jjm.GridJob
	area   *areas.Area
	packed sandbox.Job
	open   func(path string) (io.ReadCloser, error)
	left   budget
}

// budget is an amount of bytes, and of names in folders.
type budget struct{ bytes, names int64 }

// err returns the reason why inputs are compared no further, nil if budget is left.
func (b *budget) err() error {
	switch {
	case b.bytes <= 0:
		return fmt.Errorf("the first %d MiB of the inputs are compared", mostCompared>>20)
	case b.names <= 0:
		return fmt.Errorf("the first %d files of folders are compared", mostNames)
	}
	return nil
}

// comparison returns the comparison for a grid job, and the inputs in the order of the packed files.
func (jt *Types) comparison(job *jjm.GridJob) (*comparison, []jjm.Input, error) {
	h, err := jt.b.Deps.Types.Get(job.Spec.Type)
	if err != nil {
		return nil, nil, err
	}
	inputs, err := handlers.Inputs(h, &job.Spec, jt.Site(job.Owner, job.BaseDir))
	if err != nil {
		return nil, nil, err
	}
	ar, err := jt.areas.Of(job.Owner)
	if err != nil {
		return nil, nil, err
	}
	packed, err := ar.ReadJob(job.ID)
	if err != nil {
		return nil, nil, err
	}
	if len(packed.Files) != len(inputs) {
		return nil, nil, fmt.Errorf("job type %s now has other inputs than at the submission", job.Spec.Type)
	}
	return &comparison{jt: jt, job: job, area: ar, packed: packed, open: jt.Packable(job.Owner, job.BaseDir),
		left: budget{bytes: mostCompared, names: mostNames}}, inputs, nil
}

// differs reports whether the file or folder at path is known to differ from the packed one. An error means that they
// were not compared to the end.
func (c *comparison) differs(path, name string) (bool, error) {
	if weburl.Is(path) {
		return false, errors.New("it is a URL")
	}
	if err := c.left.err(); err != nil {
		return false, err
	}
	now, err := c.open(path)
	if err != nil {
		return false, fmt.Errorf("it cannot be read: %w", err)
	}
	defer func() { _ = now.Close() }() // it was only read
	if _, isFolder := now.(*tree.Source); !isFolder {
		then, err := c.area.OpenPacked(c.packed.Package, name)
		if err != nil {
			return false, err
		}
		defer func() { _ = then.Close() }()
		return differ(now, then, &c.left)
	}
	then, err := c.jt.areas.OpenTree(c.job.Owner, c.area.PackedPath(c.packed.Package, name), tree.Most{})
	if err != nil {
		return false, err
	}
	defer func() { _ = then.Close() }()
	return differTrees(now, then, &c.left)
}

// differTrees reports whether two folders, as tars of package tree, differ as far as left allows: in names, links,
// modes of files, or content. Of modes only the owner's bits of files are compared, because packing may change all
// others.
func differTrees(a, b io.Reader, left *budget) (bool, error) {
	one, other := tar.NewReader(a), tar.NewReader(b)
	for {
		h, errA := one.Next()
		g, errB := other.Next()
		switch ended, endedB := errors.Is(errA, io.EOF), errors.Is(errB, io.EOF); {
		case errA != nil && !ended:
			return false, fmt.Errorf("it cannot be read: %w", errA)
		case errB != nil && !endedB:
			return false, errB
		case ended || endedB:
			return ended != endedB, nil
		case entryOf(h) != entryOf(g):
			return true, nil
		}
		left.names--
		if h.Typeflag == tar.TypeReg {
			if differs, err := differ(one, other, left); differs || err != nil {
				return differs, err
			}
		}
		if err := left.err(); err != nil {
			return false, err
		}
	}
}

// entry contains what is compared of a file, folder or link besides its content.
type entry struct {
	name, link string
	flag       byte
	mode       int64
	bytes      int64
}

func entryOf(h *tar.Header) entry {
	e := entry{name: h.Name, link: h.Linkname, flag: h.Typeflag, bytes: h.Size}
	if h.Typeflag == tar.TypeReg {
		e.mode = h.Mode & 0o700
	}
	return e
}

// differ reports whether two texts differ, as far as left allows. It subtracts from left the bytes that it compares. An
// error means that the texts were not compared to the end.
func differ(a, b io.Reader, left *budget) (bool, error) {
	const piece = 64 << 10
	one, other := make([]byte, piece), make([]byte, piece)
	for {
		n, errA := io.ReadFull(a, one)
		m, errB := io.ReadFull(b, other)
		if !atEnd(errA) || !atEnd(errB) {
			return false, fmt.Errorf("it cannot be read: %w", errors.Join(errA, errB))
		}
		left.bytes -= int64(min(n, m))
		if !bytes.Equal(one[:n], other[:m]) {
			return true, nil
		}
		if errA != nil {
			return false, nil
		}
		if err := left.err(); err != nil {
			return false, err
		}
	}
}

// atEnd reports whether a reader succeeded, or ended.
func atEnd(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
