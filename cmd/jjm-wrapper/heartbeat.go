package main

import (
	"os"
	"sync"
	"syscall"
	"time"

	"jjm"
	"jjm/sandbox"
)

// beat touches the heartbeat file, now and at every interval, until the
// returned function is called. The timer calls from a goroutine of its own, so
// that a file system that hangs does not keep signals from the application.
func (a *attempt) beat() (stop func()) {
	every := a.job.Heartbeat.D()
	if every <= 0 {
		every = 30 * time.Second
	}
	a.note(a.touch())
	var mu sync.Mutex
	var trouble error // of the last touch: a hiccup that passed does not count
	var timer *time.Timer
	stopped := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(every, func() {
		err := a.touch()
		mu.Lock()
		defer mu.Unlock()
		trouble = err
		if !stopped {
			timer.Reset(every)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
		a.note(trouble)
	}
}

// touch writes the heartbeat file: the server of a network file system sets the
// time of a file when it is written and closed, and by its own clock.
func (a *attempt) touch() error {
	f, err := a.root.OpenFile(sandbox.HeartbeatName,
		os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(jjm.At(now()).String() + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
