package asuser

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

var _ run.Runner = (*User)(nil)

// UID returns the number of the account.
func (u *User) UID() int { return u.owner.UID }

// errFull cancels a command whose output reached Cmd.MaxOutput.
var errFull = errors.New("its output is longer than it may be")

// endTime is the additional time, after a command's deadline, in which the helper must report the end: SIGTERM, two
// seconds, SIGKILL.
const endTime = 10 * time.Second

// Run runs a command as the account, with the account's HOME, USER and LOGNAME, in the folder "/" unless the command
// names a folder. The errors are the errors of run.Run. An error that wraps a run.RunnerError is a failure of the
// helper, not of the command.
func (u *User) Run(ctx context.Context, c run.Cmd) (run.Output, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return run.Output{}, jjm.Errorf(jjm.Invalid, "run: empty command")
	}
	if err := ctx.Err(); err != nil {
		return run.Output{}, jjm.Errorf(jjm.Busy, "run %s: not started: %w", c.Argv[0], err)
	}
	l, err := u.helper(ctx)
	if err != nil {
		return run.Output{}, jjm.Errorf(jjm.Busy, "run %s: not started: %w", c.Argv[0], &run.RunnerError{Err: err})
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s, err := openStreams(c)
	if err != nil {
		return run.Output{}, jjm.Errorf(jjm.Busy, "run %s: not started: %w", c.Argv[0], err)
	}
	defer s.close()
	id, call, err := l.open()
	if err != nil {
		return run.Output{}, jjm.Errorf(jjm.Busy, "run %s: not started: %w", c.Argv[0], &run.RunnerError{Err: err})
	}
	defer l.close(id, call)
	start, limit := time.Now(), c.Deadline
	if limit <= 0 {
		limit = run.DefaultDeadline
	}
	req := request{ID: id, Op: "run", Argv: c.Argv, Dir: cmp.Or(c.Dir, "/"), Env: l.who.environFor(c.Env, c.Home),
		Limit:  limit,
		Memory: c.MaxMemory}
	if err := l.write(req, s.theirs[:]...); err != nil {
		// write has killed the helper, but the command may have started.
		return run.Output{}, jjm.Errorf(jjm.Ambiguous, "run %s: %w", c.Argv[0], &run.RunnerError{Err: err})
	}
	s.readOut(func() { stop(errFull) })
	end, err := l.result(ctx, id, call, limit)
	return s.finish(c, end, err, ctx, start)
}

// result waits for the end of a command. When ctx ends, result requests the helper to stop the command, and waits at
// most endTime longer for the end.
func (l *process) result(ctx context.Context, id int64, call *call, limit time.Duration) (reply, error) {
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit+endTime)
	defer cancel()
	stopped := context.AfterFunc(ctx, func() {
		_ = l.write(request{ID: id, Op: "cancel"})
		time.AfterFunc(endTime, cancel)
	})
	defer stopped()
	for {
		a, err := l.await(bound, call)
		if err != nil {
			if bound.Err() != nil && ctx.Err() == nil { // the helper answers pings but does not do its work
				l.end(jjm.Errorf(jjm.Busy, "the helper of %s does not end a command", l.who), true)
			}
			if ctx.Err() == nil {
				err = &run.RunnerError{Err: err}
			}
			return reply{}, jjm.Errorf(jjm.Ambiguous, "%w", err)
		}
		closeAll(a.files)
		if !a.Started {
			return a.reply, a.Err.err()
		}
	}
}

// streams are the standard streams of a command. Standard input is a file in memory. The output comes through pipes
// that this process reads.
type streams struct {
	theirs [3]*os.File
	ours   [2]*os.File
	out    [2]capped
	read   [2]chan struct{}
	ends   bool // the command is ended when its output reaches the limit
}

// openStreams creates the standard streams of a command.
func openStreams(c run.Cmd) (*streams, error) {
	s := &streams{ends: c.EndAtMax}
	var err error
	if s.theirs[0], err = memory(c.Stdin); err != nil {
		return nil, err
	}
	left := c.MaxOutput
	if left <= 0 {
		left = run.DefaultMaxOutput
	}
	for i := range s.ours {
		if s.ours[i], s.theirs[i+1], err = os.Pipe(); err != nil {
			s.close()
			return nil, err
		}
		s.out[i].left = left
	}
	return s, nil
}

// readOut closes the command's ends of the streams, which the helper now has, and starts to read the output. If the
// command must end at the cap, readOut calls stop there.
func (s *streams) readOut(stop func()) {
	closeAll(s.theirs[:])
	for i := range s.ours {
		done := make(chan struct{})
		s.read[i] = done
		go func() {
			defer close(done)
			if full := s.out[i].fill(s.ours[i], s.ends); full {
				stop()
			}
		}()
	}
}

// close closes all streams and waits until the output is no longer read.
func (s *streams) close() {
	closeAll(s.theirs[:])
	closeAll(s.ours[:]) // ends the goroutines of readOut
	for _, done := range s.read {
		if done != nil {
			<-done
		}
	}
}

// finish returns the result that run.Run would return for the same end of a command.
func (s *streams) finish(c run.Cmd, end reply, err error, ctx context.Context, start time.Time) (run.Output, error) {
	until := time.Now().Add(run.OpenPipes)
	for i, f := range s.ours {
		_ = f.SetReadDeadline(until)
		<-s.read[i]
	}
	out := run.Output{Stdout: s.out[0].buf.Bytes(), Stderr: s.out[1].buf.Bytes(), Exit: end.Exit, Signal: end.Signal,
		Truncated: s.out[0].cut || s.out[1].cut, Wall: time.Since(start)}
	switch {
	case out.Truncated && s.ends:
		return out, nil
	case err != nil && jjm.KindOf(err) == jjm.Ambiguous:
		cause := ctx.Err()
		if cause == nil && !errors.Is(err, errEnded) {
			cause = context.DeadlineExceeded
		}
		return out, jjm.Errorf(jjm.Ambiguous, "run %s: stopped after %s: %w", c.Argv[0], jjm.HowLong(out.Wall),
			errors.Join(jjm.Plainly(cause), err))
	case err != nil:
		return run.Output{}, err
	case !s.out[0].eof || !s.out[1].eof:
		return out, jjm.Errorf(jjm.Ambiguous,
			"run %s: ended with exit %d, but something it started kept its output open for %s more",
			c.Argv[0], out.Exit, jjm.HowLong(run.OpenPipes))
	}
	return out, nil
}

// capped keeps the first left bytes of a stream and drops the rest.
type capped struct {
	buf      bytes.Buffer
	left     int64
	cut, eof bool
}

// fill reads r to its end and drops the bytes beyond the cap. If ends is set, it stops at the cap and returns true.
func (w *capped) fill(r io.Reader, ends bool) (full bool) {
	chunk := make([]byte, 32<<10)
	for {
		n, err := r.Read(chunk)
		keep := min(int64(n), w.left)
		w.buf.Write(chunk[:keep])
		w.left -= keep
		w.cut = w.cut || keep < int64(n)
		if w.cut && ends {
			return true
		}
		if err != nil {
			w.eof = errors.Is(err, io.EOF)
			return false
		}
	}
}
