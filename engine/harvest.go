package engine

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"jjm"
	"jjm/sandbox"
)

// harvestLoop reads what wrappers leave in the bulks' folders and brings
// attempts that may be over to their verdict. Notifications of the kernel make
// it quick; the rescan makes it sure, for they do not see other hosts' writes.
func (e *Engine) harvestLoop(ctx context.Context) {
	var events <-chan fsnotify.Event
	var watched *folders
	if e.deps.Notify {
		if w, err := fsnotify.NewBufferedWatcher(1024); err == nil {
			defer w.Close()
			watched = &folders{w: w, tags: map[jjm.Tag]bool{}}
			events = w.Events
			go drain(w.Errors)
		} else {
			e.log.Warn("no file notification, rescans only", "error", err)
		}
	}
	var told map[jjm.Tag]bool // nil: look at all bulks
	scanned := time.Now()
	for ctx.Err() == nil {
		if watched != nil {
			e.watchFolders(watched)
		}
		began := time.Now()
		more, err := e.harvest(ctx, told)
		if told == nil {
			scanned = time.Now()
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, errCrashed) {
			e.complain(slog.LevelError, "harvest", "results could not be taken, trying again", "error", err)
		}
		if more && err == nil {
			continue
		}
		told = e.awaitResults(ctx, events, e.conf().Harvest.D()-time.Since(scanned), time.Since(began))
	}
}

// harvestShare is the part of the time that harvesting at notifications may
// take: a twentieth.
const harvestShare = 20

// awaitResults waits for the next rescan, for a kick, or for results that the
// kernel tells of; the answer is the bulks that it named, nil for all. A burst
// may gather for as long as keeps harvesting, which took so long the last
// time, within its share.
func (e *Engine) awaitResults(ctx context.Context, events <-chan fsnotify.Event, rescan, took time.Duration) map[jjm.Tag]bool {
	timer := time.NewTimer(max(rescan, 0))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			return nil
		case <-e.harvKick:
			return nil
		case ev := <-events:
			told := map[jjm.Tag]bool{}
			if !tells(ev, told) {
				continue
			}
			pause(ctx, min(max(20*time.Millisecond, took*harvestShare), e.conf().Harvest.D()))
			drainEvents(events, told)
			return told
		}
	}
}

func drain(errs <-chan error) {
	for range errs { // an overflow is healed by the rescan
	}
}

func drainEvents(events <-chan fsnotify.Event, told map[jjm.Tag]bool) {
	for {
		select {
		case ev := <-events:
			tells(ev, told)
		default:
			return
		}
	}
}

// tells notes the bulk that an event is about: a new name in its done folder
// that is not a file still being written.
func tells(ev fsnotify.Event, told map[jjm.Tag]bool) bool {
	if !ev.Has(fsnotify.Create) || strings.HasPrefix(filepath.Base(ev.Name), ".") {
		return false
	}
	told[jjm.Tag(filepath.Base(filepath.Dir(filepath.Dir(ev.Name))))] = true
	return true
}

// folders are the done folders that the kernel watches for us.
type folders struct {
	w    *fsnotify.Watcher
	tags map[jjm.Tag]bool
}

// watchFolders follows the open bulks. The kernel forgets a folder that is
// removed by itself.
func (e *Engine) watchFolders(f *folders) {
	e.mem.RLock()
	fresh := map[jjm.Tag]jjm.Owner{}
	for tag, b := range e.bulks {
		if !f.tags[tag] {
			fresh[tag] = b.Owner
		}
	}
	var gone []jjm.Tag
	for tag := range f.tags {
		if e.bulks[tag] == nil {
			gone = append(gone, tag)
		}
	}
	e.mem.RUnlock()
	if e.deps.Users != nil {
		return // the folders are their owners': the rescan finds the results
	}
	for tag, owner := range fresh {
		if ar, err := e.areas.of(owner); err == nil {
			f.tags[tag] = true
			_ = f.w.Add(doneDir(ar, tag)) // without it the rescan finds the results
		}
	}
	for _, tag := range gone {
		delete(f.tags, tag)
	}
}

func doneDir(ar *area, tag jjm.Tag) string {
	return ar.Root() + "/" + sandbox.BulkDir(tag) + "/done"
}

// harvest reads new results and progress of the bulks told, nil for all, and
// then settles what is due. More is true when it stopped at its limit.
func (e *Engine) harvest(ctx context.Context, told map[jjm.Tag]bool) (more bool, err error) {
	for _, b := range e.openBulks() {
		if ctx.Err() != nil {
			return false, nil
		}
		if told != nil && !told[b.tag] {
			continue
		}
		e.readResults(b)
		e.readProgress(b)
	}
	e.sweepUnused()
	return e.settleEndings(ctx)
}

// openBulk is what harvest needs of a bulk.
type openBulk struct {
	tag     jjm.Tag
	owner   jjm.Owner
	members []jjm.AttemptID
	done    int64
	// progress is the time of the newest progress seen, progressAt when that
	// was, by our clock.
	progress, progressAt int64
}

func (e *Engine) openBulks() []openBulk {
	e.mem.RLock()
	defer e.mem.RUnlock()
	out := make([]openBulk, 0, len(e.bulks))
	for tag, b := range e.bulks {
		out = append(out, openBulk{tag: tag, owner: b.Owner, members: b.Members, done: b.done, progress: b.progress, progressAt: b.progressAt})
	}
	return out
}

// fresh is how long a folder's time stamp must be past before it is believed:
// two renames in one tick of the file server's clock leave one time stamp, and
// NFS servers may count in whole seconds.
const fresh = 2 * time.Second

// readResults reads the results of a bulk that were not read yet. A bad one is
// reported once and then left to the batch system's word.
func (e *Engine) readResults(b openBulk) {
	ar, err := e.areas.of(b.owner)
	if err != nil {
		return
	}
	mtime, err := ar.DoneChanged(b.tag)
	if err != nil || mtime.UnixNano() == b.done {
		return
	}
	results, problems, err := ar.Results(b.tag, func(pos int32) bool { return e.resultKnown(b, pos) })
	if err != nil {
		e.complain(slog.LevelWarn, "results/"+string(b.tag), "results of a bulk cannot be read", "tag", b.tag, "error", err)
		return
	}
	now := jjm.At(e.now())
	for i := range results {
		r := &results[i]
		if int(r.Pos) >= len(b.members) || b.members[r.Pos] != r.AttemptID() {
			problems = append(problems, jjm.Problem{Field: itoa(r.Pos) + ".json", Text: "is about another attempt"})
			continue
		}
		e.endings.result(r, now)
	}
	if e.now().Sub(mtime) > fresh {
		for _, p := range problems {
			e.log.Warn("a wrapper's result is not usable", "tag", b.tag, "file", p.Field, "error", p.Text)
		}
		e.mem.Lock()
		if live := e.bulks[b.tag]; live != nil {
			live.done = mtime.UnixNano()
		}
		e.mem.Unlock()
	}
}

// resultKnown reports whether there is nothing to read for a position: its
// result is in hand, or its attempt is over.
func (e *Engine) resultKnown(b openBulk, pos int32) bool {
	if pos < 0 || int(pos) >= len(b.members) {
		return false
	}
	id := b.members[pos]
	e.mem.RLock()
	over := e.current(id) == nil
	e.mem.RUnlock()
	return over || e.endings.hasResult(id)
}

// readProgress takes over what running applications say of themselves. It goes
// to memory and to the record, never to the store. A large bulk is read less
// often: its files are looked at one by one.
func (e *Engine) readProgress(b openBulk) {
	now := e.now()
	if gone := now.Sub(time.Unix(0, b.progressAt)); gone >= 0 && gone < progressEvery(len(b.members)) {
		return
	}
	ar, err := e.areas.of(b.owner)
	if err != nil {
		return
	}
	mtime, err := ar.ProgressChanged(b.tag)
	seen := mtime.UnixNano() == b.progress && b.progressAt-b.progress > int64(fresh)
	if err != nil || seen {
		return
	}
	ps, err := ar.Progress(b.tag, time.Unix(0, max(b.progress-int64(fresh), 0)))
	if err != nil {
		return
	}
	if e.applyProgress(b, ps, mtime.UnixNano(), now.UnixNano()) {
		kick(e.pubKick)
	}
}

// progressEvery is a second for a bulk of a hundred and ten for one of a
// thousand.
func progressEvery(members int) time.Duration {
	return max(time.Duration(members)*10*time.Millisecond, time.Second) - 100*time.Millisecond
}

// applyProgress shows progress in memory; it reports whether anything changed.
func (e *Engine) applyProgress(b openBulk, ps map[int32]jjm.Progress, seen, now int64) bool {
	e.write.Lock() // a change copies rows without the other lock
	defer e.write.Unlock()
	e.mem.Lock()
	defer e.mem.Unlock()
	live := e.bulks[b.tag]
	if live == nil {
		return false
	}
	live.progress, live.progressAt = seen, now
	changed := false
	for pos, p := range ps {
		if pos < 0 || int(pos) >= len(b.members) {
			continue
		}
		if l := e.current(b.members[pos]); l != nil && l.Progress != p {
			l.Progress = p
			g := e.grids[l.ID.Grid]
			g.dirty[shardOf(l.ID.N)] = true
			g.headDirty = true
			g.version++
			changed = true
		}
	}
	return changed
}
