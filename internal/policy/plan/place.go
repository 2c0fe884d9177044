package plan

import (
	"slices"

	"jjm/internal/jjm"
)

// MaxPlaces bounds the places of a grid job, because with too many places each search for ready
// local jobs would be slow. maxStorages bounds the storages of a place, because people could not
// read longer lists.
const (
	MaxPlaces   = 64
	maxStorages = 16
)

// PlaceOf returns the number, from 1, of the place p in the list of a grid job's places, and the list after adding p. 0
// means that local jobs may go to all clusters of the grid job. Places with the same clusters and the same request
// become one place with all their storages, up to about maxStorages. If there are already [MaxPlaces] places, a further
// place is narrowed to the first of its clusters. The given list is not changed.
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
		return p.Asked == nil && slices.Equal(p.Clusters, clusters) && sameRequest(p.Request, r)
	})
}

func sameRequest(a, b *jjm.Request) bool { return a == b || a != nil && b != nil && *a == *b }

// MaxAskedPlaces is the greatest number of places of a grid job that "jjm set" and resubmissions with other resources
// make.
const MaxAskedPlaces = 64

// AskedPlace returns a new place for local jobs of the place from, for which people request other resources (asked).
// The new place has the storages, clusters and request with which the local jobs were made, and the priority of the
// place from. Resources in asked replace resources that were requested earlier. The new place is not yet in the list of
// the grid job's places; see [AddAsked].
func AskedPlace(have []jjm.Place, clusters []string, from int32, asked jjm.Resources) jjm.Place {
	priority := 0
	if was := placeAt(have, from); was != nil && was.Asked != nil {
		asked, from, priority = was.Asked.With(asked), was.From, was.Priority
	}
	p := jjm.Place{Clusters: clusters, Known: true}
	if made := placeAt(have, from); made != nil {
		p = *made
	}
	p.Asked, p.From, p.Priority = &asked, from, priority
	return p
}

// placeAt returns the place with a number, nil for 0 and unknown numbers.
func placeAt(have []jjm.Place, number int32) *jjm.Place {
	if number < 1 || int(number) > len(have) {
		return nil
	}
	return &have[number-1]
}

// AddAsked returns the number of a place for which people request resources, and the list of places after adding the
// place. A place that differs from an existing place only in Default is not added again. The given list is not changed.
// The error is of kind Conflict if the grid job already has MaxAskedPlaces such places.
func AddAsked(have []jjm.Place, p jjm.Place) ([]jjm.Place, int32, error) {
	made := 0
	for i := range have {
		h := &have[i]
		if h.Asked == nil {
			continue
		}
		made++
		if h.From == p.From && h.Priority == p.Priority && *h.Asked == *p.Asked && slices.Equal(h.Clusters, p.Clusters) &&
			slices.Equal(h.Storages, p.Storages) && sameRequest(h.Request, p.Request) {
			return have, int32(i + 1), nil
		}
	}
	if made >= MaxAskedPlaces {
		return nil, 0, jjm.Errorf(jjm.Conflict, "its local jobs were given %d different resources before, "+
			"which is the most: request resources of an earlier time, or copy the grid job", made)
	}
	return append(slices.Clip(have), p), int32(len(have) + 1), nil
}

// Prioritized returns the number of a place that differs from the place from only in its priority, and the list of
// places including it. It returns from if the grid job already has MaxAskedPlaces such places. The given list is not
// changed.
func Prioritized(have []jjm.Place, clusters []string, from int32, priority int) ([]jjm.Place, int32) {
	p := AskedPlace(have, clusters, from, jjm.Resources{})
	p.Priority, p.Default, p.Clusters = priority, false, Among(clusters, have, from)
	places, number, err := AddAsked(have, p)
	if err != nil {
		return have, from
	}
	return places, number
}

// DefaultFor returns the number of the place to which new local jobs of the place made are assigned, and the list of
// places including that place. It is the default of made. If made has no default, it is a new place with the resources
// and the priority of the default of place 0. If place 0 has no default either, it is made itself. The given list is
// not changed.
//
// If the default of place 0 allows none of the clusters of made, the local jobs may still go to all clusters of made,
// because no other cluster can read their files. These clusters then refuse the local jobs with a reason.
func DefaultFor(have []jjm.Place, clusters []string, made int32) ([]jjm.Place, int32) {
	if at := defaultAt(have, made); at != 0 {
		return have, at
	}
	all := placeAt(have, defaultAt(have, 0))
	if all == nil {
		return have, made
	}
	p := AskedPlace(have, clusters, made, *all.Asked)
	p.Priority, p.Default = all.Priority, true
	among := slices.DeleteFunc(slices.Clone(p.Clusters), func(name string) bool {
		return !slices.Contains(all.Clusters, name)
	})
	if len(among) > 0 {
		p.Clusters = among
	} else {
		p.Asked.Cluster = ""
	}
	return append(slices.Clip(have), p), int32(len(have) + 1)
}

// defaultAt returns the number of the default place for new local jobs of the place made, 0 if there is none.
func defaultAt(have []jjm.Place, made int32) int32 {
	return int32(slices.IndexFunc(have, func(p jjm.Place) bool { return p.Default && p.From == made }) + 1)
}

// Defaults returns the numbers of the places to which new local jobs are assigned, so that people can request other
// resources for them: for place 0, and for each place that was made for files or parts, its default place, or the place
// itself if it has no default.
func Defaults(have []jjm.Place) []int32 {
	var out []int32
	for n := range int32(len(have) + 1) {
		if p := placeAt(have, n); p == nil || p.Asked == nil {
			out = append(out, max(n, defaultAt(have, n)))
		}
	}
	return out
}

// SetDefault returns the places after making the place number the default for new local jobs of its place From. The
// given list is not changed.
func SetDefault(have []jjm.Place, number int32) []jjm.Place {
	have = slices.Clone(have)
	if old := defaultAt(have, have[number-1].From); old != 0 {
		have[old-1].Default = false
	}
	have[number-1].Default = true
	return have
}

// lacking returns the storages that are missing in have. It returns none if have already contains maxStorages storages.
func lacking(have, storages []string) []string {
	if len(have) >= maxStorages {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(storages), func(s string) bool { return slices.Contains(have, s) })
}

// Among returns the clusters of a grid job to which local jobs of a place may go, best first; none for an unknown
// place.
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
