package state

import (
	"cmp"
	"slices"

	"jjm/internal/jjm"
)

// Exclusions returns the excluded hosts, including expired exclusions, sorted by cluster and host. The caller may keep
// the slice after the lock is released, because it is never changed in place.
func (m Memory) Exclusions() []jjm.Exclusion { return m.s.excluded }

// ExcludedAt returns the names of the hosts of a cluster that are excluded now.
func (m Memory) ExcludedAt(cluster string, now jjm.Time) (hosts []string) {
	for _, e := range m.ExclusionsAt(cluster, now) {
		hosts = append(hosts, e.Host)
	}
	return hosts
}

// ExclusionsAt returns the exclusions of hosts of a cluster that are in force now, sorted by host.
func (m Memory) ExclusionsAt(cluster string, now jjm.Time) (all []jjm.Exclusion) {
	for _, e := range m.s.excluded {
		if e.Cluster == cluster && e.InForce(now) {
			all = append(all, e)
		}
	}
	return all
}

// SetExclusions removes the exclusions end and adds the exclusions begin. Each added exclusion replaces the exclusion
// of the same host. It replaces the slice of exclusions by a new slice, because readers may still use the old one.
func (a *Memo) SetExclusions(end, begin []jjm.Exclusion) {
	all := slices.DeleteFunc(slices.Clone(a.s.excluded), func(old jjm.Exclusion) bool {
		return slices.ContainsFunc(end, old.Same) || slices.ContainsFunc(begin, old.Same)
	})
	a.s.excluded = append(all, begin...)
	slices.SortFunc(a.s.excluded, func(x, y jjm.Exclusion) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Host, y.Host))
	})
}
