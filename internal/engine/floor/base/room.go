// Package base holds the things that every package of the engine uses: the store, the clock, the log, the settings of
// the site, and the failpoints of tests. It makes no decisions.
package base

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"jjm/internal/policy/analyse/rule"
	"jjm/internal/storage/store"
)

// Base holds the shared things for all packages of the engine. It may be used by many goroutines.
type Base struct {
	Deps  Deps
	Log   *slog.Logger
	Now   func() time.Time
	Store *store.Store

	cfg      atomic.Pointer[Config]
	rules    atomic.Pointer[rule.Set]                // of jjm and the site
	stop     atomic.Pointer[context.CancelCauseFunc] // set by Stopping
	troubles troubles
}

// New returns a Base with settings that have been checked.
func New(cfg Config, deps Deps) *Base {
	b := &Base{Deps: deps, Log: deps.Log, Now: deps.Now, Store: deps.Store}
	b.Reconfigure(cfg)
	return b
}

// Stopping sets the function by which a failpoint stops the engine's loops.
func (b *Base) Stopping(stop context.CancelCauseFunc) { b.stop.Store(&stop) }
