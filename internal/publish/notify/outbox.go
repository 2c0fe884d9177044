// Package notify tells people and a program of the site how grid jobs ended. Notices wait in an outbox in the store
// until they are delivered, so that no notice is lost when the daemon is killed. After a restart a notice may be
// delivered a second time, with the same key. A notice that cannot be delivered is tried again with growing waits, and
// given up after the site's patience.
//
// The package decides what is sent to whom; the outbox is an interface.
package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/sys/fetch"
	"jjm/internal/sys/run"
)

// The targets of notices: a mail address behind mailPrefix, or the program of the site.
const (
	mailPrefix    = "mail "
	commandTarget = "command"
)

const (
	// every is the time between looks at the journal and the outbox.
	every = 2 * time.Second
	// span is how many entries of the journal are read in one transaction.
	span = 20_000
	// batch is how many notices are delivered to one target before the others have their turn.
	batch = 50
	// workers is how many notices of a kind are delivered at the same time.
	workers = 4
	// deadline is how long a program may run.
	deadline = time.Minute
)

// Targets returns the targets of a notice for the addresses in a job file.
func (c Config) Targets(addresses []string) (targets []string) {
	if len(addresses) == 0 {
		return nil
	}
	if len(c.Mail) > 0 {
		for _, a := range addresses {
			targets = append(targets, mailPrefix+a)
		}
	}
	if len(c.Command) > 0 {
		targets = append(targets, commandTarget)
	}
	return targets
}

// Outbox stores the notices that are to be delivered.
type Outbox interface {
	// Fill stores the notices about the next entries of the journal, at most span. more is set if entries remain.
	Fill(ctx context.Context, span int64) (more bool, err error)
	// Due returns the oldest notice of each target with a prefix, if the notice is to be tried now.
	Due(ctx context.Context, prefix string, limit int) ([]store.Notice, error)
	// Next returns the oldest notices of a target.
	Next(ctx context.Context, target string, limit int) ([]store.Notice, error)
	// Event returns the event of a notice. ok is false if the grid job is removed.
	Event(ctx context.Context, n store.Notice) (e Event, ok bool, err error)
	// End deletes a notice. gaveUp is the reason if it was not delivered, "" if it was. Delay stores the next try.
	End(ctx context.Context, n store.Notice, gaveUp string) error
	Delay(ctx context.Context, n store.Notice) error
}

// Sender delivers the notices of an outbox.
type Sender struct {
	Config Config
	Outbox Outbox
	Log    *slog.Logger
	Now    func() time.Time
}

// Run delivers notices until ctx ends. Mail and the program of the site do not wait for each other.
func (s *Sender) Run(ctx context.Context) {
	done := make(chan struct{})
	kinds := []string{mailPrefix, commandTarget}
	for _, kind := range kinds {
		go func() {
			s.deliver(ctx, kind)
			done <- struct{}{}
		}()
	}
	for ctx.Err() == nil {
		more, err := s.Outbox.Fill(ctx, span)
		if err != nil && ctx.Err() == nil {
			s.Log.Error("the ends of grid jobs could not be read for notices: trying again", "error", err)
		}
		if !more || err != nil {
			pause(ctx, nil)
		}
	}
	for range kinds {
		<-done
	}
}

// pause waits until ctx ends, something is received from wake, or it is time to look again.
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

// deliver delivers the notices to the targets of a kind until ctx ends. A target that does not answer takes one of the
// workers, and the others go on.
func (s *Sender) deliver(ctx context.Context, kind string) {
	busy, done := map[string]bool{}, make(chan string)
	for ctx.Err() == nil {
		due, err := s.Outbox.Due(ctx, kind, 2*workers)
		if err != nil && ctx.Err() == nil {
			s.Log.Error("the notices that are to be delivered could not be read: trying again", "error", err)
		}
		for _, n := range due {
			if target := n.Target; !busy[target] && len(busy) < workers {
				busy[target] = true
				go func() { s.attend(ctx, target); done <- target }()
			}
		}
		delete(busy, pause(ctx, done))
	}
	for range busy {
		<-done
	}
}

// attend delivers the next notices to one target, in order, until one fails.
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
	}
}

// try tries to deliver a notice, and stores the result. The error is that of the outbox.
func (s *Sender) try(ctx context.Context, n store.Notice) (delivered bool, err error) {
	e, ok, err := s.Outbox.Event(ctx, n)
	if err != nil {
		return false, err
	}
	if !ok {
		return true, s.Outbox.End(ctx, n, "")
	}
	trouble := s.send(ctx, n.Target, e)
	now := s.Now()
	switch {
	case trouble == nil:
		return true, s.Outbox.End(ctx, n, "")
	case ctx.Err() != nil:
		return false, nil
	case now.Sub(n.Since.Time()) >= s.Config.Patience.D():
		s.Log.Warn("a notice could not be delivered and is given up", "job", n.Grid, "target", n.Target, "error", trouble)
		return true, s.Outbox.End(ctx, n, fmt.Sprintf("the notice to %s is given up: %v", n.Target, trouble))
	}
	n.Tries++
	n.Next = jjm.At(now.Add(fetch.Pause(n.Tries, 0)))
	s.Log.Info("a notice could not be delivered and is tried again", "job", n.Grid, "target", n.Target, "tries", n.Tries,
		"error", trouble)
	return false, s.Outbox.Delay(ctx, n)
}

// send delivers an event to a target.
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

// pipe runs a program with input. The error is that of the program, or the end of its standard error if its exit code
// is not 0.
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
