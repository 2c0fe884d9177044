package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signalBox passes signals to the application's process group. Earlier signals are delivered once the group exists.
// When the grace period after a TERM is over, signalBox sends KILL.
type signalBox struct {
	// inTime ends with the grace period. Work that is not done by then is left undone.
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
	// XFSZ is caught and not passed on: a limit on file sizes must not end the wrapper, and the kernel sends the
	// application its own signal.
	signal.Notify(s.caught, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU, syscall.SIGXFSZ)
	go s.pass()
	return s
}

// terminate has the effect of a TERM to the wrapper. If signals are waiting already, it adds none.
func (s *signalBox) terminate() {
	select {
	case s.caught <- syscall.SIGTERM:
	default:
	}
}

// stop stops passing signals. They stay caught, so that no signal interrupts the last steps of the wrapper.
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

// forwardTo sets the group and sends it the signals that came before.
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

// killGroup kills the rest of the group. Its leader has ended and was not reaped yet; afterwards another process may
// get its number.
func (s *signalBox) killGroup() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	_ = syscall.Kill(-s.group, syscall.SIGKILL)
}
