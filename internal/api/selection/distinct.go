package selection

import (
	"cmp"
	"slices"

	"jjm/internal/jjm"
)

// Distinct returns the list without elements that mean jobs of other elements again: equal elements, local jobs of a
// grid job whose local jobs the list means anyway, and overlapping ranges, which it joins. A joined range stands where
// the first of its ranges stood. If wholes is set, a whole grid job means all its local jobs, as for jjm kill;
// otherwise named local jobs are kept beside their grid job, because a command may refuse or change others of them than
// of the grid job.
func (l List) Distinct(wholes bool) List {
	var out List
	for _, p := range l {
		if !slices.ContainsFunc(out, func(q Pattern) bool { return q.covers(p, wholes) }) {
			out = slices.DeleteFunc(out, func(q Pattern) bool { return p.covers(q, wholes) })
			out = append(out, p)
		}
	}
	return out.joined()
}

// covers reports whether the pattern means all jobs that q means.
func (p Pattern) covers(q Pattern, wholes bool) bool {
	switch {
	case p == q:
		return true
	case p.Name != "" || q.Name != "" || p.grid() != q.grid():
		return false
	case !p.Ref.Locals:
		return wholes && q.Ref.Locals
	}
	return q.Ref.Locals && p.Ref.First <= q.Ref.First && (p.Ref.Last < 0 || q.Ref.Last >= 0 && q.Ref.Last <= p.Ref.Last)
}

// joined returns the list with one range in the place of several that overlap.
func (l List) joined() List {
	order := make([]int, len(l)) // by the beginnings of the ranges
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(l[a].Ref.First, l[b].Ref.First) })
	out, gone, open := slices.Clone(l), map[int]bool{}, map[string]int{}
	for _, i := range order {
		p := out[i]
		if !p.Ref.Locals {
			continue
		}
		at, begun := open[p.grid()]
		if q := &out[min(at, i)].Ref; begun && overlap(out[at].Ref, p.Ref) {
			first, last := out[at].Ref.First, max(out[at].Ref.Last, p.Ref.Last)
			if out[at].Ref.Last < 0 || p.Ref.Last < 0 {
				last = -1
			}
			gone[max(at, i)], q.First, q.Last = true, first, last
			i = min(at, i)
		}
		open[p.grid()] = i
	}
	kept := List{}
	for i, p := range out {
		if !gone[i] {
			kept = append(kept, p)
		}
	}
	return kept
}

// overlap reports whether two ranges of local jobs of one grid job share a local job. The first does not begin later.
func overlap(a, b jjm.Ref) bool { return a.Last < 0 || b.First <= a.Last }
