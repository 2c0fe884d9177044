package answer

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"jjm/sandbox"
)

// tarOf returns a tar of n files of one byte, t/0 and so on.
func tarOf(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range n {
		err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("t/out.%d", i), Mode: 0o644, Size: 1})
		if _, more := w.Write([]byte("x")); errors.Join(err, more) != nil {
			t.Fatal(err, more)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The list of a tar of any number of files has one file above the limit, as sendList needs it, and the rest of the tar
// is not read.
func TestListTar_StopsAtTheLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ has, want int }{
		{0, 0}, {3, 3}, {mostOutputs, mostOutputs}, {mostOutputs + 1, mostOutputs + 1}, {mostOutputs + 100, mostOutputs + 1},
	} {
		left := bytes.NewReader(tarOf(t, test.has))
		files, err := listTar(left)
		if err != nil || len(files) != test.want {
			t.Errorf("a tar of %d files: %d files are listed, want %d: %v", test.has, len(files), test.want, err)
		}
		if test.has > mostOutputs+1 && left.Len() == 0 {
			t.Errorf("a tar of %d files was read to its end", test.has)
		}
	}
}

// A file behind the limit of lists is found too, and so is the name that was probably meant.
func TestFindInTar_BeyondTheLimitOfLists(t *testing.T) {
	t.Parallel()
	const last = mostOutputs + 9
	all := tarOf(t, last+1)
	content, size, near, err := findInTar(bytes.NewReader(all), fmt.Sprintf("out.%d", last))
	if err != nil || content == nil || size != 1 {
		t.Fatalf("size %d, near %q: %v", size, near, err)
	}
	if b, err := io.ReadAll(content); err != nil || string(b) != "x" {
		t.Errorf("content %q: %v", b, err)
	}
	for name, want := range map[string]string{fmt.Sprintf("out,%d", last): fmt.Sprintf("out.%d", last), "a.html": ""} {
		content, _, near, err := findInTar(bytes.NewReader(all), name)
		if content != nil || near != want || err != nil {
			t.Errorf("%s: near %q, want %q: %v", name, near, want, err)
		}
	}
}

// The list of an unfinished grid job reads no further entry once it has one file above the limit.
func TestFirstFiles_StopsAtTheLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ has, want int }{
		{0, 0}, {3, 3}, {mostOutputs, mostOutputs}, {mostOutputs + 100, mostOutputs + 1},
	} {
		read := 0
		files, err := firstFiles(func(yield func(sandbox.TarEntry, error) bool) {
			for i := range test.has {
				read++
				if !yield(sandbox.TarEntry{Name: fmt.Sprintf("out.%d", i), Path: "out"}, nil) {
					return
				}
			}
		})
		if err != nil || len(files) != test.want || read != test.want {
			t.Errorf("of %d entries %d are read and %d listed, want %d: %v", test.has, read, len(files), test.want, err)
		}
	}
}
