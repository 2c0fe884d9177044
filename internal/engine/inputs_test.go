package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

// Bob's job files name files that bob cannot read. Root could read them, and root is the account of these tests and of
// a gatekeeper. The submissions must be refused.
func TestInputs_AreReadWithTheOwnersRightsOnly(t *testing.T) {
	t.Parallel()
	needs.Root(t, "to make files of several accounts")
	inWorld(t, options{account: service}, func(t *testing.T, w *world) {
		w.must(os.Chmod(w.dir, 0o755))
		home := filepath.Join(w.dir, "bob")
		w.must(os.Mkdir(home, 0o755))
		put := func(name, text string, uid int) string {
			path := filepath.Join(w.dir, name)
			w.must(os.WriteFile(path, []byte(text), 0o600))
			w.must(os.Chown(path, uid, uid))
			return path
		}
		secret := put("secret", "geheim", 0)
		put("bob/own", "mine", bob.UID)
		w.must(os.Symlink(secret, filepath.Join(home, "link")))
		input := func(path string) string { return mc(1, "[[inputs]]", `path = "`+path+`"`) }
		for _, path := range []string{secret, "bob/link", "bob/../secret", filepath.Join(w.dir, "store.db")} {
			_, err := w.trySubmit(bob, "", input(path))
			if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "inputs[0].path") ||
				!strings.Contains(err.Error(), "permission denied") {
				t.Errorf("%s: %v", path, err)
			}
			if _, err := w.trySubmit(admin, "", input(path)); err != nil {
				t.Errorf("%s for root: %v", path, err)
			}
		}
		// Bob's file is replaced by a link after the grid job was accepted.
		blocked := filepath.Join(w.dir, "work", "bob") // without a work area the grid job waits to be prepared
		w.must(os.WriteFile(blocked, nil, 0o600))
		s, err := w.trySubmit(bob, "", input("bob/own"))
		w.must(err)
		w.pass(time.Minute)
		w.must(os.Remove(filepath.Join(home, "own")))
		w.must(os.Symlink(secret, filepath.Join(home, "own")))
		w.must(os.Remove(blocked))
		w.adapter.onSubmit.set(func(b adapters.Bulk) {
			if b.Owner == owner(bob) {
				t.Error("a bulk of it was submitted")
			}
		})
		w.final(time.Hour, s.ID)
		if l := w.lookup(s.ID); l.Status != jjm.Broken.String() || !strings.Contains(l.Message, "may not read it") {
			t.Errorf("%s: %s", l.Status, l.Message)
		}
		filepath.WalkDir(filepath.Join(w.dir, "work", "bob"), func(path string, d os.DirEntry, err error) error {
			if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), "geheim") {
				t.Errorf("%s holds the secret", path)
			}
			return err
		})
	})
}

// max_input_bytes limits all inputs of a grid job together. The apparent size of a sparse file counts. If a file grows
// after its grid job was accepted, the grid job ends as broken, and its package is removed.
func TestInputs_HaveABoundInAll(t *testing.T) {
	t.Parallel()
	inWorld(t, options{config: func(c *engineConfig) { c.MaxInputBytes = 1000 }}, func(t *testing.T, w *world) {
		file := func(name string, size int64) string {
			path := filepath.Join(w.dir, name)
			w.must(os.WriteFile(path, nil, 0o644))
			w.must(os.Truncate(path, size))
			return path
		}
		job := func(paths ...string) string {
			var text []string
			for _, path := range paths {
				text = append(text, "[[inputs]]", `path = "`+path+`"`)
			}
			return mc(1, text...)
		}
		half, other := file("half", 600), file("other", 600)
		for what, paths := range map[string][]string{"one": {file("hole", 1<<40)}, "two": {half, other}} {
			_, err := w.trySubmit(alice, "", job(paths...))
			if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "engine.max_input_bytes") {
				t.Errorf("%s: %v", what, err)
			}
		}
		blocked := filepath.Join(w.dir, "work", "alice") // without a work area the grid job waits to be prepared
		w.must(os.WriteFile(blocked, nil, 0o600))
		s, err := w.trySubmit(alice, "", job(half))
		w.must(err)
		w.pass(time.Minute)
		w.must(os.Truncate(half, 1<<40))
		w.must(os.Remove(blocked))
		w.final(time.Hour, s.ID)
		if l := w.lookup(s.ID); l.Status != jjm.Broken.String() || !strings.Contains(l.Message, "more than the 1000 bytes") {
			t.Errorf("%s: %s", l.Status, l.Message)
		}
		if left, _ := filepath.Glob(filepath.Join(w.dir, "work/alice/packages/*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}
