package main

import (
	"cmp"
	"slices"

	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// plainly cuts work into parts in the simplest way: it sorts the files by name, divides each file into pieces, and puts
// a fixed number of pieces into each part. It checks nothing, has no limits, places or groups, and allocates each slice
// separately. The comparison shows the cost of the additional work of a splitter.
func plainly(work split.Work, piecesOf func(*jjm.File) []jjm.FileLumis, perPart int) []jjm.Part {
	files := slices.Clone(work.Files)
	slices.SortFunc(files, func(a, b jjm.File) int { return cmp.Compare(a.LFN, b.LFN) })
	var parts []jjm.Part
	room := 0
	for i := range files {
		for _, piece := range piecesOf(&files[i]) {
			if room == 0 {
				parts = append(parts, jjm.Part{Unit: jjm.UnitLumi, First: int64(len(parts) * perPart),
					Serial: int64(len(parts) + 1), Input: &jjm.PartInput{}})
				room = perPart
			}
			p := &parts[len(parts)-1]
			if in := p.Input; len(in.Files) == 0 || in.Files[len(in.Files)-1] != files[i].LFN {
				in.Files = append(in.Files, files[i].LFN)
			}
			piece.File = int32(len(p.Input.Files) - 1)
			p.Input.Lumis = append(p.Input.Lumis, piece)
			p.Count++
			room--
		}
	}
	return parts
}

// wholeFile returns one piece.
func wholeFile(*jjm.File) []jjm.FileLumis { return make([]jjm.FileLumis, 1) }

// quarters returns four pieces, like ranges of events.
func quarters(*jjm.File) []jjm.FileLumis { return make([]jjm.FileLumis, 4) }

// lumiSections returns one piece for each luminosity section.
func lumiSections(f *jjm.File) (pieces []jjm.FileLumis) {
	for _, r := range f.Lumis {
		for n := r.First; n <= r.Last; n++ {
			pieces = append(pieces, jjm.FileLumis{LumiRange: jjm.LumiRange{Run: r.Run, First: n, Last: n}})
		}
	}
	return pieces
}
