package split

import (
	"cmp"
	"slices"

	"jjm/internal/jjm"
)

// WMBSMergeBySize is WMCore's splitter that merges files by parent. A file waits until a whole job group of its
// producers has succeeded. Files of one parent, run and place stay together.
const WMBSMergeBySize = "WMBSMergeBySize"

func wmbsMergeMethod() *method {
	m := mergeMethod(WMBSMergeBySize, 50_000)
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		k := &wmbsMerge{work: w, p: p, force: w.Closed && !w.Pending, places: map[string]*place{}}
		for _, group := range k.groups() {
			k.pack(c, group)
		}
		return &k.merges, nil
	}
	return m
}

// wmbsMerge merges units. A unit consists of the files of one parent, run and place.
type wmbsMerge struct {
	merges
	work   *Work
	p      *Params
	force  bool
	places map[string]*place
	units  []mergeUnit
}

type mergeUnit struct {
	place        string
	run          uint32 // the lowest run of the unit's files
	lumi         uint32 // the lowest section of the unit's files
	files        []int32
	size, events int64
}

// groups returns the units of each place and run.
func (k *wmbsMerge) groups() [][]int32 {
	type key struct {
		at, parent string
		run        uint32
	}
	var buf []byte
	units := inOrder(len(k.work.Files), func(i int32) (key, bool) {
		f := &k.work.Files[i]
		if k.work.Closed && k.orphan(f) {
			k.dropped = append(k.dropped, Dropped{File: i, Failed: true, Why: whyProducer})
			return key{}, false
		}
		if !mergeable(f) {
			return key{}, false
		}
		parent, ok := k.parent(f)
		if !ok {
			k.waits++
			return key{}, false
		}
		run, _ := lowest(f)
		return key{at: string(placeKey(buf[:0], f.Locations, false)), parent: parent, run: run}, true
	})
	for _, files := range units {
		k.units = append(k.units, k.unit(files))
	}
	type group struct {
		at  string
		run uint32
	}
	groups := inOrder(len(k.units), func(i int32) (group, bool) {
		return group{k.units[i].place, k.units[i].run}, true
	})
	return byPlace(groups, func(i int32) string { return k.units[i].place })
}

// unit returns the unit of files that stay together.
func (k *wmbsMerge) unit(files []int32) mergeUnit {
	first := &k.work.Files[files[0]]
	u := mergeUnit{place: string(placeKey(nil, first.Locations, false)), files: files}
	if k.places[u.place] == nil {
		k.places[u.place] = newPlace(u.place, first.Locations, k.work, k.p)
	}
	u.run, u.lumi = lowest(first)
	for _, i := range files {
		f := &k.work.Files[i]
		_, lumi := lowest(f)
		u.lumi = min(u.lumi, lumi)
		u.size, u.events = u.size+f.Size, u.events+f.Events
	}
	slices.SortStableFunc(u.files, func(a, b int32) int {
		return cmp.Compare(k.work.Files[a].FirstEvent, k.work.Files[b].FirstEvent)
	})
	return u
}

// orphan reports whether a job that read a parent of the file did not succeed.
func (k *wmbsMerge) orphan(f *jjm.File) bool {
	for _, parent := range f.Parents {
		for _, job := range k.work.Parents[parent].Producers {
			if !job.Success {
				return true
			}
		}
	}
	return false
}

// parent returns the parent by which a file is merged: the parent with the lowest number that a successful job group
// read. found is false if there is no such parent yet. A job group is successful if all its jobs that read parents of
// the file succeeded.
func (k *wmbsMerge) parent(f *jjm.File) (lowest string, found bool) {
	failed := map[int64]bool{}
	for _, parent := range f.Parents {
		for _, job := range k.work.Parents[parent].Producers {
			failed[job.Group] = failed[job.Group] || !job.Success
		}
	}
	best := int64(0)
	for _, lfn := range f.Parents {
		parent := k.work.Parents[lfn]
		passes := slices.ContainsFunc(parent.Producers, func(job Producer) bool { return !failed[job.Group] })
		if passes && (!found || parent.ID < best) {
			lowest, best, found = lfn, parent.ID, true
		}
	}
	return lowest, found
}

// pack fills bins with the units of a group, in one pass.
func (k *wmbsMerge) pack(c *Cutting, group []int32) {
	var b bin
	for _, i := range group {
		u := &k.units[i]
		if u.size > k.p.MaxMergeSize || u.events > k.p.MaxMergeEvents {
			k.merge(c, []int32{i})
			continue
		}
		if b.over(k.p, u.size, u.events) {
			if b.size <= k.p.MinMergeSize && !k.force {
				k.waits += len(u.files)
				continue
			}
			k.merge(c, b.items)
			b = bin{}
		}
		b.add(i, u.size, u.events)
	}
	if b.size > k.p.MinMergeSize || k.force {
		k.merge(c, b.items)
		return
	}
	for _, i := range b.items {
		k.waits += len(k.units[i].files)
	}
}

// merge makes a part that merges units, sorted by their lowest section.
func (k *wmbsMerge) merge(c *Cutting, units []int32) {
	if len(units) == 0 {
		return
	}
	slices.SortStableFunc(units, func(a, b int32) int { return cmp.Compare(k.units[a].lumi, k.units[b].lumi) })
	var files []int32
	var size int64
	for _, i := range units {
		files = append(files, k.units[i].files...)
		size += k.units[i].size
	}
	in := k.emit(c, k.work, k.places[k.units[units[0]].place], files)
	in.Estimate.DiskKB = float64(size) / 1024
}
