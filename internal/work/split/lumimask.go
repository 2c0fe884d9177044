package split

import (
	"slices"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// lumiMask holds the good sections of each run. In an empty mask all sections are good.
type lumiMask map[uint32][]jjm.LumiRange

func (m lumiMask) add(run, first, last uint32) {
	if first <= last {
		m[run] = append(m[run], jjm.LumiRange{Run: run, First: first, Last: last})
	} else if _, ok := m[run]; !ok {
		m[run] = nil // the run is listed but has no good section
	}
}

// tidy sorts the ranges and joins ranges that overlap or are adjacent.
func (m lumiMask) tidy() {
	for run, list := range m {
		slices.SortFunc(list, func(a, b jjm.LumiRange) int { return int(int64(a.First) - int64(b.First)) })
		joined := list[:0]
		for _, r := range list {
			if n := len(joined); n > 0 && int64(r.First) <= int64(joined[n-1].Last)+1 {
				joined[n-1].Last = max(joined[n-1].Last, r.Last)
			} else {
				joined = append(joined, r)
			}
		}
		m[run] = joined
	}
}

// good reports whether section first is good. until is the last section with the same result, at most last.
func (m lumiMask) good(run, first, last uint32) (until uint32, ok bool) {
	if len(m) == 0 {
		return last, true
	}
	list := m[run]
	i, _ := slices.BinarySearchFunc(list, first, func(r jjm.LumiRange, n uint32) int {
		if r.Last < n {
			return -1
		}
		return 1
	})
	switch {
	case i == len(list) || list[i].First > last:
		return last, false
	case list[i].First > first:
		return list[i].First - 1, false
	}
	return min(list[i].Last, last), true
}

// goodRun reports whether a run is listed.
func (m lumiMask) goodRun(run uint32) bool {
	if len(m) == 0 {
		return true
	}
	_, ok := m[run]
	return ok
}

// maskOf parses the parallel lists runs and lumis: "a,b,c,d" means sections a to b and c to d.
// If either is missing, all sections are good.
func maskOf(p *Params) (lumiMask, error) {
	m := lumiMask{}
	if len(p.Runs) == 0 || len(p.Lumis) == 0 {
		return m, nil
	}
	if len(p.Runs) != len(p.Lumis) {
		return nil, jjm.Errorf(jjm.Invalid, "runs has %d elements and lumis %d: want one list of sections for each run",
			len(p.Runs), len(p.Lumis))
	}
	for i, text := range p.Runs {
		run, err := number(text)
		if err != nil {
			return nil, jjm.Errorf(jjm.Invalid, "runs[%d] is %.20q: want a run number", i, text)
		}
		if err := m.read(run, p.Lumis[i]); err != nil {
			return nil, jjm.Errorf(jjm.Invalid, "lumis[%d] is %.40q: %w", i, p.Lumis[i], err)
		}
	}
	m.tidy()
	return m, nil
}

func (m lumiMask) read(run uint32, text string) error {
	words := strings.Split(text, ",")
	if len(words)%2 != 0 {
		return jjm.Errorf(jjm.Invalid, "%d numbers: want a first and a last section for each range", len(words))
	}
	for i := 0; i < len(words); i += 2 {
		first, err := number(words[i])
		if err != nil {
			return jjm.Errorf(jjm.Invalid, "%.20q is no section number", words[i])
		}
		last, err := number(words[i+1])
		if err != nil {
			return jjm.Errorf(jjm.Invalid, "%.20q is no section number", words[i+1])
		}
		m.add(run, first, last)
	}
	return nil
}

func number(text string) (uint32, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	return uint32(n), err
}
