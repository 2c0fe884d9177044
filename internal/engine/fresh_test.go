package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/sandbox"
)

// freshStore returns the bytes of an empty store. It makes them once, because making the tables of a store takes longer
// than most tests.
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

// putFreshStore writes an empty store into a folder.
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

// A work area is older than the store, and has the outputs of an earlier grid job 1. The new grid job gets another id,
// so that its outputs do not mix with these.
func TestAccept_SkipsTheIDOfAFolder(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.must(os.MkdirAll(filepath.Join(w.dir, "work", "alice", "jobs", "1"), 0o700))
		w.must(os.MkdirAll(filepath.Join(w.dir, "records", "3"), 0o700))
		for _, want := range []jjm.GridID{2, 4, 5} {
			if s, err := w.trySubmit(alice, "", mc(1)); err != nil || s.ID != want {
				t.Errorf("grid job %v, %v, want %d", s.ID, err, want)
			}
		}
	})
}

// A folder with the outputs of an earlier grid job 2 appears after the daemon read which folders exist. The new grid
// job 2 ends as broken, and its message names the folder, so that these outputs do not become its own.
func TestPrepare_WorkAreaOfALostStoreIsNotUsed(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		first, err := w.trySubmit(alice, "", mc(1))
		w.must(err)
		w.final(time.Hour, first.ID)
		old := filepath.Join(w.dir, "work", "alice", sandbox.AttemptDir(jjm.AttemptID{LocalID: jjm.LocalID{Grid: 2}}))
		w.must(os.MkdirAll(old, 0o700))
		s, err := w.trySubmit(alice, "", mc(1))
		w.must(err)
		w.final(time.Hour, s.ID)
		if l := w.lookup(s.ID); !strings.Contains(l.Message, "jobs/2 has local jobs of another grid job 2") ||
			!strings.Contains(l.Message, "move that folder away") {
			t.Errorf("message %q", l.Message)
		}
		w.verify(s.ID, want{status: jjm.Broken, gram: jjm.GRAMFailed, jobs: 0})
	})
}
