package main

import (
	"os"
	"sync"
	"syscall"
	"time"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// beat touches the heartbeat file now and at every interval, until stop is called. The daemon sees from this file that
// the attempt runs. Each time, beat also checks whether the daemon has ordered the end of the attempt, because a batch
// system that has forgotten the job will not end it. The timer runs in its own goroutine, so that a file system that
// hangs does not delay signals to the application.
func (a *attempt) beat(signals *signalBox) (stop func()) {
	every := a.job.Heartbeat.D()
	if every <= 0 {
		every = 30 * time.Second
	}
	a.note(a.touch())
	a.endIfOrdered(signals)
	var mu sync.Mutex
	var trouble error // the error of the last touch; an error that has passed is not reported
	var timer *time.Timer
	stopped := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(every, func() {
		err := a.touch()
		a.endIfOrdered(signals)
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

// endIfOrdered ends the application, as a SIGTERM does, if the daemon has ordered the end of the attempt.
func (a *attempt) endIfOrdered(signals *signalBox) {
	if a.area.EndOrdered(a.at.tag, a.at.pos) {
		signals.terminate()
	}
}

// touch writes the time into the heartbeat file. Setting only the file's time would not be enough: the server of a
// network file system sets the time by its own clock when a file is written and closed. If a pipe or a device is in
// place of the file, touch returns an error and does not wait.
func (a *attempt) touch() error {
	f, err := a.root.OpenFile(sandbox.HeartbeatName,
		os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info) // a write to a full pipe would wait
	}
	if err == nil {
		_, err = f.WriteString(jjm.At(now()).String() + "\n")
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
