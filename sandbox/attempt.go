package sandbox

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"jjm/internal/jjm"
)

// maxGLF is the largest number of bytes that are read of a GBS log file (see glf.MaxFile).
const maxGLF = 1 << 20

// The words by which users request the files that OpenJobFile opens.
const (
	Stdout = "stdout"
	Stderr = "stderr"
	GLF    = "glf"
)

// jobFile returns the file name, in the attempt's folder, for one of these words. It returns false for an unknown word.
func jobFile(what string) (string, bool) {
	switch what {
	case Stdout, Stderr:
		return what, true
	case GLF:
		return GLFName, true
	}
	return "", false
}

// GLFName, HeartbeatName, WorkName and ReturnedName are names in an attempt's folder: the GBS log file, the file that
// the wrapper touches while it lives, the directory in which the application starts, and the folder for copies that
// RETURN_FILE requested.
const (
	GLFName       = "job.glf"
	HeartbeatName = "heartbeat"
	WorkName      = "work"
	ReturnedName  = "returned"
)

// OpenJobFile opens stdout, stderr or glf of an attempt. The error is of kind jjm.Gone if the file does not exist
// (yet). The caller closes the file.
func (a *Area) OpenJobFile(id jjm.AttemptID, what string) (*os.File, error) {
	base, ok := jobFile(what)
	if !ok {
		return nil, jjm.Errorf(jjm.Invalid, "sandbox: file %.40q: want stdout, stderr or glf", what)
	}
	name := AttemptDir(id) + "/" + base
	f, _, err := a.openRegular(name)
	return f, a.wrap(err, "open %s", name)
}

// ReadGLF returns the GBS log file of an attempt; ok is false if there is none. If the file is longer than 1 MiB,
// ReadGLF returns the first line, which is the wrapper's start record, and the end of the file.
func (a *Area) ReadGLF(id jjm.AttemptID) (text string, ok bool, err error) {
	f, err := a.OpenJobFile(id, GLF)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	text, err = HeadTail(f, maxGLF)
	return text, err == nil, a.wrap(err, "read %s/%s", AttemptDir(id), GLFName)
}

// HeadTail returns at most limit bytes of a file: the whole text, or its first line (cut at a quarter of the limit) and
// as many whole lines from its end as fit.
func HeadTail(f *os.File, limit int64) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	size := info.Size()
	if size <= limit {
		b := make([]byte, size)
		n, err := readAt(f, b, 0)
		return string(b[:n]), err
	}
	head := make([]byte, limit/4)
	n, err := readAt(f, head, 0)
	if err != nil {
		return "", err
	}
	if i := bytes.IndexByte(head[:n], '\n'); i >= 0 {
		head = head[:i+1]
	} else {
		head = append(head[:max(n-1, 0)], '\n')
	}
	tail := make([]byte, limit-int64(len(head)))
	n, err = readAt(f, tail, size-int64(len(tail)))
	if err != nil {
		return "", err
	}
	tail = tail[:n]
	if i := bytes.IndexByte(tail, '\n'); i >= 0 && i < len(tail)-1 {
		tail = tail[i+1:]
	}
	return string(head) + string(tail), nil
}

// readAt reads up to len(b) bytes. It returns no error if the file has fewer bytes, because the file may shrink during
// the read.
func readAt(f *os.File, b []byte, off int64) (int, error) {
	n, err := f.ReadAt(b, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// HeartbeatAge returns the time since the wrapper of an attempt last touched its heartbeat file; ok is false if the
// wrapper never touched the file. If the clock of the file system is ahead of now, the age is 0.
func (a *Area) HeartbeatAge(id jjm.AttemptID, now time.Time) (age time.Duration, ok bool, err error) {
	at, ok, err := a.Heartbeat(id)
	if !ok || err != nil {
		return 0, false, err
	}
	return max(0, now.Sub(at)), true, nil
}

// Heartbeat returns the time at which the wrapper of an attempt last touched its heartbeat file, by the clock of the
// file system; ok is false if the wrapper never touched the file.
func (a *Area) Heartbeat(id jjm.AttemptID) (at time.Time, ok bool, err error) {
	name := AttemptDir(id) + "/" + HeartbeatName
	info, err := a.fs.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, a.wrap(err, "look at %s", name)
	}
	return info.ModTime(), true, nil
}
