package split

import (
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// everywhere is the key of the only place if the site lists are trusted.
const everywhere = "*"

// failNoSite is WMCore's exit code for a part that may not run at any site.
const failNoSite = 71101

// place is a set of storages, and the files whose locations are exactly these storages.
type place struct {
	key   string
	where *jjm.Place
	// files are positions in Work.Files. They are ascending unless the splitter sorts the files.
	files []int32
	// group is the place's current job group, 0 until the place has a part. inGroup is the number of the place's parts in
	// this group.
	group   int64
	inGroup int64
}

// places groups the files for which use returns true by the set of their locations, in the order in which the sets
// first occur. With trustSitelists all files are in one place. If a cut is resumed, the places of its carry come first.
func places(c *Cutting, w *Work, p *Params, use func(i int32) bool) []*place {
	var list []*place
	known := map[string]*place{}
	var last *place
	var lastFile []string
	var key []byte
	for i := range w.Files {
		if use != nil && !use(int32(i)) {
			continue
		}
		at := w.Files[i].Locations
		if last == nil || !p.TrustSitelists && !slices.Equal(at, lastFile) {
			key = placeKey(key[:0], at, p.TrustSitelists)
			if last = known[string(key)]; last == nil {
				last = newPlace(string(key), at, w, p)
				known[last.key] = last
				list = append(list, last)
			}
			lastFile = at
		}
		last.files = append(last.files, int32(i))
	}
	return resume(c, list)
}

// resume moves the places of the carry to the front. The first of these places may already have a job group.
func resume(c *Cutting, list []*place) []*place {
	last := c.carry.Checkpoint
	if last == nil {
		return list
	}
	rank := map[string]int{}
	for i, key := range last.Places {
		rank[key] = i - len(last.Places)
	}
	slices.SortStableFunc(list, func(a, b *place) int { return rank[a.key] - rank[b.key] })
	if len(list) > 0 && len(last.Places) > 0 && list[0].key == last.Places[0] && last.Open {
		list[0].group, list[0].inGroup = c.carry.Group, c.carry.InGroup
	}
	return list
}

// placeKey appends the key of a set of storages to buf.
func placeKey(buf []byte, at []string, trust bool) []byte {
	if trust {
		return append(buf, everywhere...)
	}
	if !strictlyAscending(at) {
		at = slices.Compact(slices.Sorted(slices.Values(at)))
	}
	for i, s := range at {
		if i > 0 {
			buf = append(buf, 0)
		}
		buf = append(buf, s...)
	}
	return buf
}

func strictlyAscending(s []string) bool {
	for i := 1; i < len(s); i++ {
		if s[i-1] >= s[i] {
			return false
		}
	}
	return true
}

func newPlace(key string, at []string, w *Work, p *Params) *place {
	where := &jjm.Place{}
	if key != "" && key != everywhere {
		where.Storages = strings.Split(key, "\x00")
	}
	if w.Sites != nil {
		where.Known, where.Clusters = true, clusters(at, w.Sites, p)
	}
	return &place{key: key, where: where}
}

// clusters returns the clusters where parts that read from these storages may run, sorted:
//
//	trustSitelists  the white-listed clusters
//	at has storages the clusters that can read from any of them
//	at is empty     the clusters that can read a file without a location
//
// The last two results are restricted to the white list, if there is a white list. Black-listed clusters are always
// removed.
func clusters(at []string, sites map[string][]string, p *Params) []string {
	var out []string
	if p.TrustSitelists {
		out = slices.Clone(p.SiteWhitelist)
	} else {
		out = readers(at, sites)
		if len(p.SiteWhitelist) > 0 {
			out = slices.DeleteFunc(out, func(s string) bool { return !slices.Contains(p.SiteWhitelist, s) })
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return slices.Contains(p.SiteBlacklist, s) })
	slices.Sort(out)
	return slices.Compact(out)
}

// readers returns the clusters that can read a file at these storages.
func readers(at []string, sites map[string][]string) []string {
	if len(at) == 0 {
		return slices.Clone(sites[""])
	}
	var out []string
	for _, storage := range at {
		out = append(out, sites[storage]...)
	}
	return out
}

// open assigns the place's job group to the next part. If full is set, the part starts a new group.
func (p *place) open(c *Cutting, full bool) {
	if p.group == 0 || full {
		c.carry.Group++
		p.group, p.inGroup = c.carry.Group, 0
	}
	p.inGroup++
	c.carry.InGroup = p.inGroup
}

// remaining returns the keys of unfinished places, and whether the first of these places has a job group.
func remaining(list []*place) (keys []string, open bool) {
	for _, p := range list {
		keys = append(keys, p.key)
	}
	return keys, len(list) > 0 && list[0].group > 0
}

// failIfNoCluster marks a part that may not run on any cluster as createfailed. Its reason replaces other reasons.
func failIfNoCluster(in *jjm.PartInput) {
	if in.Place == nil || !in.Place.Known || len(in.Place.Clusters) > 0 {
		return
	}
	why, at := "", strings.Join(in.Place.Storages, ", ")
	if at == "" {
		why, at = "its files tell no location, and ", "everywhere"
	}
	more(in).Failure = &jjm.CreateFailure{Code: failNoSite,
		Reason: "no cluster may run this: " + why + "the grid job may use none that can read from " + at +
			" and that the site lists allow"}
}
