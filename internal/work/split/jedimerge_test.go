package split

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func TestJEDIMerge_CasesToRead(t *testing.T) {
	six := func(group ...string) (w Work) {
		for i, name := range []string{"a", "b", "c", "d", "e", "f"} {
			f := jjm.File{LFN: name, Size: 1000, Events: 40}
			if group != nil {
				f.Group = group[i]
			}
			w.Files = append(w.Files, f)
		}
		w.Closed = true
		return w
	}
	large := six()
	large.Files[1].Size = 9000
	crowded := six()
	crowded.Files[0].Events = 300
	open := six()
	open.Closed = false
	told := six("x", "x", "x", "y", "y", "y")
	told.Closed, told.Complete = false, []bool{true, true, true, false, false, false}
	for name, c := range map[string]struct {
		work    Work
		set     func(*Params)
		want    string
		waiting int
	}{
		"no bound is reached":          {six(), func(*Params) {}, "a+b+c+d+e+f", 0},
		"at most so many files":        {six(), func(p *Params) { p.MaxMergeFiles = 4 }, "a+b+c+d e+f", 0},
		"so many files":                {six(), func(p *Params) { p.FilesPerJob = 4 }, "a+b+c+d e+f", 0},
		"whatever their size":          {six(), func(p *Params) { p.FilesPerJob, p.MaxMergeSize = 4, 1 }, "a+b+c+d e+f", 0},
		"1.2 times their size":         {six(), func(p *Params) { p.MaxMergeSize = 3500 }, "a+b c+d e+f", 0},
		"that fits exactly":            {six(), func(p *Params) { p.MaxMergeSize = 3600 }, "a+b+c d+e+f", 0},
		"a larger one is merged alone": {large, func(p *Params) { p.MaxMergeSize = 2400 }, "a b c+d e+f", 0},
		"so many events":               {six(), func(p *Params) { p.MaxMergeEvents = 100 }, "a+b c+d e+f", 0},
		"one with more is alone":       {crowded, func(p *Params) { p.MaxMergeEvents = 100 }, "a b+c d+e f", 0},
		"groups stay apart": {six("x", "y", "x", "y", "x", "y"), func(p *Params) { p.MaxMergeFiles = 2 }, "a+c e b+d f",
			0},
		"what has room waits":      {open, func(p *Params) { p.MaxMergeFiles = 4 }, "a+b+c+d", 2},
		"but not what is complete": {told, func(*Params) {}, "a+b+c", 3},
		"what is full does not":    {open, func(p *Params) { p.FilesPerJob = 3 }, "a+b+c d+e+f", 0},
		"nor what is full by size": {open, func(p *Params) { p.MaxMergeSize = 3600 }, "a+b+c d+e+f", 0},
		"nor by events":            {open, func(p *Params) { p.MaxMergeEvents = 120 }, "a+b+c d+e+f", 0},
	} {
		parts, left := cut(t, JEDIMerge, c.work, c.set)
		if got := reads(parts); got != c.want || left.Waiting != c.waiting {
			t.Errorf("%s: %q, %d wait; want %q, %d", name, got, left.Waiting, c.want, c.waiting)
		}
	}
}

// jediMergeParams draws parameters with the limits of merges.
func jediMergeParams(t *rapid.T) Params {
	p := drawParams(t, JEDIMerge)
	p.MaxMergeFiles = rapid.Int64Range(1, 8).Draw(t, "files")
	p.MaxMergeSize = rapid.Int64Range(1, 6_000_000).Draw(t, "bytes")
	p.MaxMergeEvents = rapid.Int64Range(0, 900).Draw(t, "events")
	p.FilesPerJob = max(rapid.Int64Range(-3, 4).Draw(t, "exactly"), 0)
	return p
}

// Each file of a growing dataset is merged exactly once. No merge exceeds a limit, except a merge of a single file.
func TestProperty_JEDIMergeKeepsItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, p := drawFileWork(t, &subject{}), jediMergeParams(t)
		s, err := Get(JEDIMerge)
		if err != nil {
			t.Fatal(err)
		}
		byLFN, merged, carry := map[string]*jjm.File{}, map[string]bool{}, Carry{}
		for i := range all.Files {
			all.Files[i].Group = rapid.SampledFrom([]string{"", "x"}).Draw(t, "group")
			byLFN[all.Files[i].LFN] = &all.Files[i]
		}
		for there, closed := 0, false; !closed; {
			there = min(there+rapid.IntRange(1, 9).Draw(t, "come"), len(all.Files))
			closed = there == len(all.Files)
			w := all
			w.Files, w.Closed = nil, closed
			for _, f := range all.Files[:there] {
				if !merged[f.LFN] {
					w.Files = append(w.Files, f)
				}
			}
			parts, left, next, err := s.Cut(w, Limits{}, p, carry)
			if err != nil {
				t.Fatal(err)
			}
			carry = next
			for i := range parts {
				keepsLimits(t, parts[i].Input.Files, byLFN, &p, merged)
			}
			if closed && left.Waiting > 0 {
				t.Fatalf("%d files wait for ever", left.Waiting)
			}
		}
		if len(merged) != len(all.Files) {
			t.Fatalf("%d of %d files are merged", len(merged), len(all.Files))
		}
	})
}

// keepsLimits checks that a merge keeps the limits, and adds its files to merged.
func keepsLimits(t *rapid.T, files []string, known map[string]*jjm.File, p *Params, merged map[string]bool) {
	var out float64
	var events int64
	apart := map[string]bool{}
	for _, lfn := range files {
		f := known[lfn]
		if merged[lfn] {
			t.Fatalf("%s is merged twice", lfn)
		}
		merged[lfn] = true
		size := f.Size
		if size == 0 {
			size = 1 << 20
		}
		out, events = out+float64(size)*1.2, events+f.Events
		apart[fmt.Sprint(f.Group, f.Locations)] = true
	}
	n, rounding := int64(len(files)), float64(len(files))
	switch {
	case len(apart) != 1 && !p.TrustSitelists:
		t.Fatalf("files of several groups are merged: %v", files)
	case p.FilesPerJob > 0:
		if n > p.FilesPerJob {
			t.Fatalf("%d files, want at most %d", n, p.FilesPerJob)
		}
	case n > 1 && (n > p.MaxMergeFiles || out > float64(p.MaxMergeSize)+rounding ||
		p.MaxMergeEvents > 0 && events > p.MaxMergeEvents):
		t.Fatalf("%d files, %.0f bytes and %d events: more than the limits of %+v", n, out, events, p)
	}
}
