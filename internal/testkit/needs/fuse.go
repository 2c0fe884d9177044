package needs

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// FUSE is a file system that an account mounted for a test: a folder with one empty file named "file", or a single file
// if it is mounted on a file. It answers the requests for looking up and opening files, and never the requests for
// reading or closing files. While it is frozen it answers no request.
type FUSE struct {
	dev    *os.File
	file   bool // mounted on a file
	uid    uint32
	frozen atomic.Bool
	asked  atomic.Int64
}

// MountFUSE mounts a FUSE on a folder or a regular file, like fusermount3(1) for an account with "-o allow_other". At
// the end of the test the FUSE is unmounted; processes that wait for an answer then get an error.
func MountFUSE(t testing.TB, on string, uid int) *FUSE {
	t.Helper()
	Root(t, "to mount a file system")
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		Missing(t, "FUSE, and /dev/fuse gives \""+err.Error()+"\"", "load the kernel's module (modprobe fuse)")
	}
	f := &FUSE{uid: uint32(uid)}
	info, err := os.Stat(on)
	if err != nil {
		t.Fatal(err)
	}
	mode := "40000"
	if f.file = !info.IsDir(); f.file {
		mode = "100000"
	}
	options := fmt.Sprintf("fd=%d,rootmode=%s,user_id=%d,group_id=%d,allow_other", fd, mode, uid, uid)
	if err := syscall.Mount("jjm-test", on, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		unix.Close(fd)
		Missing(t, "FUSE, and to mount it gives \""+err.Error()+"\"", "run the tests where root may mount (CAP_SYS_ADMIN)")
	}
	f.dev = os.NewFile(uintptr(fd), "/dev/fuse") // can be polled only now
	ended := make(chan struct{})
	go func() { defer close(ended); f.serve() }()
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if at, limited := d.Deadline(); limited { // a process that waits for its own file system cannot even be killed
			stop := time.AfterFunc(time.Until(at)-5*time.Second, func() {
				t.Errorf("time is up, and something may still wait for the file system on %s: it is ended", on)
				f.End()
			})
			t.Cleanup(func() { stop.Stop() })
		}
	}
	t.Cleanup(func() {
		f.End()
		<-ended
		if err := unix.Unmount(on, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			t.Errorf("unmount %s: %v", on, err)
		}
	})
	return f
}

// Freeze stops the file system from answering any further request.
func (f *FUSE) Freeze() { f.frozen.Store(true) }

// Unanswered returns the number of requests that wait for an answer and will never get one.
func (f *FUSE) Unanswered() int64 { return f.asked.Load() }

// End closes the file system. Processes that wait for an answer get an error (fuse(4)).
func (f *FUSE) End() { _ = f.dev.Close() }

// The requests that the file system answers (linux/fuse.h).
const (
	fuseLookup  = 1
	fuseForget  = 2
	fuseGetattr = 3
	fuseOpen    = 14
	fuseInit    = 26
	fuseOpendir = 27
	fuseMany    = 42 // BATCH_FORGET
)

func (f *FUSE) serve() {
	buf := make([]byte, 1<<20)
	for {
		n, err := f.dev.Read(buf)
		switch {
		case err != nil:
			return
		case n < 40: // the header
			continue
		}
		f.answer(binary.LittleEndian.Uint32(buf[4:]), buf[8:16], binary.LittleEndian.Uint64(buf[16:]), buf[40:n])
	}
}

// answer answers one request about a node: 1 is the root, 2 the file.
func (f *FUSE) answer(op uint32, unique []byte, node uint64, body []byte) {
	le := binary.LittleEndian
	var out []byte
	switch {
	case op == fuseForget, op == fuseMany:
		return
	case f.frozen.Load() && op != fuseInit:
		f.asked.Add(1)
		return
	case op == fuseInit:
		out = make([]byte, 64)
		copy(out, body[:12]) // version, read ahead
		le.PutUint32(out[20:], 1<<16)
	case op == fuseLookup && string(body) != "file\x00":
		f.reply(unique, -int32(unix.ENOENT), nil)
		return
	case op == fuseLookup:
		out = make([]byte, 40)
		out[0] = 2
		out = append(out, f.attributes(2)...)
	case op == fuseGetattr:
		out = append(make([]byte, 16), f.attributes(node)...)
	case op == fuseOpen, op == fuseOpendir:
		out = make([]byte, 16)
	default: // FLUSH, READ, RELEASE, READDIR, STATFS, ...
		f.asked.Add(1)
		return
	}
	f.reply(unique, 0, out)
}

func (f *FUSE) attributes(node uint64) []byte {
	le := binary.LittleEndian
	a := make([]byte, 88)
	mode := uint32(unix.S_IFREG | 0o666)
	if node == 1 && !f.file {
		mode = unix.S_IFDIR | 0o777
	}
	le.PutUint64(a, node)
	le.PutUint64(a[8:], 4096)
	for at, v := range map[int]uint32{60: mode, 64: 1, 68: f.uid, 72: f.uid, 80: 4096} {
		le.PutUint32(a[at:], v)
	}
	return a
}

func (f *FUSE) reply(unique []byte, errno int32, out []byte) {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(16+len(out)))
	b = le.AppendUint32(b, uint32(errno))
	b = append(append(b, unique...), out...)
	_, _ = f.dev.Write(b) // an error is ignored: the caller may have ended
}
