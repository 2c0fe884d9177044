package split

import (
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// bin collects the items of one merge.
type bin struct {
	items        []int32
	size, events int64
}

// add adds an item.
func (b *bin) add(i int32, size, events int64) {
	b.items = append(b.items, i)
	b.size, b.events = b.size+size, b.events+events
}

// over reports whether an item would make the bin too large.
func (b *bin) over(p *Params, size, events int64) bool {
	return b.size+size > p.MaxMergeSize || b.events+events > p.MaxMergeEvents
}

// merges holds the parts of a merge splitter, which makes all parts of a cut at its start (a cycle). The parts of a
// cycle are one job group, even if their files are at different places.
type merges struct {
	parts   []jjm.Part
	done    [][]int32
	dropped []Dropped
	waits   int
}

func (m *merges) next(c *Cutting) (jjm.Part, bool) {
	if len(m.parts) == 0 {
		return jjm.Part{}, false
	}
	part := m.parts[0]
	for _, i := range m.done[0] {
		c.finish(i)
	}
	m.parts, m.done = m.parts[1:], m.done[1:]
	return part, true
}

// checkpoint returns nil: the files of parts that were not made yet are in the next cycle.
func (m *merges) checkpoint() *Checkpoint { return nil }

func (m *merges) left(l *Left) {
	l.Dropped = m.dropped
	if l.Waiting = m.waits; m.waits > 0 {
		l.Why = "a merge waits for more files, or for the dataset to close"
	}
}

// emit adds a part that merges files at a place.
func (m *merges) emit(c *Cutting, w *Work, pl *place, files []int32) *jjm.PartInput {
	if len(m.parts) == 0 {
		c.carry.Group++
	}
	pl.group = c.carry.Group
	names := c.words.take(len(files))
	for i, f := range files {
		names[i] = w.Files[f].LFN
	}
	part := c.part(pl, names, int64(len(files)))
	failIfNoCluster(part.Input)
	m.parts, m.done = append(m.parts, part), append(m.done, files)
	return part.Input
}

// mergeable reports whether a file has a location and a section. WMCore does not merge other files.
func mergeable(f *jjm.File) bool { return len(f.Locations) > 0 && lumiCount(f.Lumis) > 0 }

// lowest returns the lowest run and the lowest section of a file. Both are determined separately, so the section may
// belong to another run. For a file without sections both are 0, and the file sorts first.
func lowest(f *jjm.File) (run, lumi uint32) {
	if lumiCount(f.Lumis) == 0 {
		return 0, 0
	}
	run, lumi = ^uint32(0), ^uint32(0)
	for _, r := range f.Lumis {
		if r.Count() > 0 {
			run, lumi = min(run, r.Run), min(lumi, r.First)
		}
	}
	return run, lumi
}

// firstStorage holds places of single storages, by name.
type firstStorage map[string]*place

// of returns the place of a file's first location.
func (s firstStorage) of(f *jjm.File, w *Work, p *Params) *place {
	at := firstLocation(f)
	if s[at] == nil {
		s[at] = newPlace(strings.Clone(at), f.Locations[:min(1, len(f.Locations))], w, p)
	}
	return s[at]
}

// firstLocation returns the first location of a file, "" if it has none.
func firstLocation(f *jjm.File) string {
	if len(f.Locations) == 0 {
		return ""
	}
	return f.Locations[0]
}

// mergeMethod returns a method with the properties that all merge splitters share.
func mergeMethod(name string, maxEvents int64) *method {
	return &method{name: name, unit: jjm.UnitFile,
		defaults: func(p *Params) {
			p.MaxMergeSize, p.MinMergeSize, p.MaxMergeEvents = 1_000_000_000, 1<<20, maxEvents
		},
		bound: func(w *Work, _ *Params) int64 { return int64(len(w.Files)) }}
}

// inOrder groups the positions 0..n-1 by a key. Groups and their members are in the order in which they first occur. A
// position for which key returns false is in no group.
func inOrder[K comparable](n int, key func(i int32) (K, bool)) [][]int32 {
	at := map[K]int{}
	var out [][]int32
	for i := range int32(n) {
		k, ok := key(i)
		if !ok {
			continue
		}
		g, known := at[k]
		if !known {
			g = len(out)
			at[k], out = g, append(out, nil)
		}
		out[g] = append(out[g], i)
	}
	return out
}

// byPlace sorts groups so that the groups of one place are adjacent; places keep their order.
func byPlace(groups [][]int32, place func(i int32) string) [][]int32 {
	rank := map[string]int{}
	for _, g := range groups {
		if _, ok := rank[place(g[0])]; !ok {
			rank[place(g[0])] = len(rank)
		}
	}
	slices.SortStableFunc(groups, func(a, b []int32) int { return rank[place(a[0])] - rank[place(b[0])] })
	return groups
}
