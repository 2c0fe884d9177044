package split

import (
	"slices"
	"sort"

	"jjm/internal/jjm"
)

// shared detects files of a part that have sections in common. One list of sections for all files would then claim, in
// one of the files, a section that the part does not own in that file.
type shared struct {
	// held are the sections of the first files of the part, disjoint and ascending in each run.
	held map[uint32][]jjm.LumiRange
	// files is the number of files whose sections are in held.
	files int
	// found is set if two files of the part share a section.
	found bool
}

// joins reports whether a file is not the last file of the current part, so that it would be added to the part.
func (l *lumiWalk) joins(file int32) bool {
	files := l.cur.files
	return len(files) == 0 || files[len(files)-1] != file
}

// claimsMore reports whether the current file is new in the current part, and shares a section with a file of the part.
// With LumiCorrection this does not matter, because a part then owns a section in all files.
func (l *lumiWalk) claimsMore() bool {
	if l.seen != nil || l.cur == nil || len(l.cur.files) == 0 || l.cur.shared.found {
		return false
	}
	if i := l.places[0].files[l.at]; !l.joins(i) {
		return false
	}
	s := &l.cur.shared
	for ; s.files < len(l.cur.files); s.files++ {
		s.hold(l.work.Files[l.cur.files[s.files]].Lumis)
	}
	return slices.ContainsFunc(l.lumis, s.meets)
}

// hold adds the sections of a file that shares no section with earlier files.
func (s *shared) hold(lumis []jjm.LumiRange) {
	if s.held == nil {
		s.held = map[uint32][]jjm.LumiRange{}
	}
	for _, r := range jjm.JoinLumis(lumis) {
		list := s.held[r.Run]
		s.held[r.Run] = slices.Insert(list, after(list, r.First), r)
	}
}

// meets reports whether a held file has a section of a range.
func (s *shared) meets(r jjm.LumiRange) bool {
	list := s.held[r.Run]
	i := after(list, r.First)
	return r.Count() > 0 && i < len(list) && list[i].First <= r.Last
}

// after returns the position of the first range that does not end before a section.
func after(list []jjm.LumiRange, section uint32) int {
	return sort.Search(len(list), func(i int) bool { return list[i].Last >= section })
}
