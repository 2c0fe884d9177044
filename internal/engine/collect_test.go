package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// recorded writes an output file and a result of l with the size and checksum of this file, as the wrapper does. It
// returns the path of the output file.
func (w *world) recorded(l jjm.LocalJob, text string) (file string) {
	w.t.Helper()
	dir := filepath.Join(w.area(owner(alice)).Root(), sandbox.AttemptDir(l.AttemptID()), sandbox.WorkName)
	w.must(os.MkdirAll(dir, 0o700))
	file = filepath.Join(dir, "out.dat")
	w.must(os.WriteFile(file, []byte(text), 0o600))
	sum := sha256.Sum256([]byte(text))
	w.plant(w.doneFolder(l), fmt.Sprintf("%d.json", l.Pos), forged(l, func(r *jjm.Result) {
		r.Outputs = []jjm.Output{{Name: "work/out.dat", Bytes: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}}
	}))
	return file
}

func TestCollect_OutputsThatDifferFromTheResultAreNotDone(t *testing.T) {
	t.Parallel()
	spoils := map[string]func(w *world, file string){
		"as recorded": nil,
		"changed":     func(w *world, file string) { w.must(os.WriteFile(file, []byte("tampered"), 0o600)) },
		"removed":     func(w *world, file string) { w.must(os.Remove(file)) },
	}
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour}}, func(t *testing.T, w *world) {
				id := w.submit(alice, plain(2))
				w.running(id, 2)
				locals := w.locals(id)
				file := w.recorded(locals[0], "original")
				w.until(time.Minute, "the first is completed", func() bool { return w.lookup(id).Counts.Completed == 1 })
				want := "done"
				if spoil != nil {
					spoil(w, file)
					want = "finished"
				}
				w.recorded(locals[1], "another")
				w.final(time.Hour, id)
				l := w.lookup(id)
				if l.Status != want || l.GRAM != jjm.GRAMDone || (l.Exit == 0) != (want == "done") ||
					strings.Contains(l.Message, "1 of 2 recorded outputs") != (want == "finished") {
					t.Errorf("%s, GRAM %d, exit %d, %q; want %s", l.Status, l.GRAM, l.Exit, l.Message, want)
				}
				files, err := tarFiles(w.tarBytes(id))
				w.must(err)
				head := files["plain/record/record.xml"]
				if !strings.Contains(head, `status="`+want+`"`) || !strings.Contains(head, ` ended="`) {
					t.Errorf("the record in the tar: %s", head)
				}
			})
		})
	}
}

func TestOutput_PartialListsUnfinishedLocalJobs(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour, Slots: 1}}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(2))
		w.running(id, 1)
		l := w.locals(id)[0]
		dir := filepath.Join(w.area(owner(alice)).Root(), sandbox.AttemptDir(l.AttemptID()))
		w.must(os.MkdirAll(dir, 0o700))
		w.must(os.WriteFile(filepath.Join(dir, "stdout"), []byte("so far"), 0o600))
		files, err := tarFiles(w.partial(id))
		w.must(err)
		if got := files["plain/plain."+l.ID.String()+".stdout"]; got != "so far" {
			t.Errorf("standard output of the running job: %q", got)
		}
		if m := files["plain/manifest.json"]; strings.Contains(m, "never started") ||
			!strings.Contains(m, "not ended: submitted") {
			t.Errorf("manifest: %s", m)
		}
	})
}

func TestOutput_PartialForManyAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: 10 * time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(2))
		w.running(id, 2)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5 {
					w.partial(id)
				}
			})
		}
		all.Wait()
		folder := filepath.Join(w.area(owner(alice)).Root(), "jobs", id.String(), "output")
		if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

// A daemon was killed while it wrote the tar of a grid job. The next daemon removes the partial file when the tar is
// complete.
func TestCollect_RemovesThePartialTarOfAnEarlierDaemon(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(1))
		w.running(id, 1)
		folder := filepath.Join(w.area(owner(alice)).Root(), "jobs", id.String(), "output")
		w.must(os.MkdirAll(folder, 0o700))
		w.must(os.WriteFile(filepath.Join(folder, ".tmp-x"), []byte("half"), 0o600))
		w.final(3*time.Hour, id)
		if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
			t.Errorf("beside the tar: %v, %v", left, err)
		}
	})
}

// partial returns the tar of a grid job that has not ended. It checks the size and the checksum.
func (w *world) partial(id jjm.GridID) []byte {
	r, size, out, err := w.engine.Output(context.Background(), alice, all(id), wire.Wanted{Partial: true})
	if err != nil {
		w.t.Error(err)
		return nil
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	sum := sha256.Sum256(b)
	if err != nil || int64(len(b)) != size || hex.EncodeToString(sum[:]) != out.SHA256 || !out.Partial {
		w.t.Errorf("%d bytes of %d, %+v, %v", len(b), size, out, err)
	}
	return b
}

// A grid job with several local jobs that is not done has the exit code exit_not_done of the configuration. A grid job
// with one local job has that local job's exit code. A grid job that is done has exit code 0 (R11).
func TestFinal_TheExitCodeOfAGridJobThatIsNotDone(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.Grid != 3 && id.N == 0 {
			return adaptertest.Play{Keyword: "-", Exit: 7}
		}
		return adaptertest.Play{}
	}
	o := options{play: play, config: func(c *engine.Config) { c.ExitNotDone = 42; c.Retry = jjm.Limits{} }}
	inWorld(t, o, func(t *testing.T, w *world) {
		several, one, well := w.submit(alice, plain(2)), w.submit(alice, plain(1)), w.submit(alice, plain(2))
		w.final(2*time.Hour, several, one, well)
		for id, want := range map[jjm.GridID]int{several: 42, one: 7, well: 0} {
			if l := w.lookup(id); l.Exit != want {
				t.Errorf("%s of %d: exit %d, want %d", l.Status, id, l.Exit, want)
			}
		}
	})
}
