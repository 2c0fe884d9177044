package jobtype

import (
	"bytes"
	"errors"
	"io"

	"jjm/handlers"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
)

// mostCompared limits, in bytes, how much of the inputs of one grid job is compared. Who resubmits a job waits for the
// comparison.
const mostCompared = 64 << 20

// Changed returns the paths of the inputs of a grid job that differ from the packed files, in the order of the inputs.
// It reads with the owner's rights. It leaves out folders, URLs, files that the owner cannot read, and what exceeds
// mostCompared: nothing is known of them.
func (jt *Types) Changed(job *jjm.GridJob) (paths []string) {
	h, err := jt.b.Deps.Types.Get(job.Spec.Type)
	if err != nil {
		return nil
	}
	inputs, err := handlers.Inputs(h, &job.Spec, jt.Site(job.Owner, job.BaseDir))
	if err != nil {
		return nil
	}
	ar, err := jt.areas.Of(job.Owner)
	if err != nil {
		return nil
	}
	packed, err := ar.ReadJob(job.ID)
	if err != nil || len(packed.Files) != len(inputs) {
		return nil
	}
	left := int64(mostCompared)
	for i, in := range inputs {
		if !weburl.Is(in.Path) && jt.differs(job, ar, packed.Package, packed.Files[i], in.Path, &left) {
			paths = append(paths, in.Path)
		}
	}
	return paths
}

// differs reports whether the file of an input is known to differ from the packed file. It subtracts from left the
// bytes that it compares.
func (jt *Types) differs(job *jjm.GridJob, ar *areas.Area, pkg, name, path string, left *int64) bool {
	now, err := jt.openInput(job.Owner, job.BaseDir, path)
	if err != nil {
		return false
	}
	defer func() { _ = now.Close() }() // it was only read
	then, err := ar.OpenPacked(pkg, name)
	if err != nil {
		return false
	}
	defer func() { _ = then.Close() }()
	return differ(now, then, left)
}

// differ reports whether two texts differ within their first left bytes. It subtracts from left the bytes that it
// compares. An error other than the end of a text proves nothing.
func differ(a, b io.Reader, left *int64) bool {
	const piece = 64 << 10
	one, other := make([]byte, piece), make([]byte, piece)
	for *left > 0 {
		n, errA := io.ReadFull(a, one)
		m, errB := io.ReadFull(b, other)
		if !atEnd(errA) || !atEnd(errB) {
			return false
		}
		*left -= int64(min(n, m))
		if !bytes.Equal(one[:n], other[:m]) {
			return true
		}
		if errA != nil {
			return false
		}
	}
	return false
}

// atEnd reports whether a reader succeeded, or ended.
func atEnd(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
