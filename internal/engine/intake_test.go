package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/spool"
)

// leaveWord puts a request of alice into the spool, as a gatekeeper does.
func (w *world) leaveWord(n spool.Note) error {
	return spool.Put(filepath.Join(w.dir, "spool"), n, time.Now())
}

func leaveSubmit(key, text string, anew bool) func(*stage) error {
	return func(s *stage) error {
		return s.leaveWord(spool.Note{Verb: spool.VerbSubmit, Handle: jjm.HandleOf(alice.UID, key),
			Submit: &wire.Submit{Name: "j.toml", Text: text, BaseDir: s.dir, Key: key, Anew: anew}})
	}
}

func leaveKill(key string) func(*stage) error {
	return func(s *stage) error {
		return s.leaveWord(spool.Note{Verb: spool.VerbKill, Handle: jjm.HandleOf(alice.UID, key)})
	}
}

// found returns an action that looks up the grid job of a request key by its handle, and stores its id. The action
// fails if an earlier lookup found another grid job.
func found(key string) func(*stage) error {
	return func(s *stage) error {
		id, err := s.engine.Resolve(context.Background(), alice, jjm.HandleOf(alice.UID, key))
		if err == nil && s.ids[key] != 0 && s.ids[key] != id {
			err = fmt.Errorf("%s was grid job %s and is %s", key, s.ids[key], id)
		}
		if err == nil {
			s.ids[key] = id
		}
		return err
	}
}

// anotherThan returns an action that stores, under the name as, the id of the grid job that a request key names now.
// The action fails while the key still names the earlier grid job.
func anotherThan(key, as string) func(*stage) error {
	return func(s *stage) error {
		id, err := s.engine.Resolve(context.Background(), alice, jjm.HandleOf(alice.UID, key))
		if err == nil && id == s.ids[key] {
			err = fmt.Errorf("%s is still grid job %s", key, id)
		}
		if err == nil {
			s.ids[as] = id
		}
		return err
	}
}

func foundRefused(key string) func(*stage) error {
	return func(s *stage) error {
		_, err := s.engine.Resolve(context.Background(), alice, jjm.HandleOf(alice.UID, key))
		var r *wire.Refused
		if errors.As(err, &r) {
			return nil
		}
		return fmt.Errorf("not refused: %w", err)
	}
}

// box returns the folder of alice's spool entries.
func (w *world) box() string {
	return filepath.Join(w.dir, "spool", "in", fmt.Sprintf("u%d", alice.UID))
}

func TestIntake_IgnoresForeignFiles(t *testing.T) {
	t.Parallel()
	inWorld(t, options{spool: true}, func(t *testing.T, w *world) {
		first, err := w.trySubmit(alice, "k", plain(1))
		w.must(err)
		id := first.ID
		h := jjm.HandleOf(alice.UID, "k")
		if got, err := w.engine.Resolve(t.Context(), alice, h); got != id || err != nil {
			t.Fatalf("resolved %v, %v", got, err)
		}
		if _, err := w.engine.Resolve(t.Context(), bob, h); jjm.KindOf(err) != jjm.Denied {
			t.Errorf("bob: %v", err)
		}
		if _, err := w.engine.Resolve(t.Context(), bob, jjm.HandleOf(bob.UID, "none")); jjm.KindOf(err) != jjm.Gone {
			t.Errorf("bob's own, which is not there: %v", err)
		}
		w.must(os.Mkdir(w.box(), 0o700))
		name := func(seq int) string {
			return filepath.Join(w.box(), spool.Name{Seq: int64(seq), Handle: h, Verb: spool.VerbKill}.String())
		}
		if os.Getuid() == 0 { // bob owns the file; else account() of this test would call the request bob's
			text := []byte(fmt.Sprintf(`{"verb":"kill","handle":%q}`, h))
			w.must(errors.Join(os.WriteFile(name(4)+".", text, 0o600), os.Chown(name(4)+".", bob.UID, bob.GID),
				os.Rename(name(4)+".", name(4))))
		}
		w.must(os.WriteFile(name(1), []byte("{}"), 0o600))
		w.must(os.Mkdir(name(2), 0o700))
		w.must(os.WriteFile(filepath.Join(name(2), "x"), nil, 0o600))
		w.must(os.WriteFile(filepath.Join(w.box(), "duplicate"), nil, 0o600))
		w.must(os.WriteFile(filepath.Join(w.dir, "spool", "in", "duplicate"), nil, 0o600))
		w.until(time.Minute, "the spool is taken in", func() bool {
			mine, err := os.ReadDir(w.box())
			w.must(err)
			all, err := os.ReadDir(filepath.Join(w.dir, "spool"))
			w.must(err)
			in, err := os.ReadDir(filepath.Join(w.dir, "spool", "in"))
			w.must(err)
			return len(mine) == 1 && len(all) == 1 && len(in) == 1
		})
		w.until(time.Hour, "it ends", func() bool { return w.allFinal([]jjm.GridID{id}) })
		w.verify(id, done(1))
	})
}
