package engine_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// writtenAt matches the attribute with the time at which a file of a record was written.
var writtenAt = regexp.MustCompile(` written="[^"]*"`)

// recordFiles returns the contents of the files and links below the folder of the records, by name, without the times
// of writing. It leaves out the grid job leave, because the record of an unfinished grid job changes.
func (w *world) recordFiles(leave jjm.GridID) map[string]string {
	w.t.Helper()
	files, root := map[string]string{}, filepath.Join(w.dir, "records")
	w.must(filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if err != nil || d.IsDir() || strings.HasPrefix(name, leave.String()+"/") {
			return err
		}
		if d.Type()&os.ModeSymlink != 0 {
			files[name], err = os.Readlink(path)
			return err
		}
		text, err := os.ReadFile(path)
		files[name] = writtenAt.ReplaceAllString(string(text), "")
		return err
	}))
	return files
}

// loseRecords empties the records folder by removing the folder and creating it again.
func (w *world) loseRecords() {
	w.t.Helper()
	dir := filepath.Join(w.dir, "records")
	w.must(os.RemoveAll(dir))
	w.must(os.Mkdir(dir, 0o755))
}

// If the records are lost, the daemon writes the records of all grid jobs in its store again: of a running grid job, of
// ended grid jobs with two generations, of a merge, and of a grid job with two shards. The records can also be read by
// handles. The record of a removed grid job is not written.
func TestMend_LostRecordsAreMadeAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1, 4), chunk: 200}, func(t *testing.T, w *world) {
		first, err := w.trySubmit(alice, "k", mc(6))
		w.must(err)
		merged := w.submit(alice, mc(4)+mergeTwo)
		gone := w.submit(alice, mc(1))
		w.final(time.Hour, first.ID, merged, gone)
		w.resubmit(false, first.ID.String())
		w.over(time.Hour, first.ID)
		w.final(time.Hour, first.ID)
		w.must(w.remove(alice, true, gone)[0].Error.Err())
		w.until(time.Hour, "removed", func() bool { return w.removed(gone) })
		w.give(wire.Order{Verb: jjm.OrderPause, Kind: jjm.OrderUser, Name: "alice", Reason: "a test"})
		two := w.submit(alice, mc(1001))
		w.until(time.Hour, "all local jobs", func() bool { return w.lookup(two).Counts.Total == 1001 })
		w.must(w.engine.Kill(t.Context(), alice, []jjm.Ref{all(two)}, wire.KillHow{})[0].Error.Err())
		w.final(time.Hour, two)
		live := w.submit(alice, mc(1))
		w.until(time.Minute, "its record", func() bool { return w.hasRecord(live) })
		want := w.recordFiles(live)
		if len(want) < 8 || want["4/jobs-0001.xml"] == "" {
			t.Fatalf("too few files: %d", len(want))
		}
		again := func(when string) {
			t.Helper()
			w.until(time.Hour, "the records again "+when, func() bool {
				return w.hasRecord(live) && len(w.recordFiles(live)) >= len(want)
			})
			w.pass(time.Minute)
			if d := cmp.Diff(want, w.recordFiles(live)); d != "" {
				t.Errorf("%s (-before +after): %s", when, d)
			}
		}
		w.loseRecords()
		again("while the daemon runs")
		w.shut()
		w.loseRecords()
		w.open()
		again("after a start")
		w.must(os.Remove(filepath.Join(w.dir, "records", two.String(), "jobs-0001.xml")))
		w.reopen()
		again("of which one shard was lost")
	})
}

// hasRecord reports whether a grid job has the head of a record.
func (w *world) hasRecord(id jjm.GridID) bool {
	_, err := os.Stat(filepath.Join(w.dir, "records", id.String(), "record.xml"))
	return err == nil
}
