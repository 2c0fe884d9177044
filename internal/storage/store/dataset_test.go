package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// sampleFiles returns n files of 100 events and 1000 bytes each. The number from is in the name of the first file.
func sampleFiles(from, n int) []jjm.File {
	files := make([]jjm.File, n)
	for i := range files {
		files[i] = jjm.File{LFN: fmt.Sprintf("f%06d", from+i), Size: 1000, Events: 100, Added: 7}
	}
	return files
}

// dataset makes a dataset with n files.
func dataset(tb testing.TB, s *Store, name string, n int) (id DatasetID) {
	tb.Helper()
	update(tb, s, func(tx *Tx) (err error) {
		if id, _, err = tx.PutDataset(501, jjm.Dataset{Name: name}); err == nil {
			_, err = tx.AddFiles(id, sampleFiles(0, n))
		}
		return err
	})
	return id
}

// reader stores a grid job that reads a dataset and has noticed all files of the dataset.
func reader(tb testing.TB, s *Store, id DatasetID) *jjm.GridJob {
	tb.Helper()
	g := sampleGrid()
	update(tb, s, func(tx *Tx) error {
		if err := tx.InsertGrid(g); err != nil {
			return err
		}
		err := tx.OpenInputs(g.ID, 0, []Reads{{Dataset: id, Master: true}})
		if err == nil {
			_, _, err = tx.NoticeFiles(g.ID, 0, maxLocal)
		}
		return err
	})
	return g
}

func TestDataset_KeepsTheOrderOfItsFiles(t *testing.T) {
	s := fresh(t)
	full := jjm.File{LFN: "z/first", Size: 5, Events: 9, FirstEvent: 3, Checksum: "ad:1", Group: "b1", Added: 12,
		Lumis:     []jjm.LumiRange{{Run: 1, First: 2, Last: 3}, {Run: 4294967295, First: 1, Last: 0}},
		Locations: []string{"A", "B"}, Parents: []string{"p"}}
	id := dataset(t, s, "raw", 0)
	files := append([]jjm.File{full}, sampleFiles(0, 3)...)
	for _, want := range []int{4, 0} { // the second call adds nothing
		update(t, s, func(tx *Tx) error {
			added, err := tx.AddFiles(id, append(files, files[0]))
			if added != want {
				t.Errorf("added %d, want %d", added, want)
			}
			return err
		})
	}
	var got []jjm.File
	err := s.Files(context.Background(), id, 0, 0, func(n int64, f jjm.File) error {
		if int(n) != len(got) {
			t.Errorf("file %d comes as number %d", len(got), n)
		}
		got = append(got, f)
		return nil
	})
	if diff := cmp.Diff(files, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	d, err := s.DatasetNamed(context.Background(), 501, "raw")
	if err != nil || d.Files != 4 || d.Events != 309 || d.Bytes != 3005 || d.Closed != 0 {
		t.Errorf("%+v %v", d, err)
	}
	_, err = s.DatasetNamed(context.Background(), 502, "raw")
	wantKind(t, err, jjm.Gone)
}

func TestDataset_ClosedTakesNoMoreFiles(t *testing.T) {
	s := fresh(t)
	id := dataset(t, s, "raw", 2)
	for _, want := range []bool{true, false} {
		update(t, s, func(tx *Tx) error {
			changed, err := tx.CloseDataset(id)
			if changed != want {
				t.Errorf("changed %v, want %v", changed, want)
			}
			return err
		})
	}
	add := func(files []jjm.File) error {
		return s.Update(context.Background(), func(tx *Tx) error { _, err := tx.AddFiles(id, files); return err })
	}
	if err := add(sampleFiles(0, 2)); err != nil {
		t.Errorf("the files that it has: %v", err)
	}
	wantKind(t, add(sampleFiles(1, 2)), jjm.Conflict)
	if err := raw(s, "UPDATE datasets SET closed = 0"); err == nil {
		t.Error("a closed dataset was opened again")
	}
}

func TestDataset_RefusesHostileNamesAndNumbers(t *testing.T) {
	s := fresh(t)
	id := dataset(t, s, "raw", 1)
	for _, f := range []jjm.File{{}, {LFN: "a\nb"}, {LFN: "a\xff"}, {LFN: strings.Repeat("x", maxLFN+1)},
		{LFN: "a", Size: -1}, {LFN: "a", Events: -1}} {
		err := s.Update(context.Background(), func(tx *Tx) error {
			_, err := tx.AddFiles(id, append(sampleFiles(5, 3), f))
			return err
		})
		wantKind(t, err, jjm.Invalid)
	}
	for _, name := range []string{"", "a\x00", strings.Repeat("d", 256), "\xc3"} {
		wantKind(t, s.Update(context.Background(), func(tx *Tx) error {
			_, _, err := tx.PutDataset(501, jjm.Dataset{Name: name})
			return err
		}), jjm.Invalid)
	}
	wantKind(t, s.Update(context.Background(), func(tx *Tx) error {
		_, err := tx.AddFiles(99, sampleFiles(0, 1))
		return err
	}), jjm.Gone)
	if n := number(t, s, "SELECT files FROM datasets"); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
}

// fileJob returns a new local job whose part consists of whole files.
func fileJob(g *jjm.GridJob, n int, first int64, lfns ...string) jjm.LocalJob {
	return jjm.LocalJob{ID: jjm.LocalID{Grid: g.ID, N: int32(n)}, Exit: -1,
		Part: jjm.Part{Unit: jjm.UnitFile, First: first,
			Count: int64(len(lfns)), Serial: int64(n) + 1, Input: &jjm.PartInput{Files: lfns}}}
}

// halfRead returns a store in which grid job 1 reads a dataset of 4 files. Local job 0 owned files 0 and 1, failed, and
// gave them back. Local job 1 owns file 2, and nobody owns file 3.
func halfRead(tb testing.TB) (*Store, *jjm.GridJob) {
	tb.Helper()
	s := fresh(tb)
	g := reader(tb, s, dataset(tb, s, "raw", 4))
	ls := []jjm.LocalJob{fileJob(g, 0, 0, "f000000", "f000001"), fileJob(g, 1, 2, "f000002")}
	update(tb, s, func(tx *Tx) error { return tx.InsertLocals(ls) })
	update(tb, s, func(tx *Tx) error {
		ls[0].State = jjm.Failed
		return errors.Join(tx.SaveLocals([]*jjm.LocalJob{&ls[0]}), tx.EndInputs([]*jjm.LocalJob{&ls[0]}),
			tx.GiveBack([]jjm.LocalID{ls[0].ID}))
	})
	return s, g
}

var inputLies = []struct{ name, sql, want string }{
	{"overlap", `INSERT INTO cover_input (grid, local, step, file, run, first, last) VALUES (1, 1, 0, 2, -1, 5, 6)`,
		"overlaps a piece of local job 1.1"},
	{"sections of an owned file", `INSERT INTO cover_input (grid, local, step, file, run, first, last) VALUES (1, 1, 0, 2, 1, 5, 6)`, "owned by sections and by events"},
	{"owned by nobody", `INSERT INTO cover_input (grid, local, step, file, run, first, last) VALUES (1, 7, 0, 3, -1, 5, 6)`, "there is no local job 1.7"},
	{"sections of a job of files",
		`INSERT INTO cover_input (grid, local, step, file, run, first, last) VALUES (1, 1, 0, 3, 1, 5, 6)`,
		"there is no local job 1.1 that owns by lumi"},
	{"file never noticed", `INSERT INTO cover_input (grid, local, step, file, run, first, last) VALUES (1, 1, 0, 9, -1, 0, 6)`, "not one to be processed"},
	{"file of a step that reads nothing", `INSERT INTO input_files (grid, step, file) VALUES (1, 1, 0)`,
		"no master dataset"},
	{"file that is not there", `INSERT INTO input_files (grid, step, file) VALUES (1, 0, 4)`,
		"no master dataset with a file 4"},
	{"born finished", `INSERT INTO input_files (grid, step, file, state, avail) SELECT 1, 0, 9, 2, 0`, ""},
	{"taken back", `UPDATE cover_input SET released = 0 WHERE local = 0`, "until it gives it back, once"},
	{"given back by one that runs", `UPDATE cover_input SET released = 5 WHERE local = 1`,
		"has neither failed nor been killed"},
	{"piece moved", `UPDATE cover_input SET file = 3 WHERE local = 1`, "until it gives it back"},
	{"piece deleted", `DELETE FROM cover_input WHERE local = 1`, "is kept"},
	{"back to life", `UPDATE local_jobs SET state = 0 WHERE n = 0`, "its work was given back"},
	{"completed all the same", `UPDATE local_jobs SET state = 5 WHERE n = 0`, "its work was given back"},
	{"more used than there is", `UPDATE inputs SET used = 5`, "CHECK"},
	{"more finished than used", `UPDATE inputs SET finished = 2`, "CHECK"},
	{"two masters", `INSERT INTO datasets (uid, name, created) VALUES (1, 'x', 1); INSERT INTO inputs (grid, step, dataset, pos, master) VALUES (1, 0, 2, 1, 1)`, "UNIQUE"},
	{"inputs forgotten", `DELETE FROM inputs`, "never forgotten"},
	{"master exchanged", `UPDATE inputs SET dataset = 2`, "never changes"},
	{"file row deleted", `DELETE FROM input_files WHERE file = 0`, "never forgotten"},
	{"finished while a piece is open", `UPDATE input_files SET state = 2, avail = 0 WHERE file = 2`, "CHECK"},
	{"finished while it can be cut", `UPDATE input_files SET state = 2 WHERE file = 3`, "CHECK"},
	{"part input changed", `UPDATE part_inputs SET input = '{}'`, "never changes"},
	{"part input deleted", `DELETE FROM part_inputs`, "is kept"},
	{"file changed", `UPDATE files SET events = 1`, "never changes"},
	{"file deleted", `DELETE FROM files`, "never taken from its dataset"},
	{"file out of order", `INSERT INTO files (dataset, n, lfn, size, events, first_event, added) VALUES (1, 9, 'x', 0, 0, 0, 0)`, "the next number is 4"},
	{"dataset renamed", `UPDATE datasets SET name = 'y'`, "never change"},
	{"dataset deleted", `DELETE FROM datasets`, "never deleted"},
	{"done with files left", begin(1) + `UPDATE local_jobs SET state = 5 WHERE n = 1; UPDATE grid_jobs SET made = 2, closed = 1, tar = 'x' WHERE id = 1; UPDATE grid_jobs SET status = 6 WHERE id = 1`,
		"of the 4 files of its dataset 0 are finished"},
}

func TestInputs_SchemaRefusesInvalidSQL(t *testing.T) {
	s, _ := halfRead(t)
	for _, tt := range inputLies {
		t.Run(tt.name, func(t *testing.T) {
			if err := raw(s, tt.sql); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s\ngave %v, want an error with %q", tt.sql, err, tt.want)
			}
		})
	}
}

// A local job cannot be stored if its files do not match its part.
func TestInputs_PartsThatDisagreeWithTheirFilesAreRefused(t *testing.T) {
	s, g := halfRead(t)
	bad := map[string]func(p *jjm.Part){
		"count":          func(p *jjm.Part) { p.Count = 2 },
		"no input":       func(p *jjm.Part) { p.Input = nil },
		"another file":   func(p *jjm.Part) { p.Input.Files = []string{"elsewhere"} },
		"owned file":     func(p *jjm.Part) { p.Input.Files = []string{"f000002"} },
		"twice":          func(p *jjm.Part) { p.Input.Files, p.Count = []string{"f000003", "f000003"}, 2 },
		"events as unit": func(p *jjm.Part) { p.Unit = jjm.UnitEvent },
		"range of none":  func(p *jjm.Part) { p.Unit, p.Input.Events = jjm.UnitRange, []jjm.EventRange{{File: 1, Count: 1}} },
		"empty sections": func(p *jjm.Part) {
			p.Unit, p.Input.Lumis = jjm.UnitLumi, []jjm.FileLumis{{LumiRange: jjm.LumiRange{Run: 1, First: 2, Last: 1}}}
		},
	}
	for name, spoil := range bad {
		t.Run(name, func(t *testing.T) {
			l := fileJob(g, 2, 3, "f000003")
			spoil(&l.Part)
			wantKind(t, s.Update(context.Background(), func(tx *Tx) error {
				return tx.InsertLocals([]jjm.LocalJob{l})
			}), jjm.Internal)
		})
	}
	plain := fill(t, s, 1, 1)
	l := fileJob(plain, 1, 300, "f000003")
	wantKind(t, s.Update(context.Background(), func(tx *Tx) error {
		return tx.InsertLocals([]jjm.LocalJob{l})
	}), jjm.Internal)
}
