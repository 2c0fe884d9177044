package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm"
	"jjm/sandbox"
	"jjm/store"
)

// freshStore returns the bytes of an empty store. Making the schema takes longer than most
// tests.
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

// A work area that is older than the store has the outputs of another grid job 1, which must
// not become those of the new one.
func TestPrepare_WorkAreaOfALostStoreIsNotUsed(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		old := filepath.Join(w.dir, "work", "alice", sandbox.AttemptDir(jjm.AttemptID{LocalID: jjm.LocalID{Grid: 1}}))
		w.must(os.MkdirAll(old, 0o700))
		s, err := w.trySubmit(alice, "", mc(1))
		w.must(err)
		w.final(time.Hour, s.ID)
		if l := w.lookup(s.ID); !strings.Contains(l.Message, "jobs/1 has local jobs of another grid job 1") ||
			!strings.Contains(l.Message, "move that folder away") {
			t.Errorf("message %q", l.Message)
		}
		w.verify(s.ID, want{status: jjm.Broken, gram: jjm.GRAMFailed, jobs: 0})
	})
}
