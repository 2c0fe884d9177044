package feed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"jjm/handlers"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/split"
	"jjm/internal/work/stream"
)

// feeds holds the cuttings in progress, at most one for each grid job. Feed takes the cutting of a grid job out, and
// puts the cutting back only if the cut parts were stored, because a cutting can only continue from the stored parts.
type feeds struct {
	mu sync.Mutex
	of map[jjm.GridID]*feed
}

// take returns the feed of a grid job, or nil, and removes it.
func (fs *feeds) take(id jjm.GridID) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.of[id]
	delete(fs.of, id)
	return f
}

// keep stores f. It also drops the feeds of ended grid jobs, because no other function drops these feeds. whose returns
// the account of a grid job, fair.Nobody for an ended grid job.
func (fs *feeds) keep(id jjm.GridID, f *feed, whose func(jjm.GridID) int) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.of == nil {
		fs.of = map[jjm.GridID]*feed{}
	}
	maps.DeleteFunc(fs.of, func(id jjm.GridID, _ *feed) bool { return whose(id) == fair.Nobody })
	fs.of[id] = f
}

// feed is a cutting in progress: the files that a step can cut, sorted once, and cut
// chunk by chunk.
type feed struct {
	cutting *split.Cutting
	numbers []int64 // the numbers of the files in the master dataset
	// drops are files that will never be cut. They are stored as dropped together with the next cut.
	drops []store.Drop
	// blank are files that this splitter will never cut. They are stored as dropped when nothing more will be cut.
	blank []store.Drop
	// made is the number of local jobs, and carry is the state of the splitter (split.Carry), as this cutting last stored
	// them in the step. If the step has other values now, another change has cut files or given back work, and the cutting
	// must start again.
	made  int
	carry []byte
	// complete is true if no more files will be added.
	complete bool
	news     uint64 // Reads.News when the cutting started
	marked   uint64 // Reads.Marked when the cutting started
	fills    uint64 // the count of fillings when the cutting started; see state.Memo.Filling and AwaitsFiles
}

// LookAgain returns the time after which a grid job that waits for input must be stepped even if its datasets do not
// change; 0 if it need not be stepped. See state.Memory.WaitsForTime.
func (fd *Feeder) LookAgain(id jjm.GridID) (again time.Duration) {
	v := fd.s.View()
	waits := v.WaitsForTime(id)
	v.Close()
	if waits {
		now, poll := jjm.At(fd.b.Now()), fd.b.Conf().DatasetPoll.D()
		fd.s.Adjust(func(a *state.Memo) { again = a.NextLook(id, now, poll) })
	}
	return again
}

// TellReaders wakes the grid jobs that read the datasets in c.News. These are the datasets that change c altered, for
// example by adding or marking files.
func (fd *Feeder) TellReaders(c *state.Change, a *state.Memo) {
	for _, id := range c.News {
		for _, reader := range a.News(id, slices.Contains(c.Marked, id)) {
			fd.s.WakeGrid(reader)
		}
	}
}

// Feed cuts the next chunk of the files that the first step of a grid job reads. It stores parts, local jobs, ledger
// entries, states of files and the splitter's carry in one transaction, and closes the step if nothing more will be
// cut. If nothing can be cut now, the step becomes idle. If another change came first, Feed stores nothing and returns
// nil: the next call starts a new cutting. The error is of kind Invalid if there would be more local jobs than the site
// allows.
func (fd *Feeder) Feed(ctx context.Context, job *jjm.GridJob, cut *state.Cutting) error {
	v := fd.s.View()
	r := v.Grid(job.ID).Reads
	marked := r.Marked()
	v.Close()
	f := fd.feeds.take(job.ID)
	if f == nil || f.marked != marked || f.made != job.Step.Made || !bytes.Equal(f.carry, job.Step.Carry) {
		var err error
		if f, err = fd.startFeed(ctx, job, cut); err != nil {
			return fmt.Errorf("generate grid job %s: %w", job.ID, err)
		}
		if fd.awaitsFiles(job.ID, f) {
			return nil
		}
	}
	parts, left, next, err := fd.cutNext(ctx, job, f)
	if err != nil {
		return err
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if most := fd.b.Conf().MaxLocalJobs; job.Step.Made+len(parts) > most {
		return jjm.Errorf(jjm.Invalid,
			"grid job %s would make more than the %d local jobs that this site allows (engine.max_local_jobs): make larger parts", job.ID, most)
	}
	over := !left.More && left.Waiting == 0 && f.complete
	if err := fd.journalLacks(ctx, job.ID, left.Lacks); err != nil {
		return err
	}
	// The step is idle if the cut changed nothing: no part, no file is done or dropped, and the same carry.
	if len(parts) == 0 && !left.More && !over && len(left.Done)+len(left.Dropped)+len(f.drops) == 0 &&
		bytes.Equal(text, f.carry) {
		fd.setIdle(job.ID, f.news, left)
		return nil
	}
	stored := false
	err = fd.s.Change(ctx, "generate", func(c *state.Change) error {
		g := c.Grid(job.ID)
		if c.Live.Grid(job.ID) != nil && c.Live.Grid(job.ID).Reads.Marked() != f.marked {
			return nil // files were marked meanwhile
		}
		if g == nil || g.Step.Made != f.made || !bytes.Equal(g.Step.Carry, f.carry) || g.Step.Closed {
			return nil // another change came first: the next step starts a new cutting
		}
		stored = true
		c.Insert(g, parts)
		g.Step.Carry, g.Step.Made = text, g.Step.Made+len(parts)
		g.Step.Closed = over
		g.Step.Expected = max(g.Step.Expected, g.Step.Made)
		if over {
			g.Step.Expected = g.Step.Made
		}
		c.Then = append(c.Then, func() error { return f.storeFiles(c.Tx, g, left, over) })
		f.made, f.carry = g.Step.Made, text
		return nil
	})
	switch {
	case err != nil || over || !stored:
		return err
	case left.More:
		fd.feeds.keep(job.ID, f, fd.s.Accounts.Of)
	default:
		fd.setIdle(job.ID, f.news, left)
	}
	return nil
}

// cutNext cuts the next chunk. It returns the parts, at most as many as there are serial numbers for outputs, the facts
// about the files that were not cut, and the splitter's new carry. The error is of kind Invalid if there is a part but
// no serial number is left.
func (fd *Feeder) cutNext(ctx context.Context, job *jjm.GridJob, f *feed) ([]jjm.Part, split.Left, split.Carry, error) {
	room, err := fd.s.PartsRoom(ctx, job, fd.b.Chunk())
	if err != nil {
		return nil, split.Left{}, split.Carry{}, err
	}
	parts, left, next := f.cutting.Next(split.Limits{MaxParts: max(room, 1)})
	return parts, left, next, fd.s.WithinSerials(ctx, job, len(parts), room)
}

// journalLacks adds text to the journal of a grid job. The text names the open secondary dataset for which the grid job
// waits. If text is empty, or the same as in the previous call, nothing is added.
func (fd *Feeder) journalLacks(ctx context.Context, id jjm.GridID, text string) error {
	v := fd.s.View()
	g := v.Grid(id)
	told := g == nil || g.Reads.Lacks() == text
	v.Close()
	if told {
		return nil
	}
	fd.s.Adjust(func(a *state.Memo) { a.Lacks(id, text) })
	if text == "" {
		return nil
	}
	return fd.s.Change(ctx, "generate", func(c *state.Change) error {
		c.Note(id, "", "waits: "+text, "", "")
		return nil
	})
}

// setIdle notes in memory that nothing can be cut until the datasets change, with the reason for people.
func (fd *Feeder) setIdle(id jjm.GridID, news uint64, left split.Left) {
	why := cmp.Or(left.Why, "its dataset is open, and all files that are there are cut")
	fd.s.Adjust(func(a *state.Memo) { a.SetIdle(id, jjm.StepWork, news, why) })
}

// storeFiles stores the states of the files after a cut: fully cut, or dropped by the splitter. If over is true,
// nothing more will be cut, and all other files that were not cut are dropped too.
func (f *feed) storeFiles(tx *store.Tx, g *jjm.GridJob, left split.Left, over bool) error {
	done := make([]int64, len(left.Done))
	for i, pos := range left.Done {
		done[i] = f.numbers[pos]
	}
	if err := tx.CutFiles(g.ID, 0, done); err != nil {
		return err
	}
	drops := f.drops
	for _, d := range left.Dropped {
		drop := store.Drop{File: f.numbers[d.File], State: jjm.FileDropped, Why: d.Why}
		if d.Failed {
			drop.State = jjm.FileFailed
		}
		drops = append(drops, drop)
	}
	if f.drops = nil; over {
		drops = append(drops, f.blank...)
	}
	if err := tx.DropFiles(g.ID, 0, drops); err != nil || !over {
		return err
	}
	_, err := tx.DropRest(g.ID, 0, g.Step.Splitter+" leaves it out")
	return err
}

// noticeChunk is the number of new files of a dataset that are added to the files of a step in one transaction.
const noticeChunk = 20_000

// startFeed adds the new files of the datasets to the files of the step, and starts a
// cutting of all files that can be cut.
func (fd *Feeder) startFeed(ctx context.Context, job *jjm.GridJob, cut *state.Cutting) (*feed, error) {
	f := &feed{made: job.Step.Made, carry: job.Step.Carry}
	if err := fd.noteInputs(ctx, job.ID, f); err != nil {
		return nil, err
	}
	processes := job.Spec.Master() != nil
	f.complete = !processes // events and rows are complete from the beginning
	for more := processes; more; {
		err := fd.s.Change(ctx, "notice", func(c *state.Change) error {
			n, complete, err := c.Tx.NoticeFiles(job.ID, 0, noticeChunk)
			more, f.complete = n == noticeChunk, complete
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	work, err := fd.workOf(ctx, job, cut, f)
	if err != nil {
		return nil, err
	}
	carry := state.FirstCarry(&job.Spec)
	if len(job.Step.Carry) > 0 {
		if err := json.Unmarshal(job.Step.Carry, &carry); err != nil {
			return nil, jjm.Errorf(jjm.Internal, "carry: %w", err)
		}
	}
	params := state.Locate(&work, fd.s.Readers(job.Step.Clusters), cut.Params)
	if err := fd.countFirst(job, cut, work); err != nil {
		return nil, err
	}
	f.cutting, err = cut.Splitter.Start(work, params, carry)
	return f, err
}

// countFirst returns an error of kind Invalid if the present files would make too many local jobs,
// before any local job is made. [Feeder.Feed] checks later cuts.
func (fd *Feeder) countFirst(job *jjm.GridJob, cut *state.Cutting, work split.Work) error {
	if job.Step.Made > 0 {
		return nil
	}
	n, err := cut.Splitter.Count(work, cut.Params)
	if err != nil {
		return err
	}
	if n > int64(fd.b.Conf().MaxLocalJobs) {
		return jjm.Errorf(
			jjm.Invalid, "it would make %d local jobs; this site allows %d (engine.max_local_jobs): make larger parts", n,
			fd.b.Conf().MaxLocalJobs)
	}
	return nil
}

// noteInputs notes in memory which datasets the step reads, and in f how often these datasets have changed, were marked
// and were filled so far.
func (fd *Feeder) noteInputs(ctx context.Context, id jjm.GridID, f *feed) error {
	inputs, err := fd.b.Store.Inputs(ctx, id)
	if err != nil {
		return err
	}
	var datasets []store.DatasetID
	for _, in := range inputs {
		datasets = append(datasets, in.Dataset)
	}
	fd.s.Adjust(func(a *state.Memo) { f.news, f.marked, f.fills = a.SetInputs(id, datasets) })
	return nil
}

// awaitsFiles reports whether a cutting has perhaps read only a part of files that belong together, because these files
// were being added meanwhile.
func (fd *Feeder) awaitsFiles(id jjm.GridID, f *feed) (waits bool) {
	fd.s.Adjust(func(a *state.Memo) { waits = a.AwaitsFiles(id, f.fills) })
	return waits
}

// workOf returns the input of the splitter: the files that can be cut, the files of secondary datasets, and the facts
// about siblings, families and ancestors that the splitter needs. It also sets f.numbers, f.blank and f.drops.
func (fd *Feeder) workOf(ctx context.Context, job *jjm.GridJob, cut *state.Cutting, f *feed) (split.Work, error) {
	work := cut.Work
	work.Files, work.Secondary = nil, nil
	work.Closed, work.Now = f.complete, jjm.At(fd.b.Now())
	leaver, err := split.LeaverOf(job.Step.Splitter, cut.Params)
	if err != nil {
		return work, err
	}
	err = fd.b.Store.Available(ctx, job.ID, 0, func(n int64, file jjm.File) error {
		work.Files = append(work.Files, file)
		f.numbers = append(f.numbers, n)
		if reason, _ := leaver.File(&file, ""); leaver.CountsSections() && reason == jjm.LeftNoSections {
			f.blank = append(f.blank, store.Drop{File: n, State: jjm.FileDropped, Why: leaver.Why(reason)})
		}
		return nil
	})
	if err != nil {
		return work, err
	}
	if job.Step.Splitter == split.SiblingProcessingBased {
		if work.Siblings, err = fd.siblingsOf(ctx, job.ID, f.numbers); err != nil {
			return work, err
		}
	}
	inputs, err := fd.b.Store.Inputs(ctx, job.ID)
	if err != nil {
		return work, err
	}
	for _, in := range inputs {
		if in.Master && job.Step.Splitter == split.WMBSMergeBySize {
			left, drops, err := fd.lineage.TellOf(ctx, job, in.Name, &work, f.numbers)
			if err != nil {
				return work, err
			}
			f.numbers, f.drops = left, append(f.drops, drops...)
		}
		if in.Master && in.Step == jjm.StepWork && cut.Params.IncludeParents {
			if work.Ancestors, err = fd.lineage.Ancestors(ctx, in.Dataset, work.Files); err != nil {
				return work, err
			}
		}
		if in.Master {
			continue
		}
		s := split.Stream{Dataset: jjm.Dataset{Name: in.Name, Attributes: in.Attributes, Closed: in.Closed}}
		marks, err := fd.b.Store.Marks(ctx, in.Dataset)
		if err != nil {
			return work, err
		}
		err = fd.b.Store.Files(ctx, in.Dataset, 0, 0, func(n int64, file jjm.File) error {
			if marks[n] == jjm.FileReady {
				s.Files = append(s.Files, file)
			}
			return nil
		})
		if err != nil {
			return work, err
		}
		work.Secondary = append(work.Secondary, s)
	}
	if stream.HasSequence(&job.Spec) {
		work.Secondary = append(work.Secondary, handlers.SequenceStream())
	}
	return work, nil
}

// siblingsOf returns, for each file, whether all other grid jobs that read the file have processed it, one of them
// failed, or some are still to process it. It returns nil if no other grid job reads these files.
func (fd *Feeder) siblingsOf(ctx context.Context, id jjm.GridID, numbers []int64) ([]split.SiblingState, error) {
	states, err := fd.b.Store.Siblings(ctx, id, 0, split.SiblingProcessingBased)
	if err != nil || states == nil {
		return nil, err
	}
	out := make([]split.SiblingState, len(numbers))
	for i, n := range numbers {
		switch states[n] {
		case jjm.FileFinished:
			out[i] = split.SiblingDone
		case jjm.FileFailed:
			out[i] = split.SiblingFailed
		default:
			out[i] = split.SiblingPending
		}
	}
	return out, nil
}
