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

// Base contains what all packages of the engine share. It may be used by many goroutines at the same time.
type Base struct {
	Deps  Deps
	Log   *slog.Logger
	Now   func() time.Time
	Store *store.Store

	cfg      atomic.Pointer[Config]
	rules    atomic.Pointer[rule.Set]                // the rules for attempts that jjm ships, with the site's
	stop     atomic.Pointer[context.CancelCauseFunc] // stops the engine's loops; set by Stopping
	troubles troubles
}

// New returns a Base. The caller has checked the settings cfg with Config.Check.
func New(cfg Config, deps Deps) *Base {
	b := &Base{Deps: deps, Log: deps.Log, Now: deps.Now, Store: deps.Store}
	b.Reconfigure(cfg)
	return b
}

// Stopping sets the function that Base.Crash calls to stop the engine's loops when a failpoint fails.
func (b *Base) Stopping(stop context.CancelCauseFunc) { b.stop.Store(&stop) }
