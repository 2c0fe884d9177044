package tree

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// folder makes a small tree: a program, a folder that only its owner can enter, and links.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "deep/er/data": 0o444, "setuid": 0o644} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "setuid"), 0o777|os.ModeSetuid|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"latest": "deep/er", "deep/up": "../run.sh"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead_KeepsModesAndLinksAndNoSetuid(t *testing.T) {
	src, err := Read(folder(t), Most{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(src); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeSymlink {
			h.Mode = 0
		}
		got = append(got, fmt.Sprintf("%c %o %s %s%s", h.Typeflag, h.Mode, h.Name, text, h.Linkname))
	}
	want := []string{"5 700 deep ", "5 700 deep/er ", "0 444 deep/er/data deep/er/data", "2 0 deep/up ../run.sh",
		"2 0 latest deep/er", "0 755 run.sh run.sh", "0 755 setuid setuid"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if src.Bytes != 24 {
		t.Errorf("%d bytes", src.Bytes)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpen_RefusesLinksOutOfTheFolderAndOtherFiles(t *testing.T) {
	link := func(target, name string) func(string) error {
		return func(d string) error { return os.Symlink(target, d+"/"+name) }
	}
	nothing := func(string) error { return nil }
	for name, c := range map[string]struct {
		spoil func(dir string) error
		most  Most
		want  string
	}{
		"an absolute link":       {link("/etc/passwd", "l"), Most{}, "leads out of the folder"},
		"a link above":           {link("../../x", "deep/l"), Most{}, "leads out of the folder"},
		"a link above by others": {link("latest/../../../x", "l"), Most{}, "at its beginning only"},
		"a link that climbs":     {link("deep/../run.sh", "l"), Most{}, "at its beginning only"},
		"a link to nothing":      {link("none", "l"), Most{}, "leads to nothing"},
		"a loop":                 {link("l", "l"), Most{}, "leads to nothing"},
		"a pipe": {func(d string) error { return syscall.Mkfifo(d+"/p", 0o600) }, Most{},
			"want files, folders and links"},
		"too many": {nothing, Most{Entries: 6}, "more than 6 files and folders"},
		"too large": {func(d string) error { return os.Truncate(d+"/run.sh", 1<<40) }, Most{Bytes: 1 << 30},
			"engine.max_input_bytes"},
		"too deep": {func(d string) error { return os.MkdirAll(d+strings.Repeat("/d", 300), 0o700) }, Most{},
			"lies in more than 256 folders"},
	} {
		dir := folder(t)
		if err := c.spoil(dir); err != nil {
			t.Fatal(err)
		}
		tr, err := Open(dir, c.most)
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if err == nil {
			t.Error(tr.Close())
		}
	}
	tr, err := Open(folder(t), Most{Entries: 7, Bytes: 24})
	if err != nil {
		t.Fatalf("just as much as there may be: %v", err)
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
}

// If a file is replaced after Open has checked the folder, Write returns an error and does not read the new file.
func TestWrite_RefusesAFileThatWasChanged(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"longer": func(f string) error { return os.WriteFile(f, []byte("much longer than before"), 0o600) },
		"a link": func(f string) error { return errors.Join(os.Remove(f), os.Symlink("setuid", f)) },
		"a pipe": func(f string) error { return errors.Join(os.Remove(f), syscall.Mkfifo(f, 0o600)) },
		"gone":   os.Remove,
	} {
		dir := folder(t)
		tr, err := Open(dir, Most{})
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(filepath.Join(dir, "run.sh")); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := tr.Write(&b); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	}
}
