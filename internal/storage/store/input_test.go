package store

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

// model holds the expected content of the store for a step that reads whole files: the state of each file, and the
// local job that owns the file.
type model struct {
	s     *Store
	g     *jjm.GridJob
	d     DatasetID
	files int // the number of files in the dataset
	state []jjm.FileState
	owner []int // the owner of each file; -1 = nobody
	jobs  []jjm.LocalJob
	next  int64
	marks map[int]jjm.FileState
}

func (m *model) update(t *rapid.T, fn func(*Tx) error) {
	if err := m.s.Update(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func (m *model) add(t *rapid.T) {
	n := rapid.IntRange(1, 4).Draw(t, "files")
	m.update(t, func(tx *Tx) error { _, err := tx.AddFiles(m.d, sampleFiles(m.files, n)); return err })
	m.files += n
}

func (m *model) notice(t *rapid.T) {
	n := rapid.IntRange(1, 5).Draw(t, "limit")
	m.update(t, func(tx *Tx) error { _, _, err := tx.NoticeFiles(m.g.ID, 0, n); return err })
	for range min(n, m.files-len(m.state)) {
		m.state, m.owner = append(m.state, m.marks[len(m.state)]), append(m.owner, -1)
	}
}

// in returns the numbers of the files in a state.
func (m *model) in(state jjm.FileState) (files []int) {
	for i, s := range m.state {
		if s == state {
			files = append(files, i)
		}
	}
	return files
}

// cut assigns some ready files to a new local job.
func (m *model) cut(t *rapid.T) {
	ready := m.in(jjm.FileReady)
	if len(ready) == 0 {
		return
	}
	chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(ready), 1, min(3, len(ready)), rapid.ID).Draw(t, "cut")
	m.insert(t, chosen, nil)
}

func (m *model) insert(t *rapid.T, chosen []int, origin *jjm.Successor) {
	l := fileJob(m.g, len(m.jobs), m.next)
	for _, i := range chosen {
		l.Part.Input.Files = append(l.Part.Input.Files, fmt.Sprintf("f%06d", i))
		m.state[i], m.owner[i] = jjm.FilePicked, len(m.jobs)
	}
	l.Part.Count, l.Origin = int64(len(chosen)), origin
	toTheEnd(t, &l.Part)
	m.next += l.Part.Count
	m.jobs = append(m.jobs, l)
	m.update(t, func(tx *Tx) error { return tx.InsertLocals([]jjm.LocalJob{l}) })
}

// toTheEnd randomly turns a part of whole files into a part of all events of these files, as for files with an unknown
// number of events.
func toTheEnd(t *rapid.T, p *jjm.Part) {
	if !rapid.Bool().Draw(t, "to the end") {
		return
	}
	p.Unit = jjm.UnitRange
	for i := range p.Input.Files {
		p.Input.Events = append(p.Input.Events, jjm.EventRange{File: int32(i), Count: jjm.ToTheEnd})
	}
}

// steal checks that a new local job cannot own a file that is not ready, because another local job owns the file or its
// processing has ended.
func (m *model) steal(t *rapid.T) {
	for i, s := range m.state {
		if s == jjm.FileReady {
			continue
		}
		if s == jjm.FileFailed && m.owner[i] < 0 {
			continue
		}
		l := fileJob(m.g, len(m.jobs), m.next, fmt.Sprintf("f%06d", i))
		toTheEnd(t, &l.Part)
		if m.s.Update(context.Background(), func(tx *Tx) error { return tx.InsertLocals([]jjm.LocalJob{l}) }) == nil {
			t.Fatalf("file %d, %s, was given away again", i, s)
		}
		return
	}
}

// end ends a local job, with or without success. After a failure or kill it may give the files back.
func (m *model) end(t *rapid.T) {
	var live []int
	for i := range m.jobs {
		if !m.jobs[i].State.Final() {
			live = append(live, i)
		}
	}
	if len(live) == 0 {
		return
	}
	n := rapid.SampledFrom(live).Draw(t, "job")
	l := &m.jobs[n]
	l.State = rapid.SampledFrom([]jjm.State{jjm.Completed, jjm.Failed, jjm.Killed}).Draw(t, "end")
	back := l.State != jjm.Completed && rapid.Bool().Draw(t, "back")
	m.update(t, func(tx *Tx) error {
		if err := saveEnds(tx, []*jjm.LocalJob{l}); err != nil {
			return err
		}
		if err := tx.EndInputs([]*jjm.LocalJob{l}); err != nil || !back {
			return err
		}
		return tx.GiveBack([]jjm.LocalID{l.ID})
	})
	for i := range m.state {
		switch {
		case m.owner[i] != n:
		case l.State == jjm.Completed:
			m.state[i] = jjm.FileFinished
		case back:
			m.state[i], m.owner[i] = m.marks[i], -1
		case m.marks[i] != 0:
			m.state[i] = m.marks[i]
		default:
			m.state[i] = jjm.FileFailed
		}
	}
}

// mark marks a file as missing, lost or broken, whatever its state.
func (m *model) mark(t *rapid.T) {
	if m.files == 0 {
		return
	}
	i := rapid.IntRange(0, m.files-1).Draw(t, "file")
	state := rapid.SampledFrom([]jjm.FileState{jjm.FileMissing, jjm.FileLost, jjm.FileBroken}).Draw(t, "state")
	m.update(t, func(tx *Tx) error {
		got, err := tx.MarkFiles(m.d, []Mark{{LFN: sampleFiles(i, 1)[0].LFN, State: state}}, "alice", "the disk is gone")
		if err == nil && (len(got) != 1 || got[0].File != int64(i) || got[0].Before != m.marks[i]) {
			err = fmt.Errorf("%+v, was marked %v", got, m.marks[i])
		}
		return err
	})
	if m.marks[i] != 0 {
		return
	}
	m.marks[i] = state
	if i < len(m.state) && m.state[i] == jjm.FileReady {
		m.state[i] = state
	}
}

// unmark removes the mark of a file, if the file has a mark.
func (m *model) unmark(t *rapid.T) {
	if m.files == 0 {
		return
	}
	i := rapid.IntRange(0, m.files-1).Draw(t, "file")
	given := i < len(m.state) && m.state[i] >= jjm.FileMissing && m.state[i] <= jjm.FileBroken
	again := m.marks[i] != 0 && given && m.owner[i] < 0
	m.update(t, func(tx *Tx) error {
		got, err := tx.UnmarkFiles(m.d, []string{sampleFiles(i, 1)[0].LFN})
		if err == nil && (len(got) != 1 || got[0].Before != m.marks[i] || len(got[0].Again) > 0 != again) {
			err = fmt.Errorf("%+v, was marked %v; states %v of %v", got, m.marks[i], m.state, m.owner)
		}
		return err
	})
	delete(m.marks, i)
	if again {
		m.state[i] = jjm.FileReady
	}
}

func (m *model) drop(t *rapid.T) {
	ready := m.in(jjm.FileReady)
	if len(ready) == 0 {
		return
	}
	i := rapid.SampledFrom(ready).Draw(t, "file")
	state := rapid.SampledFrom([]jjm.FileState{jjm.FileFailed, jjm.FileMissing, jjm.FileLost, jjm.FileBroken,
		jjm.FileDropped}).Draw(t, "state")
	m.update(t, func(tx *Tx) error {
		return tx.DropFiles(m.g.ID, 0, []Drop{{File: int64(i), State: state, Why: "why"}})
	})
	m.state[i] = state
}

// check compares the store with the model.
func (m *model) check(t *rapid.T) {
	ctx := context.Background()
	var states []jjm.FileState
	err := m.s.FileStatuses(ctx, m.g.ID, 0, func(f FileStatus) error {
		states = append(states, f.State)
		return nil
	})
	if err != nil || !slices.Equal(states, m.state) {
		t.Fatalf("states %v, want %v; %v", states, m.state, err)
	}
	var avail []int
	err = m.s.Available(ctx, m.g.ID, 0, func(n int64, _ jjm.File) error {
		avail = append(avail, int(n))
		return nil
	})
	if want := m.in(jjm.FileReady); err != nil || !slices.Equal(avail, want) {
		t.Fatalf("available %v, want %v; %v", avail, want, err)
	}
	owner := make([]int, len(m.owner))
	for i := range owner {
		owner[i] = -1
	}
	err = m.s.Cover(ctx, m.g.ID, 0, func(o Owned) error {
		if o.Released == 0 {
			owner[o.File] = int(o.Local)
		}
		return nil
	})
	if err != nil || !slices.Equal(owner, m.owner) {
		t.Fatalf("owners %v, want %v; %v", owner, m.owner, err)
	}
	in, err := m.s.Inputs(ctx, m.g.ID)
	if err != nil || len(in) != 1 || in[0].Counts != m.counts() {
		t.Fatalf("%+v, want %+v; %v", in, m.counts(), err)
	}
}

func (m *model) counts() jjm.InputCounts {
	c := jjm.InputCounts{Files: int64(len(m.state)), Events: int64(len(m.state)) * 100}
	for _, s := range m.state {
		if s < jjm.FileMissing {
			c.ToBeUsed++
		}
		if s >= jjm.FilePicked && s <= jjm.FileFailed {
			c.Used++
		}
		switch s {
		case jjm.FileFinished:
			c.Finished++
			c.EventsUsed += 100
		case jjm.FileFailed:
			c.Failed++
		}
	}
	return c
}

// After any sequence of changes to files and local jobs, the store agrees with a simple model, and no file belongs to
// two local jobs.
func TestInputs_BehaveAsTheModel(t *testing.T) {
	s := fresh(t)
	names := 0
	rapid.Check(t, func(rt *rapid.T) {
		names++
		d := dataset(t, s, fmt.Sprintf("d%d", names), 0)
		m := &model{s: s, d: d, g: reader(t, s, d), marks: map[int]jjm.FileState{}}
		rt.Repeat(map[string]func(*rapid.T){
			"": m.check, "add": m.add, "notice": m.notice, "cut": m.cut, "steal": m.steal, "end": m.end, "drop": m.drop,
			"mark": m.mark, "unmark": m.unmark,
		})
	})
	if err := s.Check(context.Background()); err != nil {
		t.Error(err)
	}
}

// rangeJob returns a new local job whose part is a range of events of one file.
func rangeJob(g *jjm.GridJob, n int, at int64, lfn string, first, count int64) jjm.LocalJob {
	units := max(count, 1)
	return jjm.LocalJob{ID: jjm.LocalID{Grid: g.ID, N: int32(n)}, Exit: -1,
		Part: jjm.Part{Unit: jjm.UnitRange, First: at, Count: units,
			Serial: int64(n) + 1, Input: &jjm.PartInput{Files: []string{lfn},
				Events: []jjm.EventRange{{First: first, Count: count}}}}}
}

func TestInputs_AFileInPiecesIsFinishedWithTheLastOfThem(t *testing.T) {
	s := fresh(t)
	g := reader(t, s, dataset(t, s, "raw", 2))
	ls := []jjm.LocalJob{rangeJob(g, 0, 0, "f000000", 0, 50), rangeJob(g, 1, 50, "f000000", 50, 50),
		rangeJob(g, 2, 100, "f000001", 0, jjm.ToTheEnd)}
	state := func(file int) jjm.FileState {
		return jjm.FileState(number(t, s, fmt.Sprintf("SELECT state FROM input_files WHERE file = %d", file)))
	}
	end := func(l *jjm.LocalJob, to jjm.State, back bool) {
		l.State = to
		update(t, s, func(tx *Tx) error {
			one := []*jjm.LocalJob{l}
			if err := saveEnds(tx, one); err != nil {
				return err
			}
			if err := tx.EndInputs(one); err != nil || !back {
				return err
			}
			return tx.GiveBack([]jjm.LocalID{l.ID})
		})
	}
	update(t, s, func(tx *Tx) error { return tx.InsertLocals(ls[:1]) })
	end(&ls[0], jjm.Completed, false)
	if state(0) != jjm.FilePicked {
		t.Errorf("half of it is done and the rest can be cut: %s", state(0))
	}
	update(t, s, func(tx *Tx) error { return tx.InsertLocals(ls[1:]) })
	update(t, s, func(tx *Tx) error { return tx.CutFiles(g.ID, 0, []int64{0}) })
	end(&ls[1], jjm.Failed, true)
	if state(0) != jjm.FilePicked {
		t.Errorf("a piece of it was given back: %s", state(0))
	}
	again := rangeJob(g, 3, 101, "f000000", 50, 50)
	again.Origin = &jjm.Successor{Local: 1, Before: 1}
	update(t, s, func(tx *Tx) error { return tx.InsertLocals([]jjm.LocalJob{again}) })
	end(&again, jjm.Completed, false)
	if state(0) != jjm.FileFinished || number(t, s, "SELECT attempts FROM input_files WHERE file = 0") != 2 {
		t.Errorf("all its pieces are done, at the second attempt: %s", state(0))
	}
	end(&ls[2], jjm.Failed, false)
	if state(1) != jjm.FileFailed {
		t.Errorf("a file of unknown length whose only local job failed: %s", state(1))
	}
	got, err := s.PartInputs(context.Background(), g.ID, []int32{3, 2, 9})
	if err != nil || len(got) != 2 || got[3].Origin == nil || *got[3].Origin != (jjm.Successor{Local: 1, Before: 1}) ||
		got[2].Origin != nil ||
		got[3].Input.Events[0].First != 50 {
		t.Errorf("%+v %v", got, err)
	}
}

// When a grid job moves to the history, its rows about files stay. Another grid job may then read the same files.
func TestInputs_OutliveTheirGridJob(t *testing.T) {
	s := fresh(t)
	d := dataset(t, s, "raw", 2)
	for range 2 {
		g := reader(t, s, d)
		update(t, s, func(tx *Tx) error {
			return tx.InsertLocals([]jjm.LocalJob{fileJob(g, 0, 0, "f000000", "f000001")})
		})
		ls, err := s.Locals(context.Background(), g.ID, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		ls[0].State, g.Step.Made = jjm.Completed, 1
		update(t, s, func(tx *Tx) error { return saveEnds(tx, []*jjm.LocalJob{&ls[0]}) })
		update(t, s, func(tx *Tx) error { return tx.EndInputs([]*jjm.LocalJob{&ls[0]}) })
		complete(t, s, g)
		archive(t, s, g.ID, 1)
		in, err := s.Inputs(context.Background(), g.ID)
		if err != nil || len(in) != 1 || in[0].Counts.Finished != 2 {
			t.Errorf("%+v %v", in, err)
		}
		owned := 0
		err = s.Cover(context.Background(), g.ID, 0, func(o Owned) error {
			if o.Unit == jjm.UnitFile {
				owned++
			}
			return nil
		})
		if owned != 2 || err != nil {
			t.Errorf("%d entries of archived local jobs, want 2; %v", owned, err)
		}
	}
}
