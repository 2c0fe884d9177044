package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signalBox passes signals on to the application's process group, whenever that
// comes to be, and lets a TERM be followed by KILL after the grace period.
type signalBox struct {
	// hurry ends with the grace period: what is not done by then is left
	// undone.
	hurry context.Context

	grace  time.Duration
	cancel context.CancelFunc
	caught chan os.Signal
	done   chan struct{}

	mu      sync.Mutex
	group   int  // the process group; 0 before there is one
	gone    bool // it has ended, or is about to be killed
	pending []syscall.Signal
}

// catchSignals begins to catch signals.
func catchSignals(grace time.Duration) *signalBox {
	s := &signalBox{grace: grace, caught: make(chan os.Signal, 16), done: make(chan struct{})}
	s.hurry, s.cancel = context.WithCancel(context.Background())
	// XFSZ is caught and not passed on: a limit on file sizes must not end the
	// wrapper, and the application gets its own.
	signal.Notify(s.caught, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU, syscall.SIGXFSZ)
	go s.pass()
	return s
}

// order acts as a TERM to the wrapper would; one that is waiting is enough.
func (s *signalBox) order() {
	select {
	case s.caught <- syscall.SIGTERM:
	default:
	}
}

// stop ends the passing on; signals stay caught, so that none cuts the last
// steps short.
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

// send signals the group, now or when it starts.
func (s *signalBox) send(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
	case s.group == 0:
		s.pending = append(s.pending, sig)
	default:
		_ = syscall.Kill(-s.group, sig) // it can only have ended
	}
}

// forwardTo names the group, which gets what came before it.
func (s *signalBox) forwardTo(group int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.group = group
	for _, sig := range s.pending {
		_ = syscall.Kill(-group, sig)
	}
	s.pending = nil
}

// killGroup kills what is left of the group, whose leader has ended but was not
// collected yet; from then on its number is another's to have.
func (s *signalBox) killGroup() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	_ = syscall.Kill(-s.group, syscall.SIGKILL)
}
