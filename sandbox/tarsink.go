package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync"
)

// tarBuffer is the size of the writes to a tar: large enough that their number
// does not matter.
const tarBuffer = 1 << 20

// tarFile is what a tarSink needs of its file; *os.File is one.
type tarFile interface {
	io.Writer
	io.ReaderAt
	io.Seeker
	Truncate(size int64) error
}

// tarSink is the file behind a tar writer. Full buffers are hashed and written
// by a goroutine of its own, while the next one is filled; and what was written
// since a mark can be taken back.
type tarSink struct {
	f       tarFile
	buf     []byte
	handed  int64 // bytes handed to the goroutine
	full    chan []byte
	free    chan []byte
	done    chan struct{}
	pending sync.WaitGroup
	h       hash.Hash // of the goroutine, unless nothing is pending
	rehash  bool      // bytes that h has seen were taken back

	mu  sync.Mutex
	err error
}

// newTarSink makes a sink; its owner must call stop.
func newTarSink(f tarFile) *tarSink {
	s := &tarSink{f: f, h: sha256.New(), buf: make([]byte, 0, tarBuffer),
		full: make(chan []byte, 2), free: make(chan []byte, 2), done: make(chan struct{})}
	s.free <- make([]byte, 0, tarBuffer)
	s.free <- make([]byte, 0, tarBuffer)
	go s.drain()
	return s
}

// drain hashes and writes full buffers until stop; after an error it only
// gives them back.
func (s *tarSink) drain() {
	defer close(s.done)
	for b := range s.full {
		if s.failed() == nil {
			s.h.Write(b)
			if _, err := s.f.Write(b); err != nil {
				s.fail(err)
			}
		}
		s.free <- b[:0]
		s.pending.Done()
	}
}

func (s *tarSink) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *tarSink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Write takes in bytes; its error may be that of an earlier write.
func (s *tarSink) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		n := copy(s.buf[len(s.buf):cap(s.buf)], p)
		s.buf, p = s.buf[:len(s.buf)+n], p[n:]
		if len(s.buf) == cap(s.buf) {
			if err := s.hand(); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

// readFrom takes in at most n bytes straight from r with one Read, and gives
// them to see too.
func (s *tarSink) readFrom(r io.Reader, n int64, see io.Writer) (int, error) {
	room := s.buf[len(s.buf):cap(s.buf)]
	k, rerr := r.Read(room[:min(n, int64(len(room)))])
	if _, err := see.Write(room[:k]); err != nil {
		return 0, err
	}
	s.buf = s.buf[:len(s.buf)+k]
	if len(s.buf) == cap(s.buf) {
		if err := s.hand(); err != nil {
			return k, err
		}
	}
	return k, rerr
}

// hand returns the buffer to the goroutine and takes a free one.
func (s *tarSink) hand() error {
	s.handed += int64(len(s.buf))
	s.pending.Add(1)
	s.full <- s.buf
	s.buf = <-s.free
	return s.failed()
}

// size is the number of bytes taken in, and the mark to go back to this place.
func (s *tarSink) size() int64 { return s.handed + int64(len(s.buf)) }

// rewind takes back what was written after a mark.
func (s *tarSink) rewind(mark int64) error {
	if mark >= s.handed {
		s.buf = s.buf[:mark-s.handed]
		return nil
	}
	s.pending.Wait()
	if err := s.failed(); err != nil {
		return err
	}
	if _, err := s.f.Seek(mark, io.SeekStart); err != nil {
		return err
	}
	if err := s.f.Truncate(mark); err != nil {
		return err
	}
	s.handed, s.buf, s.rehash = mark, s.buf[:0], true
	return nil
}

// flush waits until all is written. After a rewind the hash is made anew from
// the file: rewinds are rare, marks are not.
func (s *tarSink) flush() error {
	if err := s.hand(); err != nil {
		return err
	}
	s.pending.Wait()
	if err := s.failed(); err != nil || !s.rehash {
		return err
	}
	s.h.Reset()
	_, err := io.CopyBuffer(s.h, io.NewSectionReader(s.f, 0, s.handed), make([]byte, tarBuffer))
	return err
}

// sum is the SHA-256 of all, in hex; valid after flush.
func (s *tarSink) sum() string { return hex.EncodeToString(s.h.Sum(nil)) }

// stop ends the goroutine. It may be called once.
func (s *tarSink) stop() {
	close(s.full)
	<-s.done
}
