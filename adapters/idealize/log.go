package idealize

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"jjm/internal/jjm"
)

// troubleAfter is how many commands in a row without an answer count as trouble. Retry makes up for a single one.
const troubleAfter = 2

// withLog logs each call at debug, and trouble once when it starts and once when it is
// over.
func withLog(log *slog.Logger, next call) call {
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
		switch n, since := s.note(verb, healthOf(ctx, verb, err), began); {
		case n == troubleAfter:
			log.Warn("batch system does not answer", "verb", verb.String(), "error", err)
		case n < 0:
			log.Info("batch system answers", "verb", verb.String(), "failed", -n, "for", time.Since(since).Round(time.Second))
		}
		return err
	}
}

// streak counts the calls in a row that got no answer.
type streak struct {
	mu       sync.Mutex
	failures int
	since    time.Time
	verb     Verb // of the first failure
}

// note counts an outcome. It returns the number of failures in a row, or its negative if this outcome ends trouble.
// Trouble ends with an answer to a listing or to the verb that failed first; another verb does not count, because a
// system may answer a ping and fail at listings. Accounting is ignored here, because it may be down while the batch
// system answers.
func (s *streak) note(verb Verb, h health, began time.Time) (int, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.since
	switch {
	case verb == Account:
	case h == noResponse:
		if s.failures == 0 {
			s.since, s.verb = began, verb
		}
		s.failures++
		return s.failures, s.since
	case h == responded && (verb == List || verb == s.verb):
		n := s.failures
		s.failures = 0
		if n >= troubleAfter {
			return -n, since
		}
	}
	return 0, since
}
