package highwater

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func openMark(t *testing.T, path, store string, highest jjm.GridID) *Mark {
	t.Helper()
	m, err := Open(path, store, highest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func readMark(t *testing.T, path string) Written {
	t.Helper()
	w, err := Read(path)
	if err != nil || w == nil {
		t.Fatalf("read %v, error %v", w, err)
	}
	return *w
}

func TestMark_KeepsTheHighestIDOfItsStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	if w, err := Read(path); w != nil || err != nil {
		t.Fatalf("read %v, error %v where there is none", w, err)
	}
	m := openMark(t, path, "abcd-1", 3)
	for _, id := range []jjm.GridID{4, 7, 5, 8} {
		if err := m.Reach(id); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := readMark(t, path), (Written{"abcd-1", 8}); got != want {
		t.Errorf("read %v, want %v", got, want)
	}
	openMark(t, path, "abcd-1", 11) // opening raises the mark to an id that no client got
	if got, want := readMark(t, path), (Written{"abcd-1", 11}); got != want {
		t.Errorf("read %v, want %v", got, want)
	}
	openMark(t, path, "wxyz-2", 0)
	if got, want := readMark(t, path), (Written{"wxyz-2", 0}); got != want {
		t.Errorf("read %v, want %v", got, want)
	}
}

func TestMark_ManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	m := openMark(t, path, "abcd-1", 0)
	var wg sync.WaitGroup
	for id := jjm.GridID(1); id <= 100; id++ {
		wg.Go(func() {
			if err := m.Reach(id); err != nil {
				t.Error(err)
			}
			if w, err := Read(path); err != nil || w.Given < id {
				t.Errorf("%d was reached, and the mark says %v, error %v", id, w, err)
			}
		})
	}
	wg.Wait()
}

// After a crash during a write, the mark has either the old id or the new id, whatever part of the slot was written.
func TestMark_TornSlot(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "mark")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, File)
		m, err := Open(path, "abcd-1", 0)
		if err != nil {
			rt.Fatal(err)
		}
		defer m.Close()
		last := jjm.GridID(rapid.IntRange(1, 3000).Draw(rt, "ids"))
		for id := max(1, last-3); id <= last; id++ {
			if err := m.Reach(id); err != nil {
				rt.Fatal(err)
			}
		}
		before, err := os.ReadFile(path)
		if err != nil {
			rt.Fatal(err)
		}
		if err := m.Reach(last + 1); err != nil {
			rt.Fatal(err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			rt.Fatal(err)
		}
		cut := rapid.IntRange(0, len(after)).Draw(rt, "cut")
		torn := append(bytes.Clone(after[:cut]), before[cut:]...)
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			rt.Fatal(err)
		}
		w, err := Read(path)
		if err != nil || w.Given != last && w.Given != last+1 {
			rt.Fatalf("read %v, error %v, want %d or %d", w, err, last, last+1)
		}
	})
}

func TestRead_DamagedOrEmptyIsRefusedWithTheRemedy(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "a text": "hello\n",
		"another number": strings.Replace(string(encode(Written{"a-1", 5})), "given 5", "given 4", 1)} {
		path := filepath.Join(t.TempDir(), File)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, what := range []func() error{
			func() error { _, err := Read(path); return err },
			func() error { _, err := Open(path, "a-1", 0); return err },
		} {
			if err := what(); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "remove "+File) {
				t.Errorf("%s: error %v, want one that tells the remedy", name, err)
			}
		}
	}
}

func TestFit(t *testing.T) {
	mark := func(store string, given jjm.GridID) *Written { return &Written{store, given} }
	for _, c := range []struct {
		name    string
		store   string
		highest jjm.GridID
		in      Folder
		want    string // part of the error; "" means no error
	}{
		{"a new site", "", 0, Folder{}, ""},
		{"a folder of before there were marks", "a-1", 17, Folder{Record: 17, Area: 16}, ""},
		{"a sound store", "a-1", 17, Folder{Mark: mark("a-1", 17), Record: 17}, ""},
		{"a crash before the mark was raised", "a-1", 18, Folder{Mark: mark("a-1", 17), Record: 17}, ""},
		{"a store that was moved into a folder that nothing was done in", "b-2", 40, Folder{Mark: mark("a-1", 0)}, ""},
		{"a start that broke off before the store was made", "", 0, Folder{Mark: mark("a-1", 0)}, ""},
		{"without its log", "", 0, Folder{Mark: mark("a-1", 17), Record: 17},
			"up to 0, but store.ids says that ids up to 17 were given out, records/ holds 17: their ids"},
		{"without its log, of before there were marks", "", 0, Folder{Record: 17}, "up to 0, but records/ holds 17: "},
		{"an old copy", "a-1", 15, Folder{Mark: mark("a-1", 17)}, "up to 15, but store.ids says that ids up to 17"},
		{"an old copy with its mark", "a-1", 15, Folder{Mark: mark("a-1", 15), Record: 17}, "but records/ holds 17"},
		{"another site's", "b-2", 40, Folder{Mark: mark("a-1", 17), Record: 17},
			"store.ids is of another store (a-1, this one is b-2)"},
		{"a work area of a site whose state is gone", "", 0, Folder{Area: 9, AreaDir: "/work/jjm/jobs"},
			"up to 0, but /work/jjm/jobs holds 9: "},
		{"a store that knows nothing, alone", "a-1", 0, Folder{Bare: true}, ""},
	} {
		c.in.State, c.in.Work = "/state", "/work"
		err := Fit(c.store, c.highest, c.in)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v, want it to fit", c.name, err)
			}
			continue
		}
		if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "store.db-wal") || !strings.Contains(err.Error(), "move /state") {
			t.Errorf("%s: error %v, want %q and the remedy", c.name, err, c.want)
		}
	}
}

// Fit refuses a store that contains grid jobs if its folder has no mark, no records and no work areas. If the folder
// has a folder for records, Fit accepts the store, because older daemons made that folder but no mark.
func TestFit_AStoreThatKnowsGridJobsAndIsAlone(t *testing.T) {
	in := Folder{State: "/state", Work: "/work", Bare: true}
	err := Fit("a-1", 17, in)
	if jjm.KindOf(err) != jjm.Conflict || !strings.Contains(err.Error(), "knows grid jobs up to 17, but nothing else") ||
		!strings.Contains(err.Error(), "make the folder /state/records") {
		t.Errorf("error %v, want one that tells the remedy", err)
	}
	if in.Bare = false; Fit("a-1", 17, in) != nil {
		t.Error("with an empty folder of records it does not fit")
	}
}

func TestMark_AFullOrBrokenDiskIsTold(t *testing.T) {
	m := openMark(t, filepath.Join(t.TempDir(), File), "a-1", 0)
	if err := m.f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Reach(1); jjm.KindOf(err) != jjm.Busy || !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v, want busy with its cause", err)
	}
}

func TestRelate(t *testing.T) {
	stamp := func(store string, until, given jjm.GridID) *Stamp { return &Stamp{store, until, given} }
	for _, c := range []struct {
		name    string
		store   string
		highest jjm.GridID
		stamp   *Stamp
		want    Relation
	}{
		{"a new folder", "a-1", 17, nil, Unstamped},
		{"its own", "a-1", 17, stamp("a-1", 100, 17), Fits},
		{"a stamp that is late", "a-1", 17, stamp("a-1", 100, 3), Fits},
		{"a crash after a block was reserved", "a-1", 100, stamp("a-1", 200, 100), Fits},
		{"an older copy by one", "a-1", 16, stamp("a-1", 100, 17), Older},
		{"an older copy by a block", "a-1", 99, stamp("a-1", 200, 17), Older},
		{"another store's", "a-1", 17, stamp("b-2", 100, 3), Foreign},
		{"another store's in which nothing was done", "a-1", 17, stamp("b-2", 0, 0), Foreign},
		{"a store that does not exist yet", "", 0, stamp("b-2", 0, 0), Foreign},
	} {
		if got := Relate(c.store, c.highest, c.stamp); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		err := FitStamps(c.store, c.highest, []Stamped{{"/work", c.stamp}})
		if bad := c.want == Foreign || c.want == Older; bad != (err != nil) || bad && (jjm.KindOf(err) != jjm.Conflict ||
			!strings.Contains(err.Error(), "/work") ||
			!strings.Contains(err.Error(), "jjm serve --adopt, with the --config of")) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

func TestStamps_AreRaisedBeforeAnIDIsStored(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	s, err := Take("a-1", 17, dirs)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Reserved(100) || s.Reserved(101) {
		t.Error("it does not reserve the ids of its block")
	}
	if err := s.Reserve(t.Context(), 101); err != nil || !s.Reserved(200) {
		t.Errorf("reserve: %v", err)
	}
	for _, dir := range dirs {
		if got, err := ReadStamp(dir); err != nil || *got != (Stamp{"a-1", 200, 17}) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if err := os.Remove(filepath.Join(dirs[1], StampFile)); err != nil { // this makes it a different folder
		t.Fatal(err)
	}
	err = s.Renew(dirs[1])
	if got, bad := ReadStamp(dirs[1]); err != nil || bad != nil || *got != (Stamp{"a-1", 200, 17}) {
		t.Errorf("renew: %v, %v, %v", err, got, bad)
	}
	if _, err := Take("b-2", 0, dirs[1:]); err != nil {
		t.Fatal(err)
	}
	if err := s.Renew(dirs[1]); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("renew in a folder that was taken over: %v", err)
	}
	if err := s.Reserve(t.Context(), 201); jjm.KindOf(err) != jjm.Busy || s.Reserved(201) ||
		!strings.Contains(err.Error(), "another store by now: b-2") {
		t.Errorf("reserve in a folder that was taken over: %v", err)
	}
}

func TestReadStamp_DamagedIsRefusedWithTheRemedy(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, StampFile), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadStamp(dir); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "remove "+StampFile) {
		t.Errorf("error %v, want one that tells the remedy", err)
	}
}
