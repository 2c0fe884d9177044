package pbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"jjm/run"
)

// appetite is how much is asked of one qstat. The whole of the live jobs is cheapest;
// but a listing that printed, held or took more than it may would do so again: from
// then on the jobs are asked for by their ids, in chunks, and the whole only after a
// rest, which is twice as long each time. The zero value is not one; see newAppetite.
type appetite struct {
	byID bool
	// chunk is the most ids in one command, and grows again from larger on.
	chunk  int
	larger time.Time
	// until is when the whole may be asked for again, rest how long that was.
	until time.Time
	rest  time.Duration
	// why is what went wrong, for people; "" if nothing did.
	why string
}

const (
	// mostIDs are asked for in some 600 ms (OpenPBS 23.06.06, measured).
	mostIDs = 100
	// fewIDs is the smallest chunk for a command that was not done in time: a server
	// that does not answer takes as long over one id as over many.
	fewIDs    = 10
	firstRest = 10 * time.Minute
	lastRest  = 24 * time.Hour
)

func newAppetite() appetite { return appetite{chunk: mostIDs} }

// whole reports whether the whole may be asked for.
func (a appetite) whole(now time.Time) bool { return !a.byID || !now.Before(a.until) }

// wholeFailed returns the appetite after a listing of the whole was too much.
func (a appetite) wholeFailed(now time.Time, why string) appetite {
	a.rest = min(max(2*a.rest, firstRest), lastRest)
	a.byID, a.until, a.why = true, now.Add(a.rest), why
	return a
}

// wholeWorked returns the appetite after a listing of the whole.
func (a appetite) wholeWorked() appetite {
	a.byID, a.rest, a.why = false, 0, ""
	return a
}

// chunkFailed returns the appetite after a chunk of n ids was too much: late where it was
// not done in time.
func (a appetite) chunkFailed(now time.Time, n int, late bool) appetite {
	least := 1
	if late {
		least = min(a.chunk, fewIDs)
	}
	a.chunk, a.larger = max(least, min(a.chunk, n/2)), now.Add(firstRest)
	return a
}

// chunkWorked returns the appetite after a chunk.
func (a appetite) chunkWorked(now time.Time) appetite {
	if !now.Before(a.larger) {
		a.chunk = min(2*a.chunk, mostIDs)
	}
	return a
}

// tooMuch says why a command that ended so would end so again if it were repeated
// unchanged: it printed more than it may, was not done in time, was killed - the
// kernel does that to who holds too much, and so does a client to itself that gets no
// more memory - or complained of memory. It is "" for every other end.
func tooMuch(out run.Output, err error) string {
	lower := bytes.ToLower(out.Stderr)
	switch {
	case out.Truncated:
		return "it printed more than it may"
	case errors.Is(err, context.DeadlineExceeded):
		return "it was not done in time"
	case err != nil:
		return ""
	case out.Signal != 0:
		return fmt.Sprintf("it was killed by signal %d", out.Signal)
	case out.Exit != 0 && (bytes.Contains(lower, []byte("memory")) || bytes.Contains(lower, []byte("alloc"))):
		return "it got no more memory"
	}
	return ""
}
