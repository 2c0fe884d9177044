package serve

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTail_IsBoundedByWhatTheFileHadWhenItWasOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	write("one\ntwo\nthree\n")
	read := func(last int64, meanwhile string) string {
		t.Helper()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := tail(f, last)
		if err != nil {
			t.Fatal(err)
		}
		write(meanwhile)
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for last, want := range map[int64]string{
		0: "one\ntwo\nthree\n", 100: "one\ntwo\nthree\n", 14: "one\ntwo\nthree\n", 8: "three\n", 7: "three\n", 6: "three\n",
		3: "ee\n", 1: "\n",
	} {
		if got := read(last, ""); got != want {
			t.Errorf("the last %d: %q, want %q", last, got, want)
		}
	}
	if got := read(0, "more\n"); got != "one\ntwo\nthree\n" {
		t.Errorf("what grows meanwhile is read: %q", got)
	}
	if r, err := tail(strings.NewReader("no file"), 3); err != nil {
		t.Error(err)
	} else if text, _ := io.ReadAll(r); !bytes.Equal(text, []byte("no file")) {
		t.Errorf("%q", text)
	}
}
