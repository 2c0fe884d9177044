package pbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"jjm/internal/sys/run"
)

// listingSize decides whether a listing of everything may be tried. After the first listing that was too large, the
// listing is repeated, because the client sometimes prints without end if an array has just started. If the second
// listing is also too large, jobs are looked up by id during a pause. The pause doubles with each further listing that
// is too large. The zero value allows a listing.
type listingSize struct {
	failures int       // number of consecutive failures
	failed   time.Time // time of the latest failure
	// until is when the listing may be tried again; rest is the length of that pause.
	until time.Time
	rest  time.Duration
	// why describes, for people, the failure because of which jobs are looked up by id; "" after a successful listing.
	why string
}

const (
	firstRest = 10 * time.Minute
	lastRest  = 24 * time.Hour
	// inARow is the number of consecutive listings that must be too large before jobs are looked up by id.
	inARow = 2
)

// mayTry reports whether the listing may be tried.
func (l listingSize) mayTry(now time.Time) bool { return l.failures < inARow || !now.Before(l.until) }

// tooLarge returns the new size after a listing that began at the time began was too large. Listings that ran at the
// same time count as one failure.
func (l listingSize) tooLarge(began, now time.Time, why string) listingSize {
	if l.failures > 0 && began.Before(l.failed) {
		return l
	}
	l.failures, l.failed = l.failures+1, now
	if l.failures >= inARow && !now.Before(l.until) {
		l.rest = min(max(2*l.rest, firstRest), lastRest)
		l.until, l.why = now.Add(l.rest), why
	}
	return l
}

// chunkSize is the largest number of ids in one command.
type chunkSize struct {
	n int
	// larger is the time from which n may grow again.
	larger time.Time
}

// maxIDs is the largest number of ids in one command. A command makes one connection more than it names ids, so maxIDs
// keeps it within perSecond connections. For more ids, a listing of everything costs less.
const maxIDs = perSecond - 1

// failed returns the new size after a command with n ids printed too much, or answered only some of the ids.
func (c chunkSize) failed(now time.Time, n int) chunkSize {
	return chunkSize{n: max(1, min(c.n, n/2)), larger: now.Add(firstRest)}
}

// worked returns the new size after a successful command.
func (c chunkSize) worked(now time.Time) chunkSize {
	if !now.Before(c.larger) {
		c.n = min(2*c.n, maxIDs)
	}
	return c
}

// tooMuch returns the reason if a command would fail again when repeated unchanged: it printed too much, was still
// printing at its deadline, was killed (the kernel kills a process that uses too much memory, and a client that gets no
// memory kills itself), or complained about memory. Otherwise tooMuch returns "". A command that printed nothing until
// its deadline gets "" too, because the silence shows that the server does not respond, not that the answer is large.
func tooMuch(out run.Output, err error) string {
	lower := bytes.ToLower(out.Stderr)
	switch {
	case out.Truncated:
		return "it printed more than command_output_mb"
	case errors.Is(err, context.DeadlineExceeded) && len(out.Stdout) > 0:
		return "it was still printing at its deadline"
	case err != nil:
		return ""
	case out.Signal != 0:
		return fmt.Sprintf("it was killed by signal %d", out.Signal)
	case out.Exit != 0 && (bytes.Contains(lower, []byte("memory")) || bytes.Contains(lower, []byte("alloc"))):
		return "it ran out of memory"
	}
	return ""
}
