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
// that a file system that hangs does not keep signals from the application. Each
// time it looks whether the daemon ordered the end, which signals are then told:
// a batch system that has forgotten the job will not end it.
func (a *attempt) beat(signals *signalBox) (stop func()) {
	every := a.job.Heartbeat.D()
	if every <= 0 {
		every = 30 * time.Second
	}
	a.note(a.touch())
	a.obey(signals)
	var mu sync.Mutex
	var trouble error // of the last touch: a hiccup that passed does not count
	var timer *time.Timer
	stopped := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(every, func() {
		err := a.touch()
		a.obey(signals)
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

// obey ends the application if the daemon ordered it.
func (a *attempt) obey(signals *signalBox) {
	if a.area.EndOrdered(a.at.tag, a.at.pos) {
		signals.order()
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
