package engine_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"jjm/store"
)

// freshStore returns the bytes of a store in which nothing happened yet: to make
// the schema costs more than most tests do afterwards, and is not what they are
// about.
var freshStore = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "jjm-store-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "store.db")
	s, err := store.Open(path, store.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// putFreshStore puts one into a folder.
func putFreshStore(t testing.TB, dir string) {
	t.Helper()
	b, err := freshStore()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "store.db"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
