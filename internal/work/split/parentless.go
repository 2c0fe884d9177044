package split

import (
	"cmp"
	"slices"

	"jjm/internal/jjm"
)

// ParentlessMergeBySize is WMCore's splitter that merges small files: it collects the files of
// a storage, sorted by run and section, until they are large enough. A file that does not fit
// waits for a later cycle.
const ParentlessMergeBySize = "ParentlessMergeBySize"

func parentlessMethod() *method {
	m := mergeMethod(ParentlessMergeBySize, 100_000_000)
	sizes := m.defaults
	m.defaults = func(p *Params) {
		sizes(p)
		p.MergeAcrossRuns, p.MaxWaitTime = true, 12*3600
	}
	m.start = func(c *Cutting, w *Work, p *Params) (cutter, error) {
		k := &parentless{work: w, p: p, force: w.Closed && !w.Pending, storages: firstStorage{},
			keys: make([]mergeKey, len(w.Files))}
		for _, group := range k.groups() {
			k.pack(c, group)
		}
		return &k.merges, nil
	}
	return m
}

// mergeKey is the sort key of a file.
type mergeKey struct {
	run, lumi uint32
}

type parentless struct {
	merges
	work     *Work
	p        *Params
	force    bool
	storages firstStorage
	keys     []mergeKey
}

// groups returns the files of each storage (without merge_across_runs, of each run at a storage), sorted by run,
// section and first event. Files without a location are one place, which every cluster can read.
func (k *parentless) groups() [][]int32 {
	type key struct {
		at  string
		run uint32
	}
	files := k.work.Files
	groups := inOrder(len(files), func(i int32) (key, bool) {
		run, lumi := lowest(&files[i])
		k.keys[i] = mergeKey{run: run, lumi: lumi}
		if k.p.MergeAcrossRuns {
			run = 0
		}
		return key{firstLocation(&files[i]), run}, true
	})
	groups = byPlace(groups, func(i int32) string { return firstLocation(&files[i]) })
	for _, g := range groups {
		slices.SortFunc(g, func(a, b int32) int {
			return cmp.Or(cmp.Compare(k.keys[a].run, k.keys[b].run), cmp.Compare(k.keys[a].lumi, k.keys[b].lumi),
				cmp.Compare(files[a].FirstEvent, files[b].FirstEvent), cmp.Compare(a, b))
		})
	}
	return groups
}

// old reports whether a file with the time since has waited longer than max_wait_time.
func (k *parentless) old(since jjm.Time) bool {
	return int64(k.work.Now-since) > k.p.MaxWaitTime*1000
}

// pack fills bins with the files of a group, in one pass.
func (k *parentless) pack(c *Cutting, group []int32) {
	var b bin
	earliest := k.work.Now
	for _, i := range group {
		f := &k.work.Files[i]
		if f.Size > k.p.MaxMergeSize || f.Events > k.p.MaxMergeEvents {
			k.merge(c, []int32{i})
			continue
		}
		full := k.full(&b)
		if full || b.over(k.p, f.Size, f.Events) {
			if !full && b.size <= k.p.MinMergeSize && !k.force && !k.old(f.Added) {
				k.waits++
				continue
			}
			k.merge(c, b.items)
			b = bin{}
		}
		b.add(i, f.Size, f.Events)
		earliest = min(earliest, f.Added) // also of earlier bins: as in WMCore, one old file releases the last bin
	}
	if b.size > k.p.MinMergeSize || k.full(&b) || k.force || k.old(earliest) {
		k.merge(c, b.items)
	} else {
		k.waits += len(b.items)
	}
}

// full reports whether a bin has max_merge_files files (JEDI: 50). A full bin is merged even if it is small. WMCore has
// no such bound.
func (k *parentless) full(b *bin) bool {
	return k.p.MaxMergeFiles > 0 && int64(len(b.items)) >= k.p.MaxMergeFiles
}

// merge makes a part that merges files.
func (k *parentless) merge(c *Cutting, files []int32) {
	if len(files) == 0 {
		return
	}
	var size, largest int64
	for _, i := range files {
		size, largest = size+k.work.Files[i].Size, max(largest, k.work.Files[i].Size)
	}
	in := k.emit(c, k.work, k.storages.of(&k.work.Files[files[0]], k.work, k.p), files)
	// WMCore's estimate: five minutes, and four passes at 5 MB/s.
	in.Estimate = jjm.Estimate{Seconds: 300 + 4*float64(size)/5e6, DiskKB: float64(size+largest) / 1024}
}
