// Package state is what is true now: the rows of live grid jobs, local jobs and bulks in
// memory, and the changes that make it so.
package state

import (
	"sync"
	"sync/atomic"

	"jjm"
	"jjm/engine/base"
	"jjm/engine/fair"
	"jjm/plan"
)

// State is what is true now: the rows of live grid jobs, local jobs and bulks, and what
// is derived from them. It never shows what is not stored: a change is committed first
// and then applied.
type State struct {
	B *base.Base

	Write sync.Mutex   // orders changes; held from decision to memory
	Mem   sync.RWMutex // guards what follows

	Grids map[jjm.GridID]*Grid
	Bulks map[jjm.Tag]*Bulk
	Names []string // of clusters, in order
	// Positions are those of clusters in Names.
	Positions map[string]int
	Orders    []jjm.Order
	Bans      []jjm.Ban
	Uses      map[jjm.Tag]int
	live      map[int]*plan.PerUser     // by account
	BulksOf   map[int]map[jjm.Tag]*Bulk // by account
	Forming   map[jjm.Tag]*jjm.Bulk     // taken from what is ready and not stored yet
	Unused    map[int][]UnusedBulk      // whose folders are to be removed, by account
	Unswept   map[int][]jjm.Owner       // whose areas were not swept since the start, by account

	Scarce   atomic.Pointer[string] // see Low
	Accounts fair.Accounts
	WorkUses WorkUses
	PubKick  chan struct{}
	// WakeGrid has a grid job looked at, WakeSubmit what is to be submitted. Neither waits.
	WakeGrid   func(jjm.GridID)
	WakeSubmit func()
	// Participants store a change, in this order; Shown let its news be seen, under both
	// locks, and Committed tell others of it, under the lock of changes alone.
	Participants     []Participant
	Shown, Committed []func(*Change)
}

// New gives a state without rows, of a site with these clusters; Load fills it.
func New(b *base.Base, clusters []string) *State {
	s := &State{
		B: b, Names: clusters,
		Positions: map[string]int{},
		Grids:     map[jjm.GridID]*Grid{},
		Bulks:     map[jjm.Tag]*Bulk{},
		Uses:      map[jjm.Tag]int{},
		live:      map[int]*plan.PerUser{},
		BulksOf:   map[int]map[jjm.Tag]*Bulk{},
		Forming:   map[jjm.Tag]*jjm.Bulk{},
		Unused:    map[int][]UnusedBulk{},
		Unswept:   map[int][]jjm.Owner{},
		PubKick:   make(chan struct{}, 1),
	}
	s.WorkUses.Of = map[int]*WorkUse{}
	for at, name := range clusters {
		s.Positions[name] = at
	}
	return s
}
