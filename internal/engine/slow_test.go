package engine_test

import (
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/sys/tree"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

var (
	carol   = wire.Caller{UID: 70002, GID: 70002, User: "carol"}
	mallory = wire.Caller{UID: 70003, GID: 70003, User: "mallory"}
)

// slowUsers makes the file operations of one account slow, as if its owner stopped the helper process again and again,
// or as if the storage were overloaded.
type slowUsers struct {
	user string
	act  atomic.Int64 // how long each file operation takes, in nanoseconds
}

var _ engine.Users = (*slowUsers)(nil)

func (u *slowUsers) Area(o jjm.Owner, root string) (sandbox.FS, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(root)
	if err != nil || o.User != u.user {
		return r, err
	}
	return &slowFS{r, u}, nil
}

func (u *slowUsers) Open(_ jjm.Owner, path string) (io.ReadCloser, error) { return os.Open(path) }

func (u *slowUsers) OpenTree(_ jjm.Owner, path string, most tree.Most) (*tree.Source, error) {
	return tree.Read(path, most)
}

func (u *slowUsers) Runner(jjm.Owner) run.Runner { return nil }

// wait delays operations on the paths of jobs only. Operations in the folder bin are not delayed, because the engine
// installs its wrapper there while it holds a mutex, and a bubble's time stands still meanwhile.
func (u *slowUsers) wait(name string) {
	if strings.HasPrefix(name, "bulks/") || strings.HasPrefix(name, "jobs/") {
		time.Sleep(time.Duration(u.act.Load()))
	}
}

type slowFS struct {
	sandbox.FS
	of *slowUsers
}

func (f *slowFS) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	f.of.wait(name)
	return f.FS.OpenFile(name, flag, perm)
}

func (f *slowFS) MkdirAll(name string, perm os.FileMode) error {
	f.of.wait(name)
	return f.FS.MkdirAll(name, perm)
}

func (f *slowFS) Rename(oldname, newname string) error {
	f.of.wait(oldname)
	return f.FS.Rename(oldname, newname)
}

func (f *slowFS) RemoveAll(name string) error {
	f.of.wait(name)
	return f.FS.RemoveAll(name)
}

func (f *slowFS) Stat(name string) (os.FileInfo, error) {
	f.of.wait(name)
	return f.FS.Stat(name)
}

func (f *slowFS) Lstat(name string) (os.FileInfo, error) {
	f.of.wait(name)
	return f.FS.Lstat(name)
}

// Every file operation for one account takes nearly as long as allowed, in all stages of its
// jobs. Another account's jobs take no longer than usual.
func TestSlow_ASlowAccountDelaysNoOther(t *testing.T) {
	t.Parallel()
	users := &slowUsers{user: mallory.User}
	sim := adaptertest.SimConfig{Life: time.Minute}
	inWorld(t, options{sim: sim, users: users}, func(t *testing.T, w *world) {
		first := w.submit(bob, mc(3))
		w.final(time.Hour, first)
		alone := w.took(first)
		for range 12 { // so that bulks of the slow account stay open
			w.submit(mallory, mc(3))
		}
		w.pass(30 * time.Second)
		users.act.Store(int64(19 * time.Second))
		for i := range 8 {
			for range 3 {
				w.submit(mallory, mc(3))
			}
			if i == 4 {
				w.reopen() // the start of the daemon does not wait either
			}
			id := w.submit([]wire.Caller{bob, carol}[i%2], mc(3))
			w.final(time.Hour, id)
			if took := w.took(id); took > 3*alone {
				t.Errorf("grid job %s took %v, and %v without the other account", id, took, alone)
			}
		}
		users.act.Store(0)
		w.until(3*time.Hour, "all of the slow account are over", func() bool { return w.engineIdle() })
		w.verifyQuiet()
	})
}

// took returns the time from the acceptance to the end of a grid job, by the engine's clock.
func (w *world) took(id jjm.GridID) time.Duration {
	w.t.Helper()
	job, err := w.store.Grid(w.t.Context(), id)
	w.must(err)
	return job.Ended.Sub(job.Accepted)
}

// engineIdle reports whether no grid job is live.
func (w *world) engineIdle() bool {
	live, err := w.store.Live(w.t.Context())
	w.must(err)
	return len(live.Grids) == 0
}
