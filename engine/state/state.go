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

	write sync.Mutex   // orders changes; held from decision to memory
	mem   sync.RWMutex // guards rows

	rows

	Names []string // of clusters, in order
	// Positions are those of clusters in Names.
	Positions map[string]int

	low      atomic.Pointer[string] // see Low
	Accounts fair.Accounts
	WorkUses WorkUses
	PubKick  chan struct{}
	// WakeGrid has a grid job looked at, WakeSubmit what is to be submitted. Neither waits.
	WakeGrid   func(jjm.GridID)
	WakeSubmit func()
	// Participants store a change, in this order; Shown let its news be seen, under both
	// locks, and Committed tell others of it, under the lock of changes alone.
	Participants []Participant
	Shown        []func(*Change, *Memo)
	Committed    []func(*Change)
}

// rows are what the locks guard.
type rows struct {
	grids   map[jjm.GridID]*Grid
	bulks   map[jjm.Tag]*Bulk
	orders  map[target][]jjm.Order // at most one of each verb
	bans    []jjm.Ban
	uses    map[jjm.Tag]int           // local jobs of live grid jobs by their last bulk
	live    map[int]*plan.PerUser     // by account
	bulksOf map[int]map[jjm.Tag]*Bulk // by account
	forming map[jjm.Tag]*jjm.Bulk     // taken from what is ready and not stored yet
	unused  map[int][]UnusedBulk      // whose folders are to be removed, by account
	unswept map[int][]jjm.Owner       // whose areas were not swept since the start, by account
}

// New returns a state without rows, of a site with these clusters; Load fills it.
func New(b *base.Base, clusters []string) *State {
	s := &State{
		B: b, Names: clusters,
		Positions: map[string]int{},
		rows: rows{
			grids:   map[jjm.GridID]*Grid{},
			orders:  map[target][]jjm.Order{},
			bulks:   map[jjm.Tag]*Bulk{},
			uses:    map[jjm.Tag]int{},
			live:    map[int]*plan.PerUser{},
			bulksOf: map[int]map[jjm.Tag]*Bulk{},
			forming: map[jjm.Tag]*jjm.Bulk{},
			unused:  map[int][]UnusedBulk{},
			unswept: map[int][]jjm.Owner{},
		},
		PubKick: make(chan struct{}, 1),
	}
	s.WorkUses.Of = map[int]*WorkUse{}
	for at, name := range clusters {
		s.Positions[name] = at
	}
	return s
}
