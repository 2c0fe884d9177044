package asuser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/tree"
)

// Open opens a regular file for reading, anywhere the account may read. The content comes through a pipe. If a file
// system of the account stalls, only the reader waits, and gets an error of kind Busy after 30 s. If the content ends
// too early, the reader gets an error, never a short file.
func (u *User) Open(path string) (io.ReadCloser, error) {
	s, err := u.stream(request{Op: "stream", Name: path})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// OpenTree opens a folder that the account may read, as a tar written by package tree, with the promises of Open. The
// error is of kind Invalid if the folder exceeds limit.
func (u *User) OpenTree(path string, limit tree.Most) (*tree.Source, error) {
	s, err := u.stream(request{Op: "tree", Name: path, MaxBytes: limit.Bytes, MaxFiles: limit.Entries})
	if err != nil {
		return nil, err
	}
	if limit.Bytes > 0 && s.size > limit.Bytes {
		return nil, errors.Join(jjm.Errorf(jjm.Invalid, "open %s: its files have %d bytes: at most %d", path, s.size,
			limit.Bytes), s.Close())
	}
	return &tree.Source{ReadCloser: s, Bytes: s.size}, nil
}

// stream makes the helper write the file or folder at req.Name into a pipe.
func (u *User) stream(req request) (*stream, error) {
	path := req.Name
	ctx, cancel := context.WithTimeout(context.Background(), u.pool.limits.Act)
	defer cancel()
	l, err := u.helper(ctx)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "open %s: %w", path, err)
	}
	id, call, err := l.open()
	if err == nil {
		req.ID = id
		err = l.write(req, theirs)
		if err == nil {
			theirs.Close()
			s := &stream{helper: l, id: id, call: call, pipe: ours, path: path}
			if err = s.started(ctx); err == nil {
				return s, nil
			}
		}
		l.close(id, call)
	}
	theirs.Close()
	ours.Close()
	return nil, err
}

// stream reads the content that the helper writes into a pipe.
type stream struct {
	helper *process
	id     int64
	call   *call
	pipe   *os.File
	path   string
	read   int64
	done   error // the error that every further Read returns
	size   int64
}

// Size returns the size of the file in bytes when it was opened. The content may have more or fewer bytes.
func (s *stream) Size() int64 { return s.size }

// started waits until the helper has opened the file.
func (s *stream) started(ctx context.Context) error {
	a, err := s.helper.await(ctx, s.call)
	closeAll(a.files)
	if err != nil {
		return jjm.Errorf(jjm.Busy, "open %s: %w", s.path, err)
	}
	if err := a.Err.err(); err != nil {
		return err
	}
	if !a.Started {
		return jjm.Errorf(jjm.Busy, "open %s: the helper of %s does not say that it is open", s.path, s.helper.who)
	}
	s.size = a.Bytes
	return nil
}

// Read reads from the pipe. At the end of the pipe it returns io.EOF only if the helper confirms that the content is
// complete.
func (s *stream) Read(b []byte) (int, error) {
	if s.done != nil {
		return 0, s.done
	}
	_ = s.pipe.SetReadDeadline(time.Now().Add(stall))
	n, err := s.pipe.Read(b)
	s.read += int64(n)
	switch {
	case errors.Is(err, io.EOF):
		s.done = s.whole()
	case err != nil:
		s.done = jjm.Errorf(jjm.Busy, "read %s: %w", s.path, err)
	}
	if n > 0 {
		return n, nil
	}
	return 0, s.done
}

// whole waits for the helper's last reply. It returns io.EOF if the reply confirms the number of bytes read, and
// otherwise an error of kind Busy.
func (s *stream) whole() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.helper.limits.Act)
	defer cancel()
	a, err := s.helper.await(ctx, s.call)
	closeAll(a.files)
	if err == nil {
		err = s.complete(a)
	}
	if err != nil {
		return jjm.Errorf(jjm.Busy, "read %s: it is incomplete: %w", s.path, err)
	}
	return io.EOF
}

// complete returns an error if the last reply has an error, or if its number of bytes differs from the number of bytes
// read.
func (s *stream) complete(a answer) error {
	if err := a.Err.err(); err != nil {
		return err
	}
	if a.Bytes != s.read {
		return fmt.Errorf("%d of %d bytes came", s.read, a.Bytes)
	}
	return nil
}

// Close ends the stream. It may be called before the end.
func (s *stream) Close() error {
	s.helper.close(s.id, s.call)
	return s.pipe.Close()
}

// stall is the longest time for which an input may send no byte.
const stall = 30 * time.Second
