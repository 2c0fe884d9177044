package idealize_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"jjm/adapters"
	"jjm/adapters/idealize"
	"jjm/internal/jjm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// began records a command that the scripted adapter ran.
type began struct {
	verb idealize.Verb
	tag  jjm.Tag // tag of the bulk, if the command was a submission
	at   time.Time
	err  error
}

// scripted is an adapter whose script decides how long its commands take and with which error they end. It counts
// simultaneous commands.
type scripted struct {
	// play returns the duration and the error of a command. If the context ends first, a submission returns an error of
	// kind Ambiguous, and any other command an error of kind Busy.
	play func(verb idealize.Verb) (time.Duration, error)
	// steps returns the number of commands of a call. If steps is nil, every call runs one command. A submission always
	// runs one command.
	steps func(verb idealize.Verb) int
	// results are the results of Control.
	results []error

	mu       sync.Mutex
	commands []began
	running  int
	plain    int // commands except cancels; a probe may use the place of a cancel
	most     int
	mostOf   int // the largest value of plain
}

// command runs all commands of a call.
func (s *scripted) command(ctx context.Context, verb idealize.Verb, tag jjm.Tag) error {
	steps := 1
	if s.steps != nil && verb != idealize.Submit {
		steps = s.steps(verb)
	}
	for range steps {
		if err := adapters.Turn(ctx); err != nil {
			return err
		}
		if err := s.step(ctx, verb, tag); err != nil {
			return err
		}
	}
	return nil
}

// step runs one command.
func (s *scripted) step(ctx context.Context, verb idealize.Verb, tag jjm.Tag) (err error) {
	s.mu.Lock()
	took, answer := s.play(verb)
	i := len(s.commands)
	s.commands = append(s.commands, began{verb: verb, tag: tag, at: time.Now()})
	s.running++
	if verb != idealize.Control && verb != idealize.Probe {
		s.plain++
	}
	s.most, s.mostOf = max(s.most, s.running), max(s.mostOf, s.plain)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.commands[i].err = err
		s.running--
		if verb != idealize.Control && verb != idealize.Probe {
			s.plain--
		}
	}()
	select {
	case <-time.After(took):
		return answer
	case <-ctx.Done():
	}
	if verb == idealize.Submit {
		return jjm.Errorf(jjm.Ambiguous, "stopped: %w", ctx.Err())
	}
	return jjm.Errorf(jjm.Busy, "stopped: %w", ctx.Err())
}

// ran returns the commands run so far.
func (s *scripted) ran() []began {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]began(nil), s.commands...)
}

func (s *scripted) Name() string                        { return "scripted" }
func (s *scripted) Capabilities() adapters.Capabilities { return adapters.Capabilities{MaxBulk: 7} }

func (s *scripted) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	return adapters.Receipt{ID: "1"}, s.command(ctx, idealize.Submit, b.Tag)
}

func (s *scripted) List(ctx context.Context, _ jjm.Owner, _ time.Time) (adapters.Listing, error) {
	return adapters.Listing{At: time.Now()}, s.command(ctx, idealize.List, "")
}

func (s *scripted) Find(ctx context.Context, _ jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	return make([]adapters.Found, len(tags)), s.command(ctx, idealize.Find, "")
}

func (s *scripted) Account(ctx context.Context, _ jjm.Owner, _ []adapters.Ref) ([]jjm.Report, error) {
	return nil, s.command(ctx, idealize.Account, "")
}

func (s *scripted) Control(ctx context.Context, _ jjm.Owner, _ adapters.Op, jobs []adapters.Ref) ([]error, error) {
	if err := s.command(ctx, idealize.Control, ""); err != nil {
		return nil, err
	}
	if s.results != nil {
		return s.results, nil
	}
	return make([]error, len(jobs)), nil
}

// pinging is a scripted adapter with a Prober.
type pinging struct{ *scripted }

func (p pinging) Probe(ctx context.Context) error { return p.command(ctx, idealize.Probe, "") }

// ask calls the method of a verb.
func ask(ctx context.Context, a adapters.Adapter, verb idealize.Verb, tag jjm.Tag) (err error) {
	switch verb {
	case idealize.Submit:
		_, err = a.Submit(ctx, adapters.Bulk{Tag: tag})
	case idealize.List:
		_, err = a.List(ctx, jjm.Owner{}, time.Time{})
	case idealize.Find:
		_, err = a.Find(ctx, jjm.Owner{}, nil)
	case idealize.Account:
		_, err = a.Account(ctx, jjm.Owner{}, nil)
	case idealize.Control:
		_, err = a.Control(ctx, jjm.Owner{}, adapters.Cancel, make([]adapters.Ref, 1))
	case idealize.Probe:
		err = a.(adapters.Prober).Probe(ctx)
	}
	return err
}

// status returns the Status of an idealized adapter.
func status(a adapters.Adapter) idealize.Status {
	return a.(interface{ Status() idealize.Status }).Status()
}

// inBubble runs a test with a fake clock.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// always scripts the same answer for every command.
func always(took time.Duration, err error) func(idealize.Verb) (time.Duration, error) {
	return func(idealize.Verb) (time.Duration, error) { return took, err }
}

// once scripts one error for each of the first commands. All later commands succeed.
func once(errs ...error) func(idealize.Verb) (time.Duration, error) {
	return func(idealize.Verb) (time.Duration, error) {
		if len(errs) == 0 {
			return 0, nil
		}
		err := errs[0]
		errs = errs[1:]
		return 0, err
	}
}

var (
	errBusy      = jjm.Errorf(jjm.Busy, "connection refused")
	errAmbiguous = jjm.Errorf(jjm.Ambiguous, "connection lost")
	errInvalid   = jjm.Errorf(jjm.Invalid, "no such queue")
)

// settings are the defaults with changes.
func settings(change func(*idealize.Config)) idealize.Config {
	c := idealize.Defaults()
	if change != nil {
		change(&c)
	}
	return c
}

// book collects log records of level info and above.
type book struct {
	mu    sync.Mutex
	lines []string
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, string(p))
	return len(p), nil
}

func (b *book) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func (b *book) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, l := range b.lines {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}
