package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"jjm/internal/jjm"
)

// insertOwned stores the inputs and ledger entries of new local jobs, and updates the files.
func (tx *Tx) insertOwned(ls []jjm.LocalJob) error {
	var own owning
	for i := range ls {
		l := &ls[i]
		if i == 0 || l.ID.Grid != own.grid || int(l.Step) != own.step {
			if err := own.start(tx, l.ID.Grid, int(l.Step)); err != nil {
				return err
			}
		}
		if err := own.add(l); err != nil {
			return jjm.Errorf(jjm.KindOf(err), "local job %s: %w", l.ID, err)
		}
	}
	return own.flush()
}

// owning collects the ledger entries of many local jobs of a step, so each file's row is changed only once.
type owning struct {
	tx     *Tx
	grid   jjm.GridID
	step   int
	master DatasetID
	known  map[string]int64 // numbers of files by LFN
	files  map[int64]*delta
	inputs []jjm.LocalJob // local jobs whose inputs will be stored
	rows   []entry        // entries of the ledger
}

// entry is a ledger entry: a local job owns a piece of a file.
type entry struct {
	local int32
	file  int64
	jjm.FilePiece
}

// delta is the change of a file's row: by how much its numbers of open and lost pieces grow.
type delta struct {
	open, lost int64
	whole      bool // whether a piece is the whole file, which then cannot be cut
}

// start stores the collected entries (see flush), and begins to collect for another step.
func (o *owning) start(tx *Tx, id jjm.GridID, step int) error {
	if err := o.flush(); err != nil {
		return err
	}
	master, err := tx.master(id, step)
	*o = owning{tx: tx, grid: id, step: step, master: master, known: map[string]int64{}, files: map[int64]*delta{}}
	return err
}

// add collects the input of a new local job, and the pieces that it owns. It adds nothing for a part without input in a
// step without a master dataset. The error is of kind Internal if a part has no input but its step has a master
// dataset, or the reverse.
func (o *owning) add(l *jjm.LocalJob) error {
	if o.master == 0 && l.Part.Input == nil {
		return nil
	}
	// A part of events or rows may have settings and files of secondary datasets, but owns none of these files.
	if o.master == 0 && (l.Part.Unit == jjm.UnitEvent || l.Part.Unit == jjm.UnitRow) {
		o.inputs = append(o.inputs, *l)
		return nil
	}
	if o.master == 0 || l.Part.Input == nil {
		return jjm.Errorf(jjm.Internal,
			"a part reads files if and only if its step has a master dataset")
	}
	ps, err := l.Part.Pieces()
	if err != nil {
		return err
	}
	o.inputs = append(o.inputs, *l)
	for _, p := range ps {
		n, err := o.number(p.LFN)
		if err != nil {
			return err
		}
		o.rows = append(o.rows, entry{l.ID.N, n, p})
		d := o.files[n]
		if d == nil {
			d = &delta{}
			o.files[n] = d
		}
		if l.State == jjm.Failed { // createfailed: the local job failed when it was made
			d.lost++
		} else {
			d.open++
		}
		d.whole = d.whole || p.Whole()
	}
	return nil
}

// number returns the number of a file in the master dataset. The error is of kind Internal if the file is not there.
func (o *owning) number(lfn string) (int64, error) {
	if n, ok := o.known[lfn]; ok {
		return n, nil
	}
	n, err := o.tx.fileOf(o.master, lfn)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, jjm.Errorf(jjm.Internal, "file %.80q is not in the master dataset of its step", lfn)
	}
	o.known[lfn] = n
	return n, nil
}

// flush stores the collected inputs and ledger entries.
func (o *owning) flush() error {
	if o.tx == nil || len(o.inputs) == 0 {
		return nil
	}
	err := o.tx.insertMany("INSERT INTO part_inputs (grid, n, step, origin, attempt, input)", 6, len(o.inputs),
		func(a args, i int) args {
			l := &o.inputs[i]
			a = a.int(int64(o.grid)).int(int64(l.ID.N)).int(int64(o.step))
			if l.Origin == nil {
				return a.value(nil).int(0).value(inputText(l.Part.Input))
			}
			return a.int(int64(l.Origin.Local)).int(int64(l.Origin.Before)).value(inputText(l.Part.Input))
		})
	if err != nil {
		return err
	}
	err = o.tx.insertMany("INSERT INTO cover_input (grid, local, step, file, run, first, last)", 7, len(o.rows),
		func(a args, i int) args {
			e := &o.rows[i]
			return a.int(int64(o.grid)).int(int64(e.local)).int(int64(o.step)).int(e.file).int(e.Run).int(e.First).int(e.Last)
		})
	if err != nil {
		return err
	}
	for _, n := range sortedKeys(o.files) {
		d := o.files[n]
		set := "open = open + ?, lost = lost + ?, state = 1"
		if d.whole {
			set += ", avail = 0"
		}
		if err := o.tx.setFile(o.grid, o.step, n, set, d.open, d.lost); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys(m map[int64]*delta) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare)
	return keys
}

func inputText(in *jjm.PartInput) string {
	b, err := json.Marshal(in)
	if err != nil {
		panic(err) // values that were decoded from JSON can be encoded
	}
	return string(b)
}

// EndInputs updates the files of ended local jobs: their pieces are no longer open, and the pieces are lost unless the
// local job completed. EndInputs must be called once for each local job that ends.
func (tx *Tx) EndInputs(ls []*jjm.LocalJob) error {
	for _, l := range ls {
		files, err := tx.ownedBy(l.ID)
		if err != nil {
			return tx.fail(err, "end the inputs of local job %s", l.ID)
		}
		before, err := tx.c.number("SELECT attempt FROM part_inputs WHERE grid = ? AND n = ?", localArgs(l.ID))
		if err != nil {
			return tx.fail(err, "end the inputs of local job %s", l.ID)
		}
		for _, n := range sortedKeys(files) {
			d := files[n]
			set := "open = open - ?, lost = lost + ?, attempts = max(attempts, ?), failures = max(failures, ?)"
			lost, failures := int64(0), int64(0)
			if l.State != jjm.Completed {
				lost = d.open
			}
			if l.State == jjm.Failed {
				failures = before + 1
			}
			if err := tx.setFile(l.ID.Grid, int(l.Step), n, set, d.open, lost, before+1, failures); err != nil {
				return err
			}
		}
	}
	return nil
}

func localArgs(id jjm.LocalID) args { return args{}.int(int64(id.Grid)).int(int64(id.N)) }

// ownedBy returns, by file, the number of pieces that a local job owns, as delta.open.
func (tx *Tx) ownedBy(id jjm.LocalID) (map[int64]*delta, error) {
	if tx.c == nil {
		return nil, errOver()
	}
	files := map[int64]*delta{}
	err := tx.c.query(
		tx.ctx, "SELECT file, run, first, last FROM cover_input WHERE grid = ? AND local = ? AND released = 0", localArgs(id),
		func(r row) error {
			d := files[r.int(0)]
			if d == nil {
				d = &delta{}
				files[r.int(0)] = d
			}
			d.open++
			d.whole = d.whole || jjm.FilePiece{Run: r.int(1), First: r.int(2), Last: r.int(3)}.Whole()
			return nil
		})
	return files, err
}

// GiveBack releases the pieces of files that failed or killed local jobs own, after [Tx.EndInputs]; the ledger keeps
// the entries, marked as released. A file that was owned whole can be cut again. If a file was cut in pieces, only the
// same piece can be owned again. A file with any other mark than ready cannot be cut or
// owned again. The error is of kind Conflict if a local
// job owns nothing; a local job that is neither failed nor killed is also an error.
func (tx *Tx) GiveBack(ids []jjm.LocalID) error {
	now := jjm.At(tx.s.o.Now())
	masters := map[gridStep]DatasetID{}
	for _, id := range ids {
		step, err := tx.c.number("SELECT step FROM local_jobs WHERE grid = ? AND n = ?", localArgs(id))
		if err != nil {
			return tx.fail(err, "give back the files of local job %s", id)
		}
		at := gridStep{id.Grid, step}
		if _, known := masters[at]; !known {
			if masters[at], err = tx.master(id.Grid, int(step)); err != nil {
				return tx.fail(err, "give back the files of local job %s", id)
			}
		}
		files, err := tx.release(id, now)
		if err != nil {
			return tx.fail(err, "give back the files of local job %s", id)
		}
		for _, n := range sortedKeys(files) {
			if mark, err := tx.markOf(masters[at], n); err != nil {
				return tx.fail(err, "give back the files of local job %s", id)
			} else if mark != jjm.FileReady {
				continue
			}
			set := "lost = lost - ?, state = CASE state WHEN 3 THEN 1 ELSE state END"
			if files[n].whole {
				set = "lost = lost - ?, state = 0, avail = 1"
			}
			if err := tx.reopenFile(id.Grid, step, n, set, files[n].open); err != nil {
				return err
			}
		}
	}
	return nil
}

// gridStep is the key of a step of a grid job.
type gridStep struct {
	grid jjm.GridID
	step int64
}

// reopenFile changes the row of a file after a piece of the file was given back. Unlike setFile it does not update the
// state, because a local job will own the piece again.
func (tx *Tx) reopenFile(id jjm.GridID, step, file int64, set string, n int64) error {
	_, err := tx.exec("UPDATE input_files SET "+set+" WHERE grid = ? AND step = ? AND file = ?",
		args{}.int(n).int(int64(id)).int(step).int(file))
	if err != nil {
		return tx.fail(err, "give back file %d of grid job %d", file, id)
	}
	return nil
}

// PartInputs returns, by number of the local job, the inputs of parts of a grid job. Local jobs whose parts have no
// input are left out.
func (s *Store) PartInputs(ctx context.Context, id jjm.GridID, numbers []int32) (map[int32]PartInput, error) {
	out := make(map[int32]PartInput, len(numbers))
	err := s.view(ctx, func(c *conn) error {
		for _, n := range numbers {
			err := c.query(ctx, "SELECT n, origin, attempt, input FROM part_inputs WHERE grid = ? AND n = ?",
				localArgs(jjm.LocalID{Grid: id, N: n}), func(r row) error {
					p, err := scanPartInput(r)
					out[int32(r.int(0))] = p
					return err
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.fail(err, "read what local jobs of grid job %d read", id)
	}
	return out, nil
}

// PartInput is the input of a part, and the earlier local job whose work the part's local job repeats.
type PartInput struct {
	Input  *jjm.PartInput
	Origin *jjm.Successor // nil if the local job is the first to do its work
}

func scanPartInput(r row) (p PartInput, err error) {
	if r[1] != nil {
		p.Origin = &jjm.Successor{Local: int32(r.int(1)), Before: int32(r.int(2))}
	}
	p.Input = new(jjm.PartInput)
	if err := json.Unmarshal([]byte(r.text(3)), p.Input); err != nil {
		return p, jjm.Errorf(jjm.Internal, "local job %d: column input: %w", r.int(0), err)
	}
	return p, nil
}

// Owned is an entry of the ledger of files.
type Owned struct {
	Local int32
	File  int64 // the number of the file in the master dataset
	// Unit is the unit of the part. For files and ranges, First and Last are events counted from 0 within the file; Last
	// is math.MaxInt64 for an open end. For lumis, First and Last are lumi sections of Run.
	Unit        string
	Run         uint32
	First, Last int64
	Released    jjm.Time // when the piece was given back, 0 if the local job still owns the piece
}

// Cover calls fn for each entry of the ledger of files of a step, including released entries, in the order of file, run
// and first unit. Cover stops at an error of fn and returns the error unchanged.
func (s *Store) Cover(ctx context.Context, id jjm.GridID, step int, fn func(Owned) error) error {
	var stop error // the error of fn, returned unchanged
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT c.local, c.file, coalesce(l.unit, h.unit), c.run, c.first, c.last, c.released FROM cover_input AS c
			LEFT JOIN local_jobs AS l ON l.grid = c.grid AND l.n = c.local
			LEFT JOIN history_local_jobs AS h ON h.grid = c.grid AND h.n = c.local
			WHERE c.grid = ? AND c.step = ? ORDER BY c.file, c.run, c.first, c.local`, stepArgs(id, step), func(r row) error {
			stop = fn(Owned{Local: int32(r.int(0)), File: r.int(1), Unit: unit(r.text(2)), Run: uint32(max(r.int(3), 0)),
				First: r.int(4), Last: r.int(5), Released: jjm.Time(r.int(6))})
			return stop
		})
	})
	if stop != nil {
		return stop
	}
	if err != nil {
		return s.fail(err, "read the cover of grid job %d", id)
	}
	return nil
}

// release marks all ledger entries of a local job as released, and returns the pieces that it owned.
func (tx *Tx) release(id jjm.LocalID, now jjm.Time) (map[int64]*delta, error) {
	files, err := tx.ownedBy(id)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, jjm.Errorf(jjm.Conflict, "it owns no files")
	}
	_, err = tx.exec("UPDATE cover_input SET released = ? WHERE grid = ? AND local = ? AND released = 0",
		args{}.int(int64(now)).int(int64(id.Grid)).int(int64(id.N)))
	return files, err
}
