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

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// process is the daemon's side of one helper process, from its start to its end.
type process struct {
	who    account
	limits Limits
	conn   *net.UnixConn
	proc   *run.Process
	guard  *run.Process
	born   time.Time

	send sync.Mutex // orders writes

	mu    sync.Mutex // guards the following fields
	next  int64
	calls map[int64]*call
	heard time.Time // time of the helper's last message, or, if later, when a call was opened while no other call waited
	used  time.Time // time when the helper's last call ended
	why   error     // cause of the helper's end; nil while it runs
	hung  bool
	over  chan struct{} // closed at the helper's end
}

// call is one request that waits for its replies. A request has at most two replies.
type call struct{ answers chan answer }

// answer is a reply of the helper with the open files that came with it.
type answer struct {
	reply
	files []*os.File
}

// startHelper starts a helper and its guard. The helper becomes the account after its start. startHelper does not wait
// for this change, because the account could stop the helper meanwhile. unended counts the helpers that have not ended,
// or whose guard has not ended.
func startHelper(who account, limits Limits, word string, unended *atomic.Int32) (*process, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "start a helper of %s: %w", who, err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "helper"), os.NewFile(uintptr(fds[1]), "daemon")
	defer ours.Close()
	defer theirs.Close()
	c, guard, err := startGuard(who, ours)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "start a helper of %s: %w", who, err)
	}
	proc, err := run.Detach(run.Detached{
		Argv: []string{"jjm-helper-of-" + who.name, word, who.ids().String()},
		Path: "/proc/self/exe", // this program, even if an upgrade replaced its file
		Dir:  "/", Env: who.environ(), Extra: []*os.File{theirs},
	})
	if err != nil {
		c.Close()
		_ = guard.Signal(syscall.SIGKILL)
		go func() { _, _, _ = guard.Wait() }()
		return nil, jjm.Errorf(jjm.Busy, "start a helper of %s: %w", who, err)
	}
	now := time.Now()
	l := &process{who: who, limits: limits, conn: c, proc: proc, guard: guard, born: now, used: now,
		calls: map[int64]*call{}, over: make(chan struct{})}
	go l.read()
	go l.watch()
	unended.Add(1)
	go func() { // reaps the helper and the guard
		_, _, _ = guard.Wait()
		_, _, _ = proc.Wait()
		unended.Add(-1)
	}()
	return l, nil
}

// startGuard starts a guard for a helper whose socket is helper, and returns the daemon's end.
func startGuard(who account, helper *os.File) (*net.UnixConn, *run.Process, error) {
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

// errEnded is the cause of a helper's end if the daemon no longer needed the helper.
var errEnded = errors.New("the helper has ended")

// end kills the helper and its guard. Calls that wait for a reply return the error why. hung means that the helper did
// not answer; its account is then set aside for longer. Only the first call of end has an effect.
func (l *process) end(why error, hung bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return
	}
	l.why, l.hung = why, hung
	close(l.over)
	l.conn.Close()
	_ = l.proc.Signal(syscall.SIGKILL) // SIGKILL also ends a stopped process
	_ = l.guard.Signal(syscall.SIGKILL)
}

// read passes each reply to the call that waits for the reply. A reply to a closed call is dropped. A third reply to a
// call ends the helper.
func (l *process) read() {
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
			l.end(jjm.Errorf(jjm.Busy, "the helper of %s sent a third reply to a request", l.who), true)
			return
		}
	}
}

// watch pings the helper during requests. It ends the helper if the helper sends nothing for Limits.Silence.
func (l *process) watch() {
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
				l.end(jjm.Errorf(jjm.Busy, "the helper of %s has not answered for %s", l.who, jjm.HowLong(silent)), true)
			case busy:
				_ = l.write(request{Op: "ping"})
			}
		}
	}
}

// write sends one message. An error ends the helper; for example, the socket of a helper is full if the account stopped
// the process.
func (l *process) write(r request, files ...*os.File) error {
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

// open registers a call and returns the number of its request.
func (l *process) open() (int64, *call, error) {
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

// close drops a call. Later replies to this call are dropped, too.
func (l *process) close(id int64, c *call) {
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

// await waits for the next reply to a call. The error is the cause of the helper's end, or the error of ctx.
func (l *process) await(ctx context.Context, c *call) (answer, error) {
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
	select { // the helper may have answered before its end
	case a := <-c.answers:
		return a, nil
	default:
		return answer{}, l.why
	}
}

// idle returns the time since the last call ended; 0 during a call.
func (l *process) idle(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) > 0 {
		return 0
	}
	return now.Sub(l.used)
}
