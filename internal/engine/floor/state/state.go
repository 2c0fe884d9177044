// Package state holds in memory the rows of the store that the daemon works with: live grid jobs, their local jobs, and
// open bulks. It also holds counts of these rows. A grid job is live until it is moved to the history. A bulk is the
// set of local jobs that jjm submits to a batch system with one command; it is open until the attempts of all its
// members have ended.
//
// Rows are changed only by a Change: it commits a transaction of the store, and changes memory after that, so that
// memory never shows a row that is not stored. This package makes no decisions. Other packages of the engine decide, in
// the function that they pass to State.Change. locks.go describes the locks.
package state

import (
	"sync"
	"sync/atomic"

	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
)

// State holds the live rows, and counts and lists that are derived from them.
type State struct {
	B *base.Base

	write sync.Mutex   // the lock of changes: held from the decision until memory shows the change
	mem   sync.RWMutex // the memory lock, taken after write: together with write, it guards rows

	rows

	Names []string // names of clusters, in the order of the configuration
	// Positions are the positions of clusters in Names, by name.
	Positions map[string]int

	short    shortages
	Accounts fair.Accounts
	WorkUses WorkUses
	PubKick  chan struct{}
	// WakeGrid wakes the loop of a grid job. WakeSubmit wakes the submit loops of all clusters. Neither function blocks.
	WakeGrid   func(jjm.GridID)
	WakeSubmit func()
	// Participants store their shares of a change, in this order. Shown are called under both locks as soon as memory
	// contains the change. Committed are called after Shown, under the lock of changes only. All three fields are set
	// before the first change.
	Participants []Participant
	Shown        []func(*Change, *Memo)
	Committed    []func(*Change)
}

// rows are guarded by both locks: written while both are held, read while either is held. The exceptions are forming,
// uses, unused and unswept: Marks also change these fields under the memory lock alone, so they are read only under the
// memory lock.
type rows struct {
	grids map[jjm.GridID]*Grid
	bulks map[jjm.Tag]*Bulk
	// orders are the stored orders, by the grid job, cluster or other target to which they apply. A target has at most one
	// order of each verb, except maintenance windows that begin at different times.
	orders   map[target][]jjm.Order
	bans     []jjm.Ban
	excluded []jjm.Exclusion                // excluded hosts, including expired exclusions, sorted by cluster and host
	uses     map[jjm.Tag]int                // number of local jobs of live grid jobs, by the tag of their last bulk
	live     map[int]*plan.PerUser          // numbers of live grid jobs and local jobs, by account
	bulksOf  map[int]map[jjm.Tag]*Bulk      // the bulks of the field bulks, by account
	forming  map[jjm.Tag]*jjm.Bulk          // bulks being formed: not stored yet
	unused   map[int][]UnusedBulk           // by account: bulks whose folders are to be removed
	unswept  map[int][]jjm.Owner            // by account: owners whose work areas were not swept since the start
	requests map[jjm.GridID]store.Reopening // open requests to reopen an ended grid job
	fills    map[store.DatasetID]int        // number of calls of Filling without their Filled, by dataset
	// removals are the ordered removals of ended grid jobs that are not carried out yet.
	removals map[jjm.GridID]store.Removal
}

// shortages are the reasons why jjm accepts no new work: low is the file system that lacks space, lost is the part of
// the site that is lost. See Low and Lost.
type shortages struct{ low, lost atomic.Pointer[string] }

// New returns a State without rows. clusters are the names of the site's clusters, in the order of the configuration.
// Load reads the rows from the store.
func New(b *base.Base, clusters []string) *State {
	s := &State{
		B: b, Names: clusters,
		Positions: map[string]int{},
		rows: rows{
			grids:    map[jjm.GridID]*Grid{},
			orders:   map[target][]jjm.Order{},
			bulks:    map[jjm.Tag]*Bulk{},
			uses:     map[jjm.Tag]int{},
			live:     map[int]*plan.PerUser{},
			bulksOf:  map[int]map[jjm.Tag]*Bulk{},
			forming:  map[jjm.Tag]*jjm.Bulk{},
			unused:   map[int][]UnusedBulk{},
			unswept:  map[int][]jjm.Owner{},
			requests: map[jjm.GridID]store.Reopening{},
			fills:    map[store.DatasetID]int{},

			removals: map[jjm.GridID]store.Removal{},
		},
		PubKick: make(chan struct{}, 1),
	}
	s.WorkUses.Of = map[int]*WorkUse{}
	for at, name := range clusters {
		s.Positions[name] = at
	}
	return s
}
