package split

import (
	"slices"
	"strings"

	"jjm"
)

// Recovery is what is to be processed again: the list that WMCore calls an ACDC
// collection.
type Recovery struct{ Lost []Lost }

// Lost is a piece of a file that was not processed. Those of createfailed and
// failed parts are made by LostOf.
type Lost struct {
	LFN       string   `json:"lfn"`
	Locations []string `json:"locations,omitempty"`
	// FirstEvent is the number of its first event; Events is how many there are.
	FirstEvent int64           `json:"first_event"`
	Events     int64           `json:"events"`
	Lumis      []jjm.LumiRange `json:"lumis,omitempty"`
	Parents    []string        `json:"parents,omitempty"`
}

// LostOf returns the pieces that a part owned, for a recovery list, from the files
// it read, by LFN. Only parts of the unit range give any: others are made again from
// what package cover finds missing.
func LostOf(p *jjm.Part, file func(lfn string) *jjm.File) []Lost {
	if p.Input == nil || p.Unit != jjm.UnitRange {
		return nil
	}
	lost := make([]Lost, 0, len(p.Input.Files))
	for _, lfn := range p.Input.Files {
		l := Lost{LFN: lfn}
		if f := file(lfn); f != nil {
			l.Locations, l.Parents = f.Locations, f.Parents
			l.FirstEvent, l.Events, l.Lumis = f.FirstEvent, f.Events, f.Lumis
		}
		lost = append(lost, l)
	}
	narrowEvents(lost, p.Input)
	return slices.DeleteFunc(lost, func(l Lost) bool { return l.Lumis == nil && l.Events < 0 })
}

func narrowEvents(lost []Lost, in *jjm.PartInput) {
	made := in.Mask.Lumis.Count > 0
	for i := range lost {
		lost[i].Lumis, lost[i].Events = nil, -1
	}
	for _, r := range in.Events {
		l := &lost[r.File]
		if l.Events < 0 {
			l.FirstEvent, l.Events = l.FirstEvent+r.First, 0
		}
		l.Events += r.Count
		if made {
			l.FirstEvent = in.Mask.Events.First
			first := uint32(in.Mask.Lumis.First)
			l.Lumis = []jjm.LumiRange{{Run: max(in.Mask.Run, 1), First: first, Last: first + uint32(in.Mask.Lumis.Count-1)}}
		}
	}
}

// lostFile is what was lost of one file, of all its pieces.
type lostFile struct {
	first, events int64
	lumis         []uint32 // sorted
}

// byFile joins the pieces of each file. The pieces come in the order of their
// locations, then LFN; the first says where the events begin. A piece whose
// sections are all there already is a duplicate. The events of made-up files
// are added up; of a real file the first piece alone counts.
func (r *Recovery) byFile() map[string]*lostFile {
	pieces := slices.Clone(r.Lost)
	slices.SortStableFunc(pieces, func(a, b Lost) int {
		if c := slices.Compare(slices.Sorted(slices.Values(a.Locations)), slices.Sorted(slices.Values(b.Locations))); c != 0 {
			return c
		}
		return strings.Compare(a.LFN, b.LFN)
	})
	out := map[string]*lostFile{}
	for i := range pieces {
		l := &pieces[i]
		f := out[l.LFN]
		lumis := sections(l.Lumis)
		switch {
		case f == nil:
			out[l.LFN] = &lostFile{first: l.FirstEvent, events: l.Events, lumis: lumis}
		case !madeUp(l.LFN) || subset(lumis, f.lumis):
		default:
			f.events += l.Events
			f.lumis = slices.Compact(sorted(append(f.lumis, lumis...)))
		}
	}
	return out
}

// sections lists the numbers of lumis, sorted, once each.
func sections(ranges []jjm.LumiRange) []uint32 {
	var out []uint32
	for _, r := range ranges {
		for n := int64(r.First); n <= int64(r.Last); n++ {
			out = append(out, uint32(n))
		}
	}
	return slices.Compact(sorted(out))
}

func sorted(s []uint32) []uint32 {
	slices.Sort(s)
	return s
}

// subset says whether all of a are in b; both are sorted.
func subset(a, b []uint32) bool {
	for _, n := range a {
		if _, ok := slices.BinarySearch(b, n); !ok {
			return false
		}
	}
	return true
}
