package idealize

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"jjm/internal/jjm"
)

// troubleAfter is the number of consecutive commands without an answer that count as trouble. A single such command
// does not count, because Retry repeats it.
const troubleAfter = 2

// withLog logs each call at debug level. It logs trouble once when it starts and once when it ends.
func withLog(log *slog.Logger, next call) call {
	var s streak
	return func(ctx context.Context, verb Verb, do func(context.Context) error) error {
		began := time.Now()
		err := next(ctx, verb, do)
		if o := (*openError)(nil); errors.As(err, &o) && !o.asked {
			return err // no command ran
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

// streak counts the consecutive calls without an answer.
type streak struct {
	mu       sync.Mutex
	failures int
	since    time.Time
	verb     Verb // verb of the first failure
}

// note counts an outcome. It returns the number of consecutive failures, as a negative number if this outcome ends
// trouble, and the time of the first failure. Trouble ends with an answer to a listing or to the verb that failed
// first. An answer to another verb does not end it, because a system may answer a ping and fail at listings. note
// ignores accounting, which may be down although the batch system answers.
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
