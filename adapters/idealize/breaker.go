package idealize

import (
	"fmt"
	"time"

	"jjm/internal/jjm"
)

// State is the state of a circuit breaker.
type State uint8

// These are the states. A Closed breaker sends all commands, an Open breaker sends none. A HalfOpen breaker sends one
// command, the probe, to check whether the batch system answers again.
const (
	Closed State = iota
	Open
	HalfOpen
)

func (s State) String() string { return [...]string{"closed", "open", "half-open"}[s] }

// breaker is a circuit breaker as a plain state machine: the caller holds the lock and passes the time. The table lists
// state, event and next state:
//
//	Closed    limit consecutive silent calls      Open, or HalfOpen immediately if a probe is cheap
//	          the same, of overlapping calls      HalfOpen immediately: the freeze may be over
//	Open      wait is over                        HalfOpen, by the next call that may probe
//	HalfOpen  responded                           Closed
//	          no response                         Open, for twice the wait
//	          health not known                    Open, with an immediate probe
type breaker struct {
	limit      int // consecutive failures that open the breaker; 0 means never
	first, max time.Duration
	cheap      bool // there is a Prober: the breaker opens only if the Prober also fails

	state    State
	probing  int       // number of the running probe; 0 for none
	probes   int       // number of the latest probe
	failures int       // consecutive failures; overlapping calls count as one
	failed   time.Time // end of the latest counted failure
	silences int       // consecutive failures; overlapping calls count separately
	since    time.Time
	wait     time.Duration
	next     time.Time // time of the next probe
	cause    string    // text of the latest failure
}

// admit decides whether a call may be sent. It returns a number above 0 if the call is the probe, and an error if the
// call must not be sent. While the breaker is not closed, only a call that can serve as a probe, or a call with a
// Prober before it, may be sent.
func (b *breaker) admit(now time.Time, verb Verb) (probe int, err error) {
	if err := b.refuse(now, verb); err != nil || b.state == Closed {
		return 0, err
	}
	b.probes++
	b.state, b.probing = HalfOpen, b.probes
	return b.probing, nil
}

// refuse returns the error for a call that may not be sent now.
func (b *breaker) refuse(now time.Time, verb Verb) error {
	switch {
	case b.state == Closed:
		return nil
	case b.probing != 0:
		return &openError{cause: b.cause, probing: true}
	case now.Before(b.next), !b.cheap && !canProbe(verb):
		return &openError{cause: b.cause}
	}
	return nil
}

// canProbe reports whether a call of a verb can serve as the probe. Such a call can be repeated without harm and
// queries only one source.
func canProbe(v Verb) bool { return v == List || v == Control || v == Probe || v == Account }

// note updates the breaker with the health that a call showed. The call began at began and ended now; number is the
// number that admit returned for the call. A probe from before a reset counts as an ordinary call.
func (b *breaker) note(began, now time.Time, h health, number int, err error) {
	probe := number != 0 && number == b.probing
	if probe {
		b.probing = 0
	}
	switch {
	case h == responded:
		b.reset()
	case h == noResponse:
		b.silent(began, now, probe, err)
	case probe:
		b.state, b.next = Open, now
	}
}

// silent counts a call without an answer. Calls that hang in the same freeze overlap. Together they count as one
// failure, which does not open the breaker but makes the next call a probe.
func (b *breaker) silent(began, now time.Time, probe bool, err error) {
	if b.silences == 0 {
		b.since = now
	}
	if b.silences == 0 || !began.Before(b.failed) {
		b.failures, b.failed = b.failures+1, now
	}
	b.silences++
	b.cause = err.Error()
	switch {
	case probe:
		b.wait = min(max(2*b.wait, b.first), b.max)
		b.state, b.next = Open, now.Add(b.wait)
	case b.state != Closed || b.limit == 0 || b.silences < b.limit:
	case b.cheap, b.failures < b.limit:
		b.state, b.next = HalfOpen, now
	default:
		b.wait = b.first
		b.state, b.next = Open, now.Add(b.wait)
	}
}

// reset closes the breaker and forgets all failures.
func (b *breaker) reset() {
	b.state, b.probing, b.failures, b.silences, b.wait, b.cause = Closed, 0, 0, 0, 0, ""
	b.since, b.failed, b.next = time.Time{}, time.Time{}, time.Time{}
}

// openError is the reason why a call was not sent. Its text does not change while the breaker is open, which avoids
// repeated changes in logs and records.
type openError struct {
	cause   string
	probing bool // a probe is running, whose answer is expected soon
	asked   bool // the probe was sent for this call
}

func (o *openError) Error() string {
	return fmt.Sprintf("no command is sent until the batch system answers a probe: %s", o.cause)
}

// Unwrap returns an error of kind Busy.
func (o *openError) Unwrap() error { return jjm.Errorf(jjm.Busy, "%s", o.cause) }
