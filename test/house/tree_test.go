package house_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
)

// The repository has no program that was built and added by mistake.
func TestTree_HoldsNoPrograms(t *testing.T) {
	inTree(t)
	for _, name := range tracked(t) {
		if !strings.Contains(name, "/testdata/") && isProgram(t, name) {
			t.Errorf("%s is a program: git rm --cached it", name)
		}
	}
	self, err := os.Executable()
	if err != nil || !isProgram(t, self) {
		t.Errorf("the program of this test is not seen to be one (%v)", err)
	}
}

// The root of the repository has only a few entries, so that a reader sees the contracts and the documents first.
func TestTree_TheRootHasFewEntries(t *testing.T) {
	inTree(t)
	const most = 16
	var root []string
	for _, name := range tracked(t) {
		if first, _, _ := strings.Cut(name, "/"); first[0] != '.' && !slices.Contains(root, first) {
			root = append(root, first)
		}
	}
	if len(root) > most {
		t.Errorf("the root has %d entries, want %d at most: %s", len(root), most, strings.Join(root, " "))
	}
}

// tracked returns the paths of the files that git tracks, relative to the root.
func tracked(t *testing.T) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	text, err := list.Output()
	if err != nil {
		needs.Missing(t, "the repository: git ls-files: "+err.Error(), "run the tests in a clone")
	}
	names := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	if len(names) < 100 {
		t.Fatalf("git knows %d files", len(names))
	}
	return names
}

// isProgram reports whether a file begins like an ELF program.
func isProgram(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if os.IsNotExist(err) { // the file was removed, and the removal is not yet committed
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var head [4]byte
	n, _ := f.Read(head[:])
	return bytes.Equal(head[:n], []byte("\x7fELF"))
}
