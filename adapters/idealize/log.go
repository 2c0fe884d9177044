package idealize

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"jjm"
)

// trouble begins with this many commands in a row without an answer: one alone
// is a hiccup, which Retry makes good.
const trouble = 2

// logged tells each call at debug, and once when trouble begins and once when
// it is over.
func logged(log *slog.Logger, next call) call {
	var s streak
	return func(ctx context.Context, verb Verb, do func(context.Context) error) error {
		began := time.Now()
		err := next(ctx, verb, do)
		if o := (*openError)(nil); errors.As(err, &o) && !o.asked {
			return err // no command was run
		}
		took := time.Since(began)
		outcome := "ok"
		if err != nil {
			outcome = jjm.KindOf(err).String()
		}
		log.Debug("batch command", "verb", verb.String(), "took", took, "outcome", outcome, "error", err)
		switch n, since := s.note(verb, hear(ctx, verb, err), began); {
		case n == trouble:
			log.Warn("batch system does not answer", "verb", verb.String(), "error", err)
		case n < 0:
			log.Info("batch system answers", "verb", verb.String(), "failed", -n, "for", time.Since(since).Round(time.Second))
		}
		return err
	}
}

// streak counts commands in a row that got no answer.
type streak struct {
	mu       sync.Mutex
	failures int
	since    time.Time
	verb     Verb // that began it
}

// note counts an outcome. It gives the length of the row so far, or less than 0
// if trouble of that length is over with this one: an answer to a listing, or
// to the verb that began it. Another verb's is none, for a system may answer a
// ping and list nothing. Accounting, which may be down alone, is left to those
// who ask it.
func (s *streak) note(verb Verb, h hearing, began time.Time) (int, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.since
	switch {
	case verb == Account:
	case h == silence:
		if s.failures == 0 {
			s.since, s.verb = began, verb
		}
		s.failures++
		return s.failures, s.since
	case h == answer && (verb == List || verb == s.verb):
		n := s.failures
		s.failures = 0
		if n >= trouble {
			return -n, since
		}
	}
	return 0, since
}
