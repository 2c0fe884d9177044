// Package notify sends notices about grid jobs. People and a program of the site receive the ends of grid jobs; servers
// that job files name receive every change of status. Notices wait in an outbox in the store until they are delivered,
// so that no notice is lost when the daemon is killed. After a restart a notice may be delivered a second time, with
// the same key. A notice that cannot be delivered is tried again with growing waits, and given up after the site's
// patience.
//
// The package decides which target receives which notice. The caller implements the outbox.
package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/sys/fetch"
	"jjm/internal/sys/run"
)

// The target of a notice is a text of one of three kinds: mailPrefix and a mail address; commandTarget, which stands
// for the program of the site; or callPrefix and the number of a grid job, which stands for the server that its job
// file names.
const (
	mailPrefix    = "mail "
	commandTarget = "command"
	callPrefix    = "call "
)

const (
	// every is the time between two reads of the journal and the outbox.
	every = 2 * time.Second
	// span is the number of entries of the journal that are read in one transaction.
	span = 20_000
	// batch is the number of notices that are delivered to one target before the other targets have their turn.
	batch = 50
	// workers is the maximum number of mail addresses to which notices are delivered at the same time.
	workers = 4
	// deadline is the longest time that a program may run.
	deadline = time.Minute
)

// Targets returns the targets of the notices about a change of a grid job's status.
func (c Config) Targets(change store.GridChange) (targets []string) {
	if change.To.Final() && len(change.Notify) > 0 {
		if len(c.Mail) > 0 {
			for _, a := range change.Notify {
				targets = append(targets, mailPrefix+a)
			}
		}
		if len(c.Command) > 0 {
			targets = append(targets, commandTarget)
		}
	}
	if c.CallbacksPerUser > 0 && change.Callback != nil && change.Callback.Wants(change.To) {
		targets = append(targets, fmt.Sprintf("%s%s", callPrefix, change.Grid))
	}
	return targets
}

// Outbox stores notices until they are delivered.
type Outbox interface {
	// Fill reads at most span further entries of the journal and stores the notices about them. more is set if entries
	// remain.
	Fill(ctx context.Context, span int64) (more bool, err error)
	// Due returns the notices that should be delivered now to the targets that begin with prefix: at most limit notices
	// for each account, and for each target only its oldest notice.
	Due(ctx context.Context, prefix string, limit int) ([]store.Notice, error)
	// Next returns the oldest notices of a target.
	Next(ctx context.Context, target string, limit int) ([]store.Notice, error)
	// Event returns the event that a notice to people or to the site's program is about. ok is false if the grid job was
	// removed.
	Event(ctx context.Context, n store.Notice) (e Event, ok bool, err error)
	// Call returns the event that a notice to a server is about. ok is false if the grid job was removed.
	Call(ctx context.Context, n store.Notice) (c Call, ok bool, err error)
	// End deletes a notice that needs no further try. gaveUp is the reason why the notice was not delivered, "" if it was
	// delivered. Delay stores the number of tries of a notice and the time of its next try.
	End(ctx context.Context, n store.Notice, gaveUp string) error
	Delay(ctx context.Context, n store.Notice) error
}

// Post sends the body of an event to the server that a grid job's file names. key is the key of the event. An error
// means that no server was called; the result of a call is in the Report.
type Post func(ctx context.Context, grid jjm.GridID, key string, body []byte) (fetch.Report, error)

// Sender delivers the notices of an outbox.
type Sender struct {
	Config Config
	Outbox Outbox
	// Post is nil if the site calls no servers.
	Post Post
	Log  *slog.Logger
	Now  func() time.Time
}

// kind describes the delivery of all notices whose targets begin with prefix. Notices of different kinds do not wait
// for each other.
type kind struct {
	prefix string
	// most is the number of notices that are delivered at the same time: in total, or for each account if apart is set.
	most  int
	apart bool
}

// lane returns the lane of a notice: the number of its account if apart is set, otherwise 0. Notices of different lanes
// do not wait for each other.
func (k kind) lane(n store.Notice) int {
	if k.apart {
		return n.UID
	}
	return 0
}

// Run delivers notices until ctx ends.
func (s *Sender) Run(ctx context.Context) {
	done := make(chan struct{})
	kinds := []kind{{prefix: mailPrefix, most: workers}, {prefix: commandTarget, most: 1}, // one target
		{prefix: callPrefix, most: max(s.Config.CallbacksPerUser, 1), apart: true}}
	for _, kind := range kinds {
		go func() {
			s.deliver(ctx, kind)
			done <- struct{}{}
		}()
	}
	for ctx.Err() == nil {
		more, err := s.Outbox.Fill(ctx, span)
		if err != nil && ctx.Err() == nil {
			s.Log.Error("the changes of grid jobs could not be read for notices: trying again", "error", err)
		}
		if !more || err != nil {
			pause(ctx, nil)
		}
	}
	for range kinds {
		<-done
	}
}

// pause waits until ctx ends, until a value is received from wake, or for the time every. It returns the received
// value, "" if there is none.
func pause(ctx context.Context, wake <-chan string) (woken string) {
	t := time.NewTimer(every)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case woken = <-wake:
	case <-t.C:
	}
	return woken
}

// deliver delivers the notices of one kind until ctx ends. For each target it runs one goroutine. A target that does
// not answer occupies one of the places of its lane; the other places and lanes continue.
func (s *Sender) deliver(ctx context.Context, k kind) {
	busy, taken, done := map[string]int{}, map[int]int{}, make(chan string)
	for ctx.Err() == nil {
		due, err := s.Outbox.Due(ctx, k.prefix, 2*k.most)
		if err != nil && ctx.Err() == nil {
			s.Log.Error("the notices that are to be delivered could not be read: trying again", "error", err)
		}
		for _, n := range due {
			target, lane := n.Target, k.lane(n)
			if _, now := busy[target]; now || taken[lane] >= k.most {
				continue
			}
			busy[target] = lane
			taken[lane]++
			go func() { s.attend(ctx, target); done <- target }()
		}
		if target := pause(ctx, done); target != "" {
			taken[busy[target]]--
			delete(busy, target)
		}
	}
	for range busy {
		<-done
	}
}

// attend delivers the next notices to one target, in order, until a delivery fails. If the outbox cannot be read or
// written, attend waits for a while: the notice is due again immediately, and without the wait the error would repeat
// at once.
func (s *Sender) attend(ctx context.Context, target string) {
	ns, err := s.Outbox.Next(ctx, target, batch)
	for _, n := range ns {
		var delivered bool
		if delivered, err = s.try(ctx, n); err != nil || !delivered {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Error("the outbox of notices could not be read or written: trying again", "error", err)
		pause(ctx, nil)
	}
}

// outcome is the result of one try to deliver a notice.
type outcome struct {
	gone    bool  // the grid job was removed, so nothing is sent
	trouble error // reason why the notice was not delivered, nil if it was delivered
	final   bool  // another try cannot help
	wait    time.Duration
}

// try tries to deliver a notice and stores the result in the outbox. delivered is true if the notice needs no further
// try, also if it was given up. An error means that the result could not be stored.
func (s *Sender) try(ctx context.Context, n store.Notice) (delivered bool, err error) {
	send := s.tell
	if strings.HasPrefix(n.Target, callPrefix) {
		send = s.call
	}
	out := send(ctx, n)
	now := s.Now()
	switch {
	case out.gone, out.trouble == nil:
		return true, s.Outbox.End(ctx, n, "")
	case ctx.Err() != nil:
		return false, nil
	case out.final, now.Sub(n.Since.Time()) >= s.Config.Patience.D():
		s.Log.Warn("a notice could not be delivered and is given up", "job", n.Grid, "target", n.Target,
			"tries", n.Tries+1, "error", out.trouble)
		return true, s.Outbox.End(ctx, n, fmt.Sprintf("the notice %s is given up: %v", about(n), out.trouble))
	}
	n.Tries++
	n.Next = jjm.At(now.Add(fetch.Pause(n.Tries, out.wait)))
	s.Log.Info("a notice could not be delivered and is tried again", "job", n.Grid, "target", n.Target, "tries", n.Tries,
		"error", out.trouble)
	return false, s.Outbox.Delay(ctx, n)
}

// about returns a description of a notice's target, for error texts.
func about(n store.Notice) string {
	if strings.HasPrefix(n.Target, callPrefix) {
		return "of " + n.To + " to the server of the callback"
	}
	return "to " + n.Target
}

// tell delivers the notice about the end of a grid job to an address or to the program of the site.
func (s *Sender) tell(ctx context.Context, n store.Notice) outcome {
	e, ok, err := s.Outbox.Event(ctx, n)
	switch {
	case err != nil:
		return outcome{trouble: err}
	case !ok:
		return outcome{gone: true}
	}
	return outcome{trouble: s.send(ctx, n.Target, e)}
}

// call delivers a notice about a changed status to the server of the grid job.
func (s *Sender) call(ctx context.Context, n store.Notice) outcome {
	c, ok, err := s.Outbox.Call(ctx, n)
	switch {
	case err != nil:
		return outcome{trouble: err}
	case !ok:
		return outcome{gone: true}
	case s.Post == nil || s.Config.CallbacksPerUser == 0:
		return outcome{trouble: errors.New("the site no longer calls servers"), final: true}
	}
	body, err := json.Marshal(c)
	if err != nil {
		return outcome{trouble: err}
	}
	r, err := s.Post(ctx, n.Grid, c.Event, body)
	switch {
	case err != nil:
		return outcome{trouble: err}
	case r.Done:
		return outcome{}
	}
	return outcome{trouble: errors.New(r.Trouble), final: !r.Again, wait: r.Wait.D()}
}

// send delivers an event as a mail, or as JSON to the program of the site, depending on the target.
func (s *Sender) send(ctx context.Context, target string, e Event) error {
	if to, isMail := strings.CutPrefix(target, mailPrefix); isMail {
		message, err := e.Mail(s.Config.From, to)
		if err != nil {
			return err
		}
		return pipe(ctx, s.Config.Mail, message)
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return pipe(ctx, s.Config.Command, append(text, '\n'))
}

// pipe runs a program with the given input. It returns the error of the run, or an error with the end of the program's
// standard error if the exit code is not 0.
func pipe(ctx context.Context, argv []string, input []byte) error {
	if len(argv) == 0 {
		return fmt.Errorf("the site no longer sends such notices")
	}
	out, err := run.Run(ctx, run.Cmd{Argv: argv, Dir: "/", Stdin: input, Deadline: deadline, MaxOutput: 64 << 10,
		Env: []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent"}})
	if err != nil {
		return err
	}
	if out.Exit != 0 {
		return fmt.Errorf("%s: exit code %d: %s", argv[0], out.Exit, cut(line(strings.TrimSpace(string(out.Stderr))), 200))
	}
	return nil
}
