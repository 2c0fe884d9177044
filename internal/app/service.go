package app

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"jjm/adapters"
	"jjm/adapters/local"
	"jjm/internal/api/server"
)

// notifyManager notifies systemd when the daemon is ready, while it is alive, and when it stops (sd_notify(3)). Without
// systemd it does nothing.
func (a *App) notifyManager(ctx context.Context, wg *sync.WaitGroup) (stopping func()) {
	tell := func(state string) {
		if _, err := daemon.SdNotify(false, state); err != nil {
			a.log.Warn("the service manager cannot be notified", "state", state, "error", err)
		}
	}
	tell(daemon.SdNotifyReady)
	if every, err := daemon.SdWatchdogEnabled(false); err == nil && every > 0 {
		wg.Go(func() { a.watchdog(ctx, every/2, tell) })
	}
	return func() { tell(daemon.SdNotifyStopping) }
}

// watchdog notifies systemd at every interval as long as the engine answers.
func (a *App) watchdog(ctx context.Context, every time.Duration, tell func(string)) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			// This call waits for the engine's lock. If the engine is stuck, systemd is not notified.
			a.engine.Clusters(ctx, server.Caller{Admin: true})
			tell(daemon.SdNotifyWatchdog)
		}
	}
}

// failpoint returns the hook by which tests kill the process at a named point. JJM_FAILPOINT=submit.acted kills the
// process when it reaches the point the first time, submit.acted:3 the third time.
func (a *App) failpoint() func(string) error {
	point, nth := a.failpointWanted()
	if point == "" {
		return nil
	}
	var seen atomic.Int64
	return func(at string) error {
		if at == point && seen.Add(1) == nth {
			a.log.Warn("killed at failpoint", "point", at)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing may be done until the signal arrives
		}
		return nil
	}
}

// failpointWanted returns the failpoint that JJM_FAILPOINT names, and the number of the visit at which to kill the
// process. The name is "" if there is none.
func (a *App) failpointWanted() (string, int64) {
	point, count, numbered := strings.Cut(a.opts.Getenv("JJM_FAILPOINT"), ":")
	if !numbered {
		return point, 1
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 {
		a.log.Error("JJM_FAILPOINT: want NAME or NAME:COUNT", "error", errors.Join(err))
		return "", 0
	}
	return point, n
}

// instrument lets tests kill the process at failpoints in the embedded batch system.
func (a *App) instrument(ad adapters.Adapter) {
	crash := a.failpoint()
	if l, ok := ad.(*local.Adapter); ok && crash != nil {
		l.Crash = func(point string) { _ = crash(point) }
	}
}
