package jjm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a description of a file. They are far above what catalogues
// hold; 2^53 is the largest number up to which JSON and scripts count exactly.
const (
	maxLFN       = 1000 // bytes
	maxFileWord  = 255  // bytes of a storage, a group, a checksum
	maxFileLumis = 100_000
	maxLocations = 1000
	maxParents   = 10_000
	maxFileCount = 1 << 53
)

// CheckLFN says what is wrong with a logical name, or nothing. Names are passed
// to commands and listed one a line, so that neither a control character nor
// what would pass for an option will do.
func CheckLFN(s string) string {
	switch {
	case s == "":
		return "is missing: name the file"
	case len(s) > maxLFN:
		return fmt.Sprintf("%d bytes are too long: at most %d", len(s), maxLFN)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Sprintf("%.60q: want UTF-8 without control characters", s)
	case s[0] == '-':
		return fmt.Sprintf("%.60q: a minus sign in front would pass for an option", s)
	}
	return ""
}

// Problems finds what is wrong with a description that came from outside. The
// fields are named as in JSON, "lumis[2]". What jjm sets itself must not be set.
func (f *File) Problems() Problems {
	var ps Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if wrong := CheckLFN(f.LFN); wrong != "" {
		bad("lfn", "%s", wrong)
	}
	number := func(field string, n int64) {
		if n < 0 || n > maxFileCount {
			bad(field, "%d is out of range: want 0 to %d", n, int64(maxFileCount))
		}
	}
	number("size", f.Size)
	number("events", f.Events)
	number("first_event", f.FirstEvent)
	if f.Events > 0 && f.FirstEvent > maxFileCount-f.Events && f.FirstEvent <= maxFileCount {
		bad("first_event", "%d events from %d on: want numbers up to %d", f.Events, f.FirstEvent, int64(maxFileCount))
	}
	word := func(field, s string) {
		if len(s) > maxFileWord || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || unicode.IsControl(r) }) {
			bad(field, "%.60q: want at most %d bytes without blanks and control characters", s, maxFileWord)
		}
	}
	word("checksum", f.Checksum)
	word("group", f.Group)
	if f.Added != 0 {
		bad("added", "is set by jjm when the file comes into the dataset: leave it out")
	}
	f.checkLists(bad, word)
	return ps
}

// checkLists checks the lists of a description.
func (f *File) checkLists(bad func(field, format string, args ...any), word func(field, s string)) {
	many := func(field string, n, most int) bool {
		if n > most {
			bad(field, "%d of them are too many: at most %d", n, most)
		}
		return n > most
	}
	if !many("lumis", len(f.Lumis), maxFileLumis) {
		if i, j := twiceIn(f.Lumis); i >= 0 {
			bad(fmt.Sprintf("lumis[%d]", j), "run %d, sections %d to %d: some of them are in lumis[%d] too",
				f.Lumis[j].Run, f.Lumis[j].First, f.Lumis[j].Last, i)
		}
	}
	if !many("locations", len(f.Locations), maxLocations) {
		for i, s := range f.Locations {
			field := fmt.Sprintf("locations[%d]", i)
			if word(field, s); s == "" {
				bad(field, "is empty: name a storage")
			}
		}
	}
	if !many("parents", len(f.Parents), maxParents) {
		for i, s := range f.Parents {
			if wrong := CheckLFN(s); wrong != "" {
				bad(fmt.Sprintf("parents[%d]", i), "%s", wrong)
			}
		}
	}
}

// twiceIn finds two ranges that share a section, the later one second; -1 if
// there are none.
func twiceIn(lumis []LumiRange) (int, int) {
	if len(lumis) < 2 {
		return -1, -1
	}
	order := make([]int, 0, len(lumis))
	for i, r := range lumis {
		if r.Count() > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := lumis[a], lumis[b]
		if x.Run != y.Run {
			return cmp.Compare(x.Run, y.Run)
		}
		return cmp.Compare(x.First, y.First)
	})
	for k := 1; k < len(order); k++ {
		i, j := order[k-1], order[k]
		if lumis[i].Run == lumis[j].Run && lumis[j].First <= lumis[i].Last {
			return min(i, j), max(i, j)
		}
	}
	return -1, -1
}
