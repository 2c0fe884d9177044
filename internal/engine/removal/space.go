package removal

import (
	"errors"
	"io/fs"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/sys/diskuse"
	"jjm/sandbox"
)

const (
	// measuring is the longest time for which all work areas of one request are counted, and measuringOne the longest
	// time for one folder. Who removes grid jobs waits for the count.
	measuring    = 2 * time.Second
	measuringOne = 500 * time.Millisecond
)

// scale measures the disk space of the grid jobs of one request, as long as it has time left.
type scale struct {
	re   *Remover
	left time.Duration
}

// space returns the disk space that the removal of a grid job frees.
func (s *scale) space(job *jjm.GridJob) *wire.Space {
	began := s.re.b.Now()
	out := &wire.Space{TarBytes: job.TarBytes}
	var err error
	if out.RecordBytes, err = s.re.b.Deps.Records.Bytes(job.ID); err != nil {
		out.Partial = true
	}
	folder, whole := s.folder(job, sandbox.GridDir(job.ID))
	out.WorkBytes = max(folder-job.TarBytes, 0) // the tar lies in the folder
	if pkg := s.packageOf(job); pkg != "" {
		packed, all := s.folder(job, pkg)
		out.InputBytes, whole = packed, whole && all
	}
	out.Partial = out.Partial || !whole
	s.left -= max(s.re.b.Now().Sub(began), 0)
	return out
}

// folder returns the bytes below a folder of the owner's work area. whole is false if not everything was counted.
func (s *scale) folder(job *jjm.GridJob, dir string) (bytes int64, whole bool) {
	if s.left <= 0 {
		return 0, false
	}
	area, err := s.re.areas.Of(job.Owner)
	if err != nil {
		return 0, false
	}
	use, err := area.Usage(dir, diskuse.Most{Time: min(s.left, measuringOne)})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, true
	}
	return use.Bytes, err == nil && !use.Partial
}

// packageOf returns the folder with the packed inputs of a grid job, below the area, "" if it is not known or if no
// time is left.
func (s *scale) packageOf(job *jjm.GridJob) string {
	if s.left <= 0 {
		return ""
	}
	area, err := s.re.areas.Of(job.Owner)
	if err != nil {
		return ""
	}
	files, err := area.ReadJob(job.ID)
	if err != nil || files.Package == "" {
		return ""
	}
	return sandbox.PackageDir(files.Package)
}
