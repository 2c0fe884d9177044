package asuser

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"jjm"
	"jjm/run"
)

// life is one helper process, from its start to its end.
type life struct {
	who    account
	limits Limits
	conn   *net.UnixConn
	proc   *run.Process
	guard  *run.Process
	born   time.Time

	send sync.Mutex // orders writes

	mu    sync.Mutex // guards what follows
	next  int64
	calls map[int64]*call
	heard time.Time // when it last said something, or was first asked to
	used  time.Time // when its last call ended
	why   error     // of its end
	hung  bool
	over  chan struct{} // closed at its end
}

// call is one request that waits for its replies: at most two.
type call struct{ answers chan answer }

type answer struct {
	reply
	files []*os.File
}

// begin starts a helper, as root: it becomes the account by itself. Nothing waits
// for that here: one that the account stops on its way says nothing. left counts those
// that have not ended yet, or whose guard has not.
func begin(who account, limits Limits, word string, left *atomic.Int32) (*life, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "start a helper of %s: %w", who, err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "helper"), os.NewFile(uintptr(fds[1]), "daemon")
	defer ours.Close()
	defer theirs.Close()
	c, guard, err := guarded(who, ours)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "start a helper of %s: %w", who, err)
	}
	proc, err := run.Detach(run.Detached{
		Argv: []string{"jjm-helper-of-" + who.name, word, who.numbers().String()},
		Path: "/proc/self/exe", // whatever an upgrade put in its place
		Dir:  "/", Env: who.environ(), Extra: []*os.File{theirs},
	})
	if err != nil {
		c.Close()
		_ = guard.Signal(syscall.SIGKILL)
		go func() { _, _, _ = guard.Wait() }()
		return nil, jjm.Errorf(jjm.Busy, "start a helper of %s: %w", who, err)
	}
	now := time.Now()
	l := &life{who: who, limits: limits, conn: c, proc: proc, guard: guard, born: now, used: now,
		calls: map[int64]*call{}, over: make(chan struct{})}
	go l.read()
	go l.watch()
	left.Add(1)
	go func() { // collects them
		_, _, _ = guard.Wait()
		_, _, _ = proc.Wait()
		left.Add(-1)
	}()
	return l, nil
}

// guarded starts the guard of a helper whose socket is given, and gives the
// daemon's end.
func guarded(who account, helper *os.File) (*net.UnixConn, *run.Process, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "guard"), os.NewFile(uintptr(fds[1]), "daemon")
	defer ours.Close()
	defer theirs.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, err
	}
	proc, err := run.Detach(run.Detached{
		Argv: []string{"jjm-guard-of-" + who.name, guardWord}, Path: "/proc/self/exe",
		Dir: "/", Env: []string{"GOMAXPROCS=2"}, Extra: []*os.File{helper, theirs},
	})
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), proc, nil
}

// errEnded is why a helper ended that was not needed any more.
var errEnded = errors.New("the helper has ended")

// end ends a helper for good: what waits for it is told why.
func (l *life) end(why error, hung bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return
	}
	l.why, l.hung = why, hung
	close(l.over)
	l.conn.Close()
	_ = l.proc.Signal(syscall.SIGKILL) // it may have been stopped
	_ = l.guard.Signal(syscall.SIGKILL)
}

// read hands the replies to those who wait.
func (l *life) read() {
	buf := make([]byte, maxPacket+1)
	for {
		var r reply
		files, err := receive(l.conn, buf, &r)
		if err != nil {
			l.end(jjm.Errorf(jjm.Busy, "the helper of %s is gone: %w", l.who, err), false)
			return
		}
		l.mu.Lock()
		l.heard = time.Now()
		c := l.calls[r.ID]
		l.mu.Unlock()
		if c == nil {
			closeAll(files)
			continue
		}
		select {
		case c.answers <- answer{r, files}:
		default:
			closeAll(files)
			l.end(jjm.Errorf(jjm.Busy, "the helper of %s answers what nobody asked", l.who), true)
			return
		}
	}
}

// watch ends a helper that says nothing though it has something to do.
func (l *life) watch() {
	t := time.NewTicker(l.limits.Silence / 4)
	defer t.Stop()
	for {
		select {
		case <-l.over:
			return
		case now := <-t.C:
			l.mu.Lock()
			busy, silent := len(l.calls) > 0, now.Sub(l.heard)
			l.mu.Unlock()
			switch {
			case busy && silent > l.limits.Silence:
				l.end(jjm.Errorf(jjm.Busy, "the helper of %s says nothing for %v", l.who, silent.Round(time.Millisecond)), true)
			case busy:
				_ = l.write(request{Op: "ping"})
			}
		}
	}
}

// write sends one message. A helper that takes none, because it was stopped, is
// ended.
func (l *life) write(r request, files ...*os.File) error {
	l.send.Lock()
	defer l.send.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(l.limits.Silence))
	err := send(l.conn, r, files...)
	if err != nil {
		l.end(jjm.Errorf(jjm.Busy, "the helper of %s takes no request: %w", l.who, err),
			errors.Is(err, os.ErrDeadlineExceeded))
	}
	return err
}

// open registers a call.
func (l *life) open() (int64, *call, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return 0, nil, l.why
	}
	if len(l.calls) == 0 {
		l.heard = time.Now()
	}
	l.next++
	c := &call{answers: make(chan answer, 2)}
	l.calls[l.next] = c
	return l.next, c, nil
}

// close forgets a call; what comes for it later is dropped.
func (l *life) close(id int64, c *call) {
	l.mu.Lock()
	delete(l.calls, id)
	l.used = time.Now()
	l.mu.Unlock()
	for {
		select {
		case a := <-c.answers:
			closeAll(a.files)
		default:
			return
		}
	}
}

// await waits for the next answer of a call. The error is the helper's end, or
// that of ctx.
func (l *life) await(ctx context.Context, c *call) (answer, error) {
	select {
	case a := <-c.answers:
		return a, nil
	default:
	}
	select {
	case a := <-c.answers:
		return a, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-l.over:
	}
	select { // it may have answered before its end
	case a := <-c.answers:
		return a, nil
	default:
		return answer{}, l.why
	}
}

// idle is how long nothing has been asked; 0 while something is.
func (l *life) idle(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) > 0 {
		return 0
	}
	return now.Sub(l.used)
}
