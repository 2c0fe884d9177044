// Package state holds the rows of live grid jobs, local jobs and open bulks in memory, and counts of these rows. Only a
// Change changes rows: it commits a transaction and then changes memory, so that memory never shows a row that is not
// stored. The package makes no decisions; rooms decide inside a change. See locks.go for the locks.
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
	mem   sync.RWMutex // the memory lock: guards rows

	rows

	Names []string // names of clusters, in the order of the configuration
	// Positions are the positions of clusters in Names, by name.
	Positions map[string]int

	short    shortages
	Accounts fair.Accounts
	WorkUses WorkUses
	PubKick  chan struct{}
	// WakeGrid wakes the loop of a grid job, WakeSubmit the submit loops. Neither blocks.
	WakeGrid   func(jjm.GridID)
	WakeSubmit func()
	// Participants store their shares of a change, in this order. Shown are called under both locks when memory shows
	// the change, Committed after Shown, under the lock of changes only. All three are set before the first change.
	Participants []Participant
	Shown        []func(*Change, *Memo)
	Committed    []func(*Change)
}

// rows are guarded by both locks: written under both, read under either.
type rows struct {
	grids    map[jjm.GridID]*Grid
	bulks    map[jjm.Tag]*Bulk
	orders   map[target][]jjm.Order // at most one of each verb
	bans     []jjm.Ban
	uses     map[jjm.Tag]int           // number of live grid jobs' local jobs, by their last bulk
	live     map[int]*plan.PerUser     // numbers of live grid jobs and local jobs, by account
	bulksOf  map[int]map[jjm.Tag]*Bulk // by account
	forming  map[jjm.Tag]*jjm.Bulk     // bulks being formed: not stored yet
	unused   map[int][]UnusedBulk      // bulks whose folders are to be removed, by account
	unswept  map[int][]jjm.Owner       // owners whose areas were not swept since the start, by account
	requests map[jjm.GridID]store.Reopening
	fills    map[store.DatasetID]int // how often files are being added in several transactions; see Filling
	// removals are the removals that are not carried out yet
	removals map[jjm.GridID]store.Removal
}

// shortages are the reasons why there can be no new work; see Low and Lost.
type shortages struct{ low, lost atomic.Pointer[string] }

// New returns a State without rows. clusters are the names of the site's clusters; Load
// fills the rows.
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
