package pbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"jjm/run"
)

// askSize decides how much to ask of one qstat. A listing of all live jobs is cheapest. But
// one that printed too much, used too much memory or took too long would do so again. From
// then on jobs are asked for by id, in chunks; a listing of all is tried again after a
// rest, which doubles each time. The zero value must not be used; see newAskSize.
type askSize struct {
	byID bool // jobs are asked for by id
	// chunk is the largest number of ids in one command. It may grow again from larger on.
	chunk  int
	larger time.Time
	// until is when a listing of all may be tried again, rest how long that pause was.
	until time.Time
	rest  time.Duration
	// why says what went wrong, for people; "" if nothing did.
	why string
}

const (
	// maxIDs take some 600 ms (OpenPBS 23.06.06, measured).
	maxIDs = 100
	// minLateIDs is the smallest chunk after a command that was too slow: a server that
	// does not answer takes as long over one id as over many.
	minLateIDs = 10
	firstRest  = 10 * time.Minute
	lastRest   = 24 * time.Hour
)

func newAskSize() askSize { return askSize{chunk: maxIDs} }

// mayListAll reports whether a listing of all jobs may be tried.
func (a askSize) mayListAll(now time.Time) bool { return !a.byID || !now.Before(a.until) }

// listAllFailed returns the size after a listing of all was too much.
func (a askSize) listAllFailed(now time.Time, why string) askSize {
	a.rest = min(max(2*a.rest, firstRest), lastRest)
	a.byID, a.until, a.why = true, now.Add(a.rest), why
	return a
}

// listAllWorked returns the size after a listing of all.
func (a askSize) listAllWorked() askSize {
	a.byID, a.rest, a.why = false, 0, ""
	return a
}

// chunkFailed returns the size after a chunk of n ids was too much. late says that it was
// too slow.
func (a askSize) chunkFailed(now time.Time, n int, late bool) askSize {
	least := 1
	if late {
		least = min(a.chunk, minLateIDs)
	}
	a.chunk, a.larger = max(least, min(a.chunk, n/2)), now.Add(firstRest)
	return a
}

// chunkWorked returns the size after a chunk that worked.
func (a askSize) chunkWorked(now time.Time) askSize {
	if !now.Before(a.larger) {
		a.chunk = min(2*a.chunk, maxIDs)
	}
	return a
}

// tooMuch says why a command would fail in the same way if it were repeated unchanged: it
// printed too much, was too slow, was killed (the kernel kills a process that uses too much
// memory, and a client that gets none kills itself), or complained about memory. It returns
// "" for every other end.
func tooMuch(out run.Output, err error) string {
	lower := bytes.ToLower(out.Stderr)
	switch {
	case out.Truncated:
		return "it printed more than command_output_mb"
	case errors.Is(err, context.DeadlineExceeded):
		return "it did not end in time"
	case err != nil:
		return ""
	case out.Signal != 0:
		return fmt.Sprintf("it was killed by signal %d", out.Signal)
	case out.Exit != 0 && (bytes.Contains(lower, []byte("memory")) || bytes.Contains(lower, []byte("alloc"))):
		return "it ran out of memory"
	}
	return ""
}
