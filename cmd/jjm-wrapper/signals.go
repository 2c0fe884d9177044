package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signalBox passes signals to the application's process group. Signals that arrive before the group exists are
// delivered when the group exists. When the grace period after a SIGTERM is over, signalBox sends SIGKILL.
type signalBox struct {
	// inTime ends when the grace period is over. Work that is not finished by then is not done.
	inTime context.Context

	grace  time.Duration
	cancel context.CancelFunc
	caught chan os.Signal
	done   chan struct{}

	mu      sync.Mutex
	group   int  // 0 before the application starts
	gone    bool // the group has ended, or is about to be killed
	term    bool // a TERM was received
	pending []syscall.Signal
}

// catchSignals starts to catch signals.
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

// terminate has the same effect as a SIGTERM to the wrapper. It does nothing if signals are already waiting.
func (s *signalBox) terminate() {
	select {
	case s.caught <- syscall.SIGTERM:
	default:
	}
}

// stop ends the passing of signals. Signals are still caught, so that no signal interrupts the last steps of the
// wrapper.
func (s *signalBox) stop() {
	close(s.done)
	s.cancel()
}

// pass handles signals until stop.
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

// send sends a signal to the group, or keeps it until the group exists.
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

// forwardTo sets the group, and sends the group the signals that arrived before.
func (s *signalBox) forwardTo(group int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.group, s.gone = group, false
	for _, sig := range s.pending {
		_ = syscall.Kill(-group, sig)
	}
	s.pending = nil
}

// ending reports whether a TERM was received.
func (s *signalBox) ending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term
}

// killGroup kills the remaining processes of the group. The group's leader must have ended but not been reaped, because
// after the reap another process may get its number.
func (s *signalBox) killGroup() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	_ = syscall.Kill(-s.group, syscall.SIGKILL)
}
