package answer

import (
	"context"
	"io"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/jjm"
)

// source is a place where files of attempts may be. If several sources have a file, the first source counts. Names are
// relative to the folder in which the application ran.
type source interface {
	// Open opens a regular file. The error is of kind Gone if the file or the place does not exist.
	Open(ctx context.Context, job *jjm.GridJob, id jjm.AttemptID, name string) (io.ReadCloser, error)
	// List returns the files, up to a limit; more is set if there are more. The error is of kind Gone if the place does
	// not exist.
	List(ctx context.Context, job *jjm.GridJob, id jjm.AttemptID) (files []jjm.JobFile, more bool, err error)
}

// workFolder is the folder in which the application of an attempt runs or ran, as long as the folder exists. It is read
// with the rights of the grid job's owner.
type workFolder struct{ areas *areas.Areas }

// Open opens a file below the folder.
func (w workFolder) Open(_ context.Context, job *jjm.GridJob, id jjm.AttemptID, name string) (io.ReadCloser, error) {
	ar, err := w.areas.Of(job.Owner)
	if err != nil {
		return nil, err
	}
	f, err := ar.OpenWorkFile(id, name)
	if err != nil {
		return nil, err // not f: an interface that holds a nil *os.File is not nil
	}
	return f, nil
}

// List returns the files below the folder.
func (w workFolder) List(_ context.Context, job *jjm.GridJob, id jjm.AttemptID) ([]jjm.JobFile, bool, error) {
	ar, err := w.areas.Of(job.Owner)
	if err != nil {
		return nil, false, err
	}
	return ar.ListWork(id)
}
