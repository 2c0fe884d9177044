package local_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/local"
	"jjm/internal/jjm"
)

// disk records which parts of the spool survive a loss of power: the synced content of files, and the names that were
// in a folder when the folder was synced.
type disk struct {
	files   map[string][]byte
	names   map[string][]string
	refuses error // the answer to the next sync
	syncs   int
}

// sync replaces the function Adapter.Sync. It records what was synced. If refuses is set, sync returns this error
// once and records nothing.
func (d *disk) sync(f *os.File) error {
	d.syncs++
	if err := d.refuses; err != nil {
		d.refuses = nil
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		d.files[f.Name()], err = os.ReadFile(f.Name())
		return err
	}
	entries, err := os.ReadDir(f.Name())
	d.names[f.Name()] = nil
	for _, e := range entries {
		d.names[f.Name()] = append(d.names[f.Name()], e.Name())
	}
	return err
}

// kept returns the synced part of the log of the first spool entry.
func (d *disk) kept(t *testing.T, state string) []byte {
	t.Helper()
	dir := filepath.Join(state, "spool", "1")
	for _, name := range d.names[dir] {
		if name == "log" {
			return d.files[filepath.Join(dir, "log")]
		}
	}
	return nil
}

// afterPower returns the states of a bulk's jobs in a copy of the spool with the given log.
func afterPower(t *testing.T, state string, b adapters.Bulk, log []byte) []jjm.Report {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, "spool", "1", "log"), log, 0o600); err != nil {
		t.Fatal(err)
	}
	a := openWarned(t, copied, config(4), &warnings{}, time.Now) // may warn about the line that was cut
	defer a.Close()
	return list(t, a, b)
}

// openOn opens a spool whose syncs the disk records.
func openOn(t *testing.T, state string, d *disk) *local.Adapter {
	t.Helper()
	a := open(t, state, config(1))
	d.files, d.names = map[string][]byte{}, map[string][]string{}
	a.Sync = d.sync
	return a
}

// A cancel that was confirmed survives a loss of power, wherever the log is cut after its synced part: no job that
// waited can start. This also holds for a bulk of which no job ever ran, whose log is new.
func TestCrash_ALossOfPowerBringsNoCancelledJobBack(t *testing.T) {
	t.Parallel()
	for _, runs := range []bool{false, true} {
		t.Run(fmt.Sprintf("one runs: %v", runs), func(t *testing.T) {
			t.Parallel()
			state, d := t.TempDir(), &disk{}
			a := openOn(t, state, d)
			b := shell(t, 20, "echo x >> ran; exec sleep 1000")
			submit(t, a, b)
			waited := int32(0)
			if runs {
				serve(t, a)
				waitFor(t, "one job runs", func() bool { return lines(t, b, "ran") == 1 })
				waited = 1
			}
			cancelBulk(t, a, b, nil)
			answered := d.kept(t, state)
			if runs {
				waitEnd(t, a, b)
			}
			whole, err := os.ReadFile(filepath.Join(state, "spool", "1", "log"))
			if err != nil {
				t.Fatal(err)
			}
			if runs == (len(whole) == len(answered)) {
				t.Fatalf("%d bytes of %d were synced", len(answered), len(whole))
			}
			for size := len(answered); size <= len(whole); size++ {
				for _, r := range afterPower(t, state, b, whole[:size])[waited:] {
					if r.State != jjm.BatchCancelled || r.Started != 0 {
						t.Fatalf("%d bytes of the log, %d were synced: %+v", size, len(answered), r)
					}
				}
			}
		})
	}
}

// If the log of a cancel cannot be synced, the cancel returns an error, and so does every repetition until the log is
// synced.
func TestCancel_IsAnErrorUntilItsLogIsSynced(t *testing.T) {
	t.Parallel()
	state, d := t.TempDir(), &disk{}
	a := openOn(t, state, d)
	b := shell(t, 5, "exit 0")
	submit(t, a, b)
	broken := errors.New("the disk is broken")
	for range 2 {
		d.refuses = broken
		cancelBulk(t, a, b, broken)
	}
	cancelBulk(t, a, b, nil)
	for _, r := range afterPower(t, state, b, d.kept(t, state)) {
		if r.State != jjm.BatchCancelled {
			t.Errorf("%+v", r)
		}
	}
	before := d.syncs
	if cancelBulk(t, a, b, nil); d.syncs != before {
		t.Error("what is synced is synced again")
	}
}

// cancelBulk cancels all jobs of a bulk in one call, and requires that the result for each job is want, nil for
// success.
func cancelBulk(t *testing.T, a *local.Adapter, b adapters.Bulk, want error) {
	t.Helper()
	var refs []adapters.Ref
	for i := range b.N {
		refs = append(refs, adapters.Ref{Tag: b.Tag, Index: int32(i)})
	}
	answers, err := a.Control(t.Context(), self(), adapters.Cancel, refs)
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range answers {
		if !errors.Is(err, want) {
			t.Errorf("job %d: %v, want %v", i, err, want)
		}
	}
}
