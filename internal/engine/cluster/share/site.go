// Package share decides which cluster of the site may take which local jobs now. It knows the loads and the limits of
// all clusters, the orders that close them, and which of them were busy.
package share

import (
	"sync"

	"jjm/internal/engine/cluster/outage"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// Site are the clusters of the site.
type Site struct {
	s   *state.State
	all map[string]*Cluster
}

// NewSite returns a Site without clusters.
func NewSite(s *state.State) *Site { return &Site{s: s, all: map[string]*Cluster{}} }

// Cluster is one cluster of a Site.
type Cluster struct {
	*system.System
	Site   *Site // it and the other clusters
	b      *base.Base
	s      *state.State
	health *outage.Health
	*refusals

	// mu is taken after the memory lock, never before.
	mu sync.Mutex
	// busy contains the accounts whose last submission was answered Busy, each with the time until which the answer counts
	// against the cluster (wasBusy). Until then, local jobs that can run on other clusters go there.
	busy map[jjm.Owner]system.Deadline
}

// Add adds a cluster to the site. All clusters are added before the first other call.
func (st *Site) Add(sys *system.System, health *outage.Health) *Cluster {
	c := &Cluster{System: sys, Site: st, b: st.s.B, s: st.s, health: health, refusals: newRefusals(sys, st.s.B),
		busy: map[jjm.Owner]system.Deadline{}}
	st.all[sys.Name] = c
	return c
}
