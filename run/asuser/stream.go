package asuser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"jjm"
	"jjm/internal/tree"
)

// Open opens a regular file for reading, anywhere that the account may read. Its
// content comes through a pipe: a file system of the account's own making may
// stall, and stalls nobody but the reader, who gets an error of kind Busy after
// half a minute. A content that breaks off is an error too, never a short file.
func (u *User) Open(path string) (io.ReadCloser, error) {
	s, err := u.stream(request{Op: "stream", Name: path})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// OpenTree opens a folder that the account may read as package tree packs it, in the same
// way.
func (u *User) OpenTree(path string, most tree.Most) (*tree.Source, error) {
	s, err := u.stream(request{Op: "tree", Name: path, MaxBytes: most.Bytes, MaxFiles: most.Entries})
	if err != nil {
		return nil, err
	}
	if most.Bytes > 0 && s.size > most.Bytes {
		return nil, errors.Join(jjm.Errorf(jjm.Invalid, "open %s: its files have %d bytes: at most %d", path, s.size,
			most.Bytes), s.Close())
	}
	return &tree.Source{ReadCloser: s, Bytes: s.size}, nil
}

// stream has the helper write something that has a path into a pipe.
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
			s := &stream{life: l, id: id, call: call, pipe: ours, path: path}
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

// stream is a file that the helper copies into a pipe.
type stream struct {
	life *life
	id   int64
	call *call
	pipe *os.File
	path string
	read int64
	done error // what every further Read gives
	size int64
}

// Size is how large the file said to be when it was opened, in bytes. What is read may
// be more or less.
func (s *stream) Size() int64 { return s.size }

// begun waits until the file is open.
func (s *stream) started(ctx context.Context) error {
	a, err := s.life.await(ctx, s.call)
	closeAll(a.files)
	if err != nil {
		return jjm.Errorf(jjm.Busy, "open %s: %w", s.path, err)
	}
	if err := a.Err.err(); err != nil {
		return err
	}
	if !a.Started {
		return jjm.Errorf(jjm.Busy, "open %s: the helper of %s does not say that it is open", s.path, s.life.who)
	}
	s.size = a.Bytes
	return nil
}

// Read reads what came, and at its end whether that was all.
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

// whole returns io.EOF if the helper says that these were all the bytes.
func (s *stream) whole() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.life.limits.Act)
	defer cancel()
	a, err := s.life.await(ctx, s.call)
	closeAll(a.files)
	if err == nil {
		err = s.complete(a)
	}
	if err != nil {
		return jjm.Errorf(jjm.Busy, "read %s: it broke off: %w", s.path, err)
	}
	return io.EOF
}

// complete reports why what was read is not all, by the helper's last word.
func (s *stream) complete(a answer) error {
	if err := a.Err.err(); err != nil {
		return err
	}
	if a.Bytes != s.read {
		return fmt.Errorf("%d bytes came of %d", s.read, a.Bytes)
	}
	return nil
}

// Close may be called before the end.
func (s *stream) Close() error {
	s.life.close(s.id, s.call)
	return s.pipe.Close()
}

// stall is how long an input may give no byte.
const stall = 30 * time.Second
