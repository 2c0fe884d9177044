package gatekeepers_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"testing"
)

// tarOf reads a tar that a gatekeeper returned. It returns the content of each file by the last element of its name. A
// tar that is cut off fails the test.
func tarOf(t *testing.T, name string) map[string]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := map[string]string{}
	r := tar.NewReader(f)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, h.Name, err)
		}
		files[path.Base(h.Name)] = string(text)
	}
	return files
}

// wantTar checks that a tar has files with these endings and contents, and that its manifest names each.
func wantTar(t *testing.T, name string, want map[string]string) {
	t.Helper()
	files := tarOf(t, name)
	manifest := ""
	for file, text := range files {
		if strings.Contains(strings.ToLower(file), "manifest") {
			manifest = text
		}
	}
	if manifest == "" {
		t.Errorf("%s has no manifest: %v", name, keys(files))
	}
	for ending, content := range want {
		found := false
		for file, text := range files {
			if strings.HasSuffix(file, ending) {
				found = true
				if text != content {
					t.Errorf("%s: %s holds %q, want %q", name, file, text, content)
				}
				if !strings.Contains(manifest, file) {
					t.Errorf("%s: the manifest does not name %s:\n%s", name, file, manifest)
				}
			}
		}
		if !found {
			t.Errorf("%s has no file that ends in %s: %v", name, ending, keys(files))
		}
	}
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}
