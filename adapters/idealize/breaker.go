package idealize

import (
	"fmt"
	"time"

	"jjm"
)

// State is a circuit breaker's.
type State uint8

// The states. Closed sends all commands; Open sends none; HalfOpen sends one,
// to see whether the batch system is back.
const (
	Closed State = iota
	Open
	HalfOpen
)

func (s State) String() string { return [...]string{"closed", "open", "half-open"}[s] }

// breaker is a circuit breaker as a plain state machine: its owner has a lock
// and tells the time.
//
//	Closed    k times silence in a row      Open, or HalfOpen at once where a probe is cheap
//	Open      its wait is over              HalfOpen, by the next call that may probe
//	HalfOpen  answer                        Closed
//	          silence                       Open, for twice the wait
//	          unsaid                        Open, to be probed again at once
type breaker struct {
	limit      int // failures in a row that open it; 0 = never
	first, max time.Duration
	cheap      bool // there is a Prober: it has the last word before opening

	state    State
	probing  int // the probe under way; 0 = none
	probes   int // how many there were: their numbers
	failures int // in a row
	since    time.Time
	wait     time.Duration
	next     time.Time // of the next probe
	cause    string
}

// admit says whether a call may be sent. It gives a number if the call is the
// probe, else 0. A verb that must not be used to find out is refused instead,
// unless there is a cheap probe to run before it.
func (b *breaker) admit(now time.Time, verb Verb) (probe int, err error) {
	if err := b.refuse(now, verb); err != nil || b.state == Closed {
		return 0, err
	}
	b.probes++
	b.state, b.probing = HalfOpen, b.probes
	return b.probing, nil
}

// refuse returns the error of a call that may not be sent now.
func (b *breaker) refuse(now time.Time, verb Verb) error {
	switch {
	case b.state == Closed:
		return nil
	case b.probing != 0:
		return &openError{cause: b.cause, probing: true}
	case now.Before(b.next), !b.cheap && !asks(verb):
		return &openError{cause: b.cause}
	}
	return nil
}

// asks reports whether a verb may be used to find out: to repeat it does no
// harm, and it asks one source only.
func asks(v Verb) bool { return v == List || v == Control || v == Probe || v == Account }

// note takes over what a call told, which admit gave a number. A probe from
// before a reset is a call like others.
func (b *breaker) note(now time.Time, h hearing, number int, err error) {
	probe := number != 0 && number == b.probing
	if probe {
		b.probing = 0
	}
	switch {
	case h == answer:
		b.reset()
	case h == silence:
		b.silent(now, probe, err)
	case probe:
		b.state, b.next = Open, now
	}
}

func (b *breaker) silent(now time.Time, probe bool, err error) {
	if b.failures == 0 {
		b.since = now
	}
	b.failures++
	b.cause = err.Error()
	switch {
	case probe:
		b.wait = min(max(2*b.wait, b.first), b.max)
		b.state, b.next = Open, now.Add(b.wait)
	case b.state != Closed || b.limit == 0 || b.failures < b.limit:
	case b.cheap:
		b.state, b.next = HalfOpen, now
	default:
		b.wait = b.first
		b.state, b.next = Open, now.Add(b.wait)
	}
}

// reset closes it and forgets the past.
func (b *breaker) reset() {
	b.state, b.probing, b.failures, b.wait, b.cause = Closed, 0, 0, 0, ""
	b.since, b.next = time.Time{}, time.Time{}
}

// openError is why a call was not sent. Its text does not change while the
// breaker stays open.
type openError struct {
	cause   string
	probing bool // it will be known in seconds
	asked   bool // a probe was sent
}

func (o *openError) Error() string {
	return fmt.Sprintf("no command is sent until the batch system answers a probe: %s", o.cause)
}

// Unwrap makes it an error of kind Busy.
func (o *openError) Unwrap() error { return jjm.Errorf(jjm.Busy, "%s", o.cause) }
