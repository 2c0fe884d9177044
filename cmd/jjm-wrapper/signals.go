package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signalBox passes the signals that the wrapper receives to the process group of the application. It keeps signals that
// arrive before the group exists until the group exists. When the grace period after a SIGTERM is over, it sends
// SIGKILL to the group. The wrapper uses the same signalBox for the command of the job type.
type signalBox struct {
	// inTime ends when the grace period is over. The wrapper then skips the rest of its optional work.
	inTime context.Context

	grace  time.Duration
	cancel context.CancelFunc
	caught chan os.Signal
	done   chan struct{}

	mu      sync.Mutex
	group   int  // 0 before the application starts
	gone    bool // the group has ended or is being killed: send no signals to it
	term    bool // a TERM was received
	pending []syscall.Signal
}

// catchSignals starts to catch signals, and returns the signalBox that passes them on. grace is the time from a SIGTERM
// to the SIGKILL.
func catchSignals(grace time.Duration) *signalBox {
	s := &signalBox{grace: grace, caught: make(chan os.Signal, 16), done: make(chan struct{})}
	s.inTime, s.cancel = context.WithCancel(context.Background())
	// SIGXFSZ is caught and not passed on: a limit on file sizes must not end the wrapper, and the kernel sends the
	// application a separate signal.
	signal.Notify(s.caught, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU, syscall.SIGXFSZ)
	go s.pass()
	return s
}

// terminate has the same effect as a SIGTERM that the wrapper receives. It does nothing if the channel of caught
// signals is full.
func (s *signalBox) terminate() {
	select {
	case s.caught <- syscall.SIGTERM:
	default:
	}
}

// stop ends the passing of signals. The wrapper still catches and ignores signals, so that no signal interrupts its
// last steps.
func (s *signalBox) stop() {
	close(s.done)
	s.cancel()
}

// pass passes on caught signals, and sends SIGKILL after the grace period, until stop is called.
func (s *signalBox) pass() {
	var grace <-chan time.Time
	for {
		select {
		case <-s.done:
			return
		case <-grace:
			s.send(syscall.SIGKILL)
			s.cancel()
		case sig := <-s.caught:
			n, ok := sig.(syscall.Signal)
			if !ok || n == syscall.SIGXFSZ {
				continue
			}
			s.send(n)
			if n == syscall.SIGTERM && grace == nil {
				grace = time.After(s.grace)
			}
		}
	}
}

// send sends a signal to the process group, or keeps the signal until the group exists. It does nothing if the group is
// gone.
func (s *signalBox) send(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term = s.term || sig == syscall.SIGTERM
	switch {
	case s.gone:
	case s.group == 0:
		s.pending = append(s.pending, sig)
	default:
		_ = syscall.Kill(-s.group, sig) // an error can only mean that the group has ended
	}
}

// forwardTo sets the process group that gets signals from now on, and sends it the signals that arrived before.
func (s *signalBox) forwardTo(group int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.group, s.gone = group, false
	for _, sig := range s.pending {
		_ = syscall.Kill(-group, sig)
	}
	s.pending = nil
}

// ending reports whether the attempt is to end: the wrapper received a SIGTERM, or terminate was called.
func (s *signalBox) ending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term
}

// killGroup kills the remaining processes of the group. The caller must have waited for the end of the group's leader
// without reaping it, because after the reap a new process may get the number of the group.
func (s *signalBox) killGroup() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	_ = syscall.Kill(-s.group, syscall.SIGKILL)
}
