// Package base is what every room of the engine works with: the store, the clock, the
// log, the settings of the site, and the failpoints of tests.
package base

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"jjm/store"
)

// Base is that. It is safe for many goroutines.
type Base struct {
	Deps  Deps
	Log   *slog.Logger
	Now   func() time.Time
	Store *store.Store

	cfg      atomic.Pointer[Config]
	stop     atomic.Pointer[context.CancelCauseFunc] // set by Stopping
	troubles troubles
}

// New returns a base with settings.
func New(cfg Config, deps Deps) *Base {
	b := &Base{Deps: deps, Log: deps.Log, Now: deps.Now, Store: deps.Store}
	b.cfg.Store(&cfg)
	return b
}

// Stopping sets what a failpoint stops the engine with.
func (b *Base) Stopping(stop context.CancelCauseFunc) { b.stop.Store(&stop) }
