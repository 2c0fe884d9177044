package plan

import (
	"slices"

	"jjm"
)

// The bounds of the places of a grid job: so that nobody makes each look at what
// is ready slow by files in ever new places, and so that people can read where
// files are.
const (
	MaxPlaces   = 64
	maxStorages = 16
)

// PlaceOf numbers a place among those that a grid job has so far, from 1, and gives
// them with it; 0 is for local jobs that may go to all clusters of the grid job.
// Places with the same clusters and the same request are one, which remembers the storages of all of
// them, the first maxStorages at least. Once there are [MaxPlaces], a further one is
// narrowed to the first of its clusters. The list that it is given stays as it is.
func PlaceOf(have []jjm.Place, clusters []string, p *jjm.Place) ([]jjm.Place, int32) {
	if p == nil {
		return have, 0
	}
	among := slices.Clone(clusters)
	if p.Known && len(p.Clusters) > 0 {
		among = slices.DeleteFunc(among, func(name string) bool { return !slices.Contains(p.Clusters, name) })
	}
	if len(among) == len(clusters) && p.Request == nil {
		return have, 0
	}
	n := indexOf(have, among, p.Request)
	if n < 0 && len(have) >= MaxPlaces && len(among) > 1 {
		among = among[:1]
		n = indexOf(have, among, p.Request)
	}
	if n < 0 {
		place := jjm.Place{Storages: p.Storages, Clusters: among, Known: true, Request: p.Request}
		return append(slices.Clip(have), place), int32(len(have) + 1)
	}
	if more := lacking(have[n].Storages, p.Storages); len(more) > 0 {
		have = slices.Clone(have)
		have[n].Storages = slices.Sorted(slices.Values(slices.Concat(have[n].Storages, more)))
	}
	return have, int32(n + 1)
}

func indexOf(have []jjm.Place, clusters []string, r *jjm.Request) int {
	return slices.IndexFunc(have, func(p jjm.Place) bool {
		return slices.Equal(p.Clusters, clusters) && (p.Request == r || p.Request != nil && r != nil && *p.Request == *r)
	})
}

// lacking returns those of the storages that are to be remembered as well.
func lacking(have, storages []string) []string {
	if len(have) >= maxStorages {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(storages), func(s string) bool { return slices.Contains(have, s) })
}

// Among returns of the clusters of a grid job those that its local jobs of a place
// may go to, best first; none where the place is not known.
func Among(clusters []string, places []jjm.Place, place int32) []string {
	if place == 0 {
		return clusters
	}
	if int(place) > len(places) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(clusters), func(name string) bool {
		return !slices.Contains(places[place-1].Clusters, name)
	})
}
