package catalogue_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/internal/work/catalogue"
)

func TestSplitWatch(t *testing.T) {
	for _, c := range []struct{ watch, folder, pattern, bad string }{
		{watch: "/data/raw/*.root", folder: "/data/raw", pattern: "*.root"},
		{watch: "/data/raw", folder: "/data/raw", pattern: "*"},
		{watch: "/data/raw/", folder: "/data/raw", pattern: "*"},
		{watch: "in/run?.dat", folder: "in", pattern: "run?.dat"},
		{watch: "*.dat", folder: ".", pattern: "*.dat"},
		{watch: "/*", folder: "/", pattern: "*"},
		{watch: "", bad: "is empty"},
		{watch: "/data/*/x.root", bad: "only the last element"},
		{watch: "/data/[", bad: "is no pattern"},
		{watch: "/data/a\x00", bad: "NUL"},
		{watch: "/" + strings.Repeat("x", 5000), bad: "at most"},
	} {
		folder, pattern, err := catalogue.SplitWatch(c.watch)
		if c.bad != "" {
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%.40q: %v, want %q", c.watch, err, c.bad)
			}
			continue
		}
		if folder != c.folder || pattern != c.pattern || err != nil {
			t.Errorf("%q: %q, %q, %v", c.watch, folder, pattern, err)
		}
	}
}

func TestListed_ReturnsSettledFilesByName(t *testing.T) {
	entries := []catalogue.Entry{
		{Name: "b.root", Size: 2, Modified: 50}, {Name: "a.root", Size: 1, Modified: 50},
		{Name: "growing.root", Modified: 150}, {Name: ".hidden.root", Modified: 50},
		{Name: "notes.txt", Modified: 50}, {Name: "new\nline.root", Modified: 50}, {Name: "\xff.root", Modified: 50},
	}
	files, waiting, skipped := catalogue.Listed("/data", "*.root", entries, 100)
	want := []jjm.File{{LFN: "/data/a.root", Size: 1}, {LFN: "/data/b.root", Size: 2}}
	if diff := cmp.Diff(want, files); diff != "" || waiting != 1 || skipped != 2 {
		t.Errorf("waiting %d, skipped %d\n%s", waiting, skipped, diff)
	}
	fresh := catalogue.New(files, func(lfn string) bool { return lfn == "/data/a.root" })
	if len(fresh) != 1 || fresh[0].LFN != "/data/b.root" {
		t.Error(fresh)
	}
}

func TestExpand_ReplacesWildcardsInPlace(t *testing.T) {
	folders := map[string][]catalogue.Entry{"/d": {{Name: "b"}, {Name: "a"}, {Name: ".c"}}, "/e": {{Name: "a"}}}
	list := func(folder string) ([]catalogue.Entry, error) {
		if entries, ok := folders[folder]; ok {
			return entries, nil
		}
		return nil, jjm.Errorf(jjm.Busy, "%s: gone", folder)
	}
	named := func(lfn string) jjm.Listed { return jjm.Listed{File: jjm.File{LFN: lfn}} }
	wild := func(text string) jjm.Listed { return jjm.Listed{Wildcard: text} }
	for _, c := range []struct {
		entries []jjm.Listed
		most    int
		want    string // the files, or a part of the error
	}{
		{[]jjm.Listed{named("x"), wild("/d/*"), named("y")}, 9, "x /d/a /d/b y"},
		{[]jjm.Listed{wild("/d/*"), named("/d/a"), wild("/d/?")}, 9, "/d/b /d/a"},
		{[]jjm.Listed{wild("/d/.*"), wild("/e/[a-z]")}, 9, "/d/.c /e/a"},
		{[]jjm.Listed{named("x"), wild("/d/z*")}, 9, "files[1].wildcard: /d/z* matches none of the 3 files"},
		{[]jjm.Listed{wild("/f/*")}, 9, "files[0].wildcard: /f: gone"},
		{[]jjm.Listed{named("x"), wild("/d/*")}, 2, "files[1].wildcard: up to this entry the list has 3 files: want at most 2"},
		{[]jjm.Listed{wild("d/*")}, 9, "want an absolute path"},
		{[]jjm.Listed{wild("/d/")}, 9, "has no wildcard"},
	} {
		files, err := catalogue.Expand(c.entries, c.most, list)
		var names []string
		for _, f := range files {
			names = append(names, f.LFN)
		}
		if got := strings.Join(names, " "); err == nil && got != c.want || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %s, %v: want %s", c.entries, got, err, c.want)
		}
	}
}
