package split

import (
	"cmp"
	"slices"

	"jjm/internal/jjm"
)

// sortedRuns returns the ranges of a file sorted by run. Ranges of the same run keep their order. If the ranges are
// already sorted, as in most files, it returns ranges itself.
func sortedRuns(ranges []jjm.LumiRange) []jjm.LumiRange {
	byRun := func(a, b jjm.LumiRange) int { return cmp.Compare(a.Run, b.Run) }
	if slices.IsSortedFunc(ranges, byRun) {
		return ranges
	}
	ranges = slices.Clone(ranges)
	slices.SortStableFunc(ranges, byRun)
	return ranges
}

// lumiCount returns the number of sections in ranges. A section that occurs twice counts twice.
func lumiCount(ranges []jjm.LumiRange) int64 {
	var n int64
	for _, r := range ranges {
		n += r.Count()
	}
	return n
}

// eventsPerLumi returns the mean number of events of a section, rounded half to even like in Python.
func eventsPerLumi(f *jjm.File) int64 { return meanEvents(f.Events, lumiCount(f.Lumis)) }

func meanEvents(events, lumis int64) int64 {
	if lumis == 0 {
		return 0
	}
	mean, rest := events/lumis, events%lumis
	if rest > lumis-rest || rest == lumis-rest && mean%2 == 1 {
		mean++
	}
	return mean
}

// firstRun returns the ranges of the first run in sorted ranges.
func firstRun(ranges []jjm.LumiRange) []jjm.LumiRange {
	n := 1
	for n < len(ranges) && ranges[n].Run == ranges[0].Run {
		n++
	}
	return ranges[:n]
}

// compareRuns compares files by their lowest run: first by the run's number, then by its sorted sections, in the way in
// which Python compares lists.
func compareRuns(a, b []jjm.LumiRange) int {
	if c := cmp.Compare(a[0].Run, b[0].Run); c != 0 {
		return c
	}
	a, b = ascending(firstRun(a)), ascending(firstRun(b))
	for len(a) > 0 && len(b) > 0 {
		if c := cmp.Compare(a[0].First, b[0].First); c != 0 {
			return c
		}
		n := min(a[0].Count(), b[0].Count())
		a, b = without(a, n), without(b, n)
	}
	return cmp.Compare(len(a), len(b))
}

// without removes the first n sections. All of them must be in the first range.
func without(r []jjm.LumiRange, n int64) []jjm.LumiRange {
	if r[0].Count() == n {
		return r[1:]
	}
	head := r[0]
	head.First += uint32(n)
	return append([]jjm.LumiRange{head}, r[1:]...)
}

// ascending returns the ranges of one run with their sections sorted and no empty range.
func ascending(r []jjm.LumiRange) []jjm.LumiRange {
	ok := true
	for i := range r {
		ok = ok && r[i].First <= r[i].Last && (i == 0 || r[i-1].Last < r[i].First)
	}
	if ok {
		return r
	}
	var out []jjm.LumiRange
	for _, l := range r {
		for n := int64(l.First); n <= int64(l.Last); n++ {
			out = append(out, jjm.LumiRange{Run: l.Run, First: uint32(n), Last: uint32(n)})
		}
	}
	slices.SortFunc(out, func(a, b jjm.LumiRange) int { return cmp.Compare(a.First, b.First) })
	return out
}
