package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"jjm/internal/jjm"
)

func TestBulks_ListsThoseWithAFolder(t *testing.T) {
	a := newArea(t)
	if tags, err := a.Bulks(); len(tags) != 0 || err != nil {
		t.Errorf("no folder: %v %v", tags, err)
	}
	a = newBulk(t, 1)
	for _, name := range []string{"jother", "Not-A-Tag", tmpPrefix + "x"} {
		if err := os.Mkdir(filepath.Join(a.Root(), "bulks", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tags, err := a.Bulks()
	slices.Sort(tags)
	if err != nil || !slices.Equal(tags, []jjm.Tag{"jother", tag}) {
		t.Errorf("%v %v", tags, err)
	}
}

func TestProgressChanged_ChangesWithProgress(t *testing.T) {
	a := newBulk(t, 1)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(a.Root(), BulkDir(tag), "progress"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := a.PutProgress(tag, 0, jjm.Progress{Phase: "sim", Done: 1}, 1000); err != nil {
		t.Fatal(err)
	}
	if at, err := a.ProgressChanged(tag); err != nil || !at.After(old.Add(time.Minute)) {
		t.Errorf("%v %v", at, err)
	}
	_, err := a.ProgressChanged("../x")
	mustNot(t, "bad tag", err, jjm.Invalid)
}

func TestOpenPacked_StaysInThePackage(t *testing.T) {
	a := newArea(t)
	pkg, _, err := a.Pack(t.Context(), []jjm.Input{{Path: "x"}}, from(map[string]string{"x": "hello"}))
	if err != nil {
		t.Fatal(err)
	}
	f, err := a.OpenPacked(pkg, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "hello" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	for _, name := range []string{"../x", "/etc/passwd", "", "a/../../x"} {
		_, err := a.OpenPacked(pkg, name)
		mustNot(t, name, err, jjm.Invalid)
	}
	_, err = a.OpenPacked(pkg, "gone")
	mustNot(t, "missing", err, jjm.Gone)
}
