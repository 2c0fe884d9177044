package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync"
)

// tarBuffer is the size of writes to a tar in bytes: large enough to make the number of system calls unimportant.
const tarBuffer = 1 << 20

// tarFile is the interface of a tarSink's file; *os.File is one.
type tarFile interface {
	io.Writer
	io.ReaderAt
	io.Seeker
	Truncate(size int64) error
}

// tarSink is the file to which a tar writer writes. A separate goroutine hashes and writes full buffers while the next
// buffer is filled. A mark is a result of size; rewind removes all bytes after a mark.
type tarSink struct {
	f       tarFile
	buf     []byte
	handed  int64          // number of bytes passed to the goroutine
	full    chan []byte    // buffers to write
	free    chan []byte    // empty buffers
	done    chan struct{}  // closed when the goroutine has ended
	pending sync.WaitGroup // buffers passed to the goroutine and not written yet
	h       hash.Hash      // used only by the goroutine while a buffer is pending
	rehash  bool           // whether bytes that h includes were removed

	mu  sync.Mutex
	err error
}

// newTarSink returns a sink; its owner must call stop.
func newTarSink(f tarFile) *tarSink {
	s := &tarSink{f: f, h: sha256.New(), buf: make([]byte, 0, tarBuffer),
		full: make(chan []byte, 2), free: make(chan []byte, 2), done: make(chan struct{})}
	s.free <- make([]byte, 0, tarBuffer)
	s.free <- make([]byte, 0, tarBuffer)
	go s.drain()
	return s
}

// drain hashes and writes full buffers until stop; after an error it only empties the buffers.
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

// failed returns the first error of the goroutine, nil if there is none.
func (s *tarSink) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// fail stores the first error of the goroutine.
func (s *tarSink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Write buffers bytes. It may return the error of an earlier write.
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

// readFrom reads at most n bytes from r with one Read into the buffer, and also writes these bytes to see.
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

// hand passes the buffer to the goroutine and takes an empty buffer.
func (s *tarSink) hand() error {
	s.handed += int64(len(s.buf))
	s.pending.Add(1)
	s.full <- s.buf
	s.buf = <-s.free
	return s.failed()
}

// size returns the number of bytes so far, which is also the mark for rewind.
func (s *tarSink) size() int64 { return s.handed + int64(len(s.buf)) }

// rewind removes the bytes after a mark.
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

// flush waits until all bytes are written. After a rewind it computes the hash again from the file, because rewinds are
// rare.
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

// sum returns the SHA-256 of all bytes in hex; it is valid after flush.
func (s *tarSink) sum() string { return hex.EncodeToString(s.h.Sum(nil)) }

// stop ends the goroutine. It may be called only once.
func (s *tarSink) stop() {
	close(s.full)
	<-s.done
}
