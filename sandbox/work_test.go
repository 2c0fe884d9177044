package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/jjm"
)

func TestOpenWorkFile_ShowsWhatLiesInTheFolderAndNothingElse(t *testing.T) {
	a := newArea(t)
	dir := AttemptDir(first)
	put(t, a, dir+"/work/sub/result.txt", "made")
	put(t, a, dir+"/stderr", "another's")
	put(t, a, "secret", "the owner's own")
	at := func(name string) string { return filepath.Join(a.Root(), dir, "work", name) }
	if err := errors.Join(os.Symlink("../stderr", at("up")), os.Symlink("/etc/passwd", at("out")),
		os.Symlink("../../../../..", at("away")), os.Symlink("sub", at("inside")), syscall.Mkfifo(at("fifo"), 0o600),
		os.Symlink("sub/result.txt", at("near"))); err != nil {
		t.Fatal(err)
	}
	f, err := a.OpenWorkFile(first, "sub/result.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); string(text) != "made" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	for name, want := range map[string]string{
		"../stderr": "without . or ..", "/etc/passwd": "without . or ..", "": "without . or ..",
		".":  "without . or ..",
		"up": "up is a link", "out": "out is a link",
		"away/secret":       "away is a link",
		"inside/result.txt": "inside is a link",
		"near":              "near is a link",
		"fifo":              "fifo is a fifo",
		"sub":               "sub is a folder",
		"sub/result.txt/x":  "result.txt is a file",
		"sub/../../stderr":  "without . or ..",
	} {
		if _, err := a.OpenWorkFile(first, name); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	if _, err := a.OpenWorkFile(first, "none"); jjm.KindOf(err) != jjm.Gone {
		t.Errorf("none: %v", err)
	}
	if _, err := a.OpenWorkFile(jjm.AttemptID{LocalID: first.LocalID, Attempt: 7}, "x"); jjm.KindOf(err) != jjm.Gone {
		t.Errorf("another attempt: %v", err)
	}
}

func TestListWork_NamesWhatThereIsWithinBounds(t *testing.T) {
	a := newArea(t)
	if _, _, err := a.ListWork(first); jjm.KindOf(err) != jjm.Gone {
		t.Errorf("no folder: %v", err)
	}
	dir := AttemptDir(first) + "/work/"
	put(t, a, dir+"b.txt", "12345")
	put(t, a, dir+"sub/a.txt", "1")
	at := func(name string) string { return filepath.Join(a.Root(), dir, name) }
	if err := errors.Join(os.Symlink("/", at("root")), syscall.Mkfifo(at("fifo"), 0o600)); err != nil {
		t.Fatal(err)
	}
	var got []string
	all, more, err := a.ListWork(first)
	for _, one := range all {
		got = append(got, fmt.Sprintf("%s %d %s", one.Name, one.Bytes, one.Kind))
	}
	if want := "b.txt 5 |fifo 0 fifo|root 0 link|sub/a.txt 1 "; strings.Join(got, "|") != want || more || err != nil {
		t.Errorf("%q, more %v, %v; want %q", got, more, err, want)
	}
	for i := range MaxListed {
		put(t, a, fmt.Sprintf("%smany/%d", dir, i), "")
	}
	put(t, a, dir+strings.Repeat("d/", 20)+"deep", "")
	if all, more, err := a.ListWork(first); len(all) != MaxListed || !more || err != nil {
		t.Errorf("%d listed, more %v, %v", len(all), more, err)
	}
}
