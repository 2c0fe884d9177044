package sandbox

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/sys/tree"
)

// treeOf returns a function that opens a folder with the given entries, as a manipulated helper process of an account
// may send it. bytesSaid is the size that the helper announces.
func treeOf(t *testing.T, bytesSaid int64, heads ...tar.Header) func(string) (io.ReadCloser, error) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range heads {
		if err := w.WriteHeader(&heads[i]); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, heads[i].Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return func(string) (io.ReadCloser, error) {
		return &tree.Source{ReadCloser: io.NopCloser(bytes.NewReader(b.Bytes())), Bytes: bytesSaid}, nil
	}
}

func TestPack_AFolderKeepsItsModesAndIsPackedOnce(t *testing.T) {
	a := newArea(t)
	open := treeOf(t, 8, tar.Header{Name: "bin", Typeflag: tar.TypeDir, Mode: 0o500},
		tar.Header{Name: "bin/run", Typeflag: tar.TypeReg, Mode: 0o6755, Size: 4},
		tar.Header{Name: "data", Typeflag: tar.TypeReg, Mode: 0o444, Size: 4},
		tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "bin/run"})
	pkg, names, err := a.Pack(t.Context(), []jjm.Input{{Path: "release"}}, open)
	if err != nil || len(names) != 1 || names[0] != "release" {
		t.Fatalf("%v, %v", names, err)
	}
	at := filepath.Join(a.Root(), "packages", pkg, "release")
	for name, want := range map[string]os.FileMode{"bin": os.ModeDir | 0o700, "bin/run": 0o755, "data": 0o444} {
		info, err := os.Lstat(filepath.Join(at, name))
		if err != nil || info.Mode()&^0o055 != want&^0o055 {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if to, err := os.Readlink(filepath.Join(at, "link")); to != "bin/run" || err != nil {
		t.Errorf("link: %q, %v", to, err)
	}
	again, _, err := a.Pack(t.Context(), []jjm.Input{{Path: "release"}}, open)
	if again != pkg || err != nil {
		t.Errorf("again: %s, %v", again, err)
	}
	other, _, err := a.Pack(t.Context(), []jjm.Input{{Path: "release"}},
		treeOf(t, 8, tar.Header{Name: "data", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}))
	if other == pkg || err != nil {
		t.Errorf("another folder: %s, %v", other, err)
	}
}

func TestPack_AHostileFolderLeavesNothing(t *testing.T) {
	file := func(name string, size int64) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: size}
	}
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	for name, heads := range map[string][]tar.Header{
		"more bytes than were said": {file("a", 4), file("b", 8)},
		"a name above":              {file("../a", 1)},
		"an absolute name":          {file("/tmp/a", 1)},
		"a link above":              {link("l", "../../../../etc/passwd")},
		"an absolute link":          {link("l", "/etc/passwd")},
		"a file behind a link":      {link("l", "."), link("m", "l/.."), file("m/x", 1)},
		"a device":                  {{Name: "d", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
		"a hard link":               {file("a", 1), {Name: "b", Typeflag: tar.TypeLink, Linkname: "a"}},
		"twice the same name":       {file("a", 1), file("a", 1)},
		"a control character":       {file("a\nb", 1)},
	} {
		a := newArea(t)
		_, _, err := a.Pack(t.Context(), []jjm.Input{{Path: "x"}}, treeOf(t, 10, heads...))
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if left, _ := os.ReadDir(filepath.Join(a.Root(), "packages")); len(left) != 0 {
			t.Errorf("%s: left %v (%v)", name, left, err)
		}
	}
	a := newArea(t)
	cut := func(string) (io.ReadCloser, error) {
		return &tree.Source{ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("x", 700))), Bytes: 9}, nil
	}
	if _, _, err := a.Pack(t.Context(), []jjm.Input{{Path: "x"}}, cut); err == nil {
		t.Error("what is no tar was taken")
	}
}
