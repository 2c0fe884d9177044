package store

import (
	"context"

	"jjm/internal/jjm"
)

// FileReader is the state that a file of a dataset has for a grid job that cuts the dataset into local jobs.
type FileReader struct {
	Grid  jjm.GridID
	State jjm.FileState
}

// FileReaders returns the readers of the files from..to-1 of a dataset, by number of the file and sorted by the ids of
// the grid jobs, which may be over.
func (s *Store) FileReaders(ctx context.Context, id DatasetID, from, to int64) (map[int64][]FileReader, error) {
	out := map[int64][]FileReader{}
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT a.file, a.grid, a.state FROM inputs AS i JOIN input_files AS a ON a.grid = i.grid AND a.step = i.step AND a.file >= ?2 AND a.file < ?3
			WHERE i.dataset = ?1 AND i.master = 1 ORDER BY a.grid, a.step`,
			args{}.int(int64(id)).int(from).int(to), func(r row) error {
				out[r.int(0)] = append(out[r.int(0)], FileReader{jjm.GridID(r.int(1)), jjm.FileState(r.int(2))})
				return nil
			})
	})
	if err != nil {
		return nil, s.fail(err, "read who reads the files of dataset %d", id)
	}
	return out, nil
}

// FileMark is the mark of a file, and why it was marked.
type FileMark struct {
	State  jjm.FileState
	Reason string
}

// MarksOf returns the marks of the files from..to-1 of a dataset, by number of the file.
func (s *Store) MarksOf(ctx context.Context, id DatasetID, from, to int64) (map[int64]FileMark, error) {
	out := map[int64]FileMark{}
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, "SELECT file, state, reason FROM file_marks WHERE dataset = ? AND file >= ? AND file < ?",
			args{}.int(int64(id)).int(from).int(to), func(r row) error {
				out[r.int(0)] = FileMark{jjm.FileState(r.int(1)), r.text(2)}
				return nil
			})
	})
	if err != nil {
		return nil, s.fail(err, "read the marks of dataset %d", id)
	}
	return out, nil
}
