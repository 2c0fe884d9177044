package verdict

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/fsnotify/fsnotify"

	"jjm"
	"jjm/engine/base"
	"jjm/engine/state"
	"jjm/sandbox"
)

// harvestLoop has what wrappers leave in the bulks' folders read, and attempts
// that may be over brought to their verdict, by account. Notifications of the
// kernel make it quick; the rescan makes it sure, for they do not see other hosts'
// writes.
func (ju *Judge) harvestLoop(ctx context.Context) {
	var events <-chan fsnotify.Event
	var watched *folders
	if ju.b.Deps.Notify && ju.b.Deps.Users == nil { // else the folders are their owners': the rescan finds the results
		if w, err := fsnotify.NewBufferedWatcher(1024); err == nil {
			defer w.Close()
			watched = &folders{w: w, tags: map[jjm.Tag]bool{}}
			events = w.Events
			go drain(w.Errors)
		} else {
			ju.b.Log.Warn("no file notification, rescans only", "error", err)
		}
	}
	for ctx.Err() == nil {
		if watched != nil {
			ju.watchFolders(watched)
		}
		ju.harvestAll()
		ju.awaitRescan(ctx, events)
	}
}

// harvestAll has the folders of all accounts looked at that have something to look
// at.
func (ju *Judge) harvestAll() {
	v := ju.s.View()
	uids := v.Harvested()
	v.Close()
	for _, uid := range ju.ends.Accounts() {
		uids[uid] = true
	}
	for uid := range uids {
		ju.told.all(uid)
		ju.harvests.Kick(uid)
	}
}

// harvestShare is the part of the time that harvesting at notifications may
// take: a twentieth, for each account.
const harvestShare = 20

// awaitRescan waits for the next rescan or for a kick. Meanwhile it passes on what
// the kernel tells of. A burst may gather for as long as keeps the harvests of its
// account, which took so long the last time, within their share.
func (ju *Judge) awaitRescan(ctx context.Context, events <-chan fsnotify.Event) {
	timer := time.NewTimer(ju.b.Conf().Harvest.D())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-ju.ends.Look:
			return
		case ev := <-events:
			tag, ok := tells(ev)
			if !ok {
				continue
			}
			if uid, known := ju.accountOf(tag); known {
				took := ju.told.bulk(uid, tag)
				ju.harvests.KickIn(uid, min(max(20*time.Millisecond, took*harvestShare), ju.b.Conf().Harvest.D()))
			}
		}
	}
}

// accountOf returns the account of an open bulk.
func (ju *Judge) accountOf(tag jjm.Tag) (uid int, known bool) {
	v := ju.s.View()
	defer v.Close()
	b := v.Bulk(tag)
	if b == nil {
		return 0, false
	}
	return b.Owner.UID, true
}

// harvestsAtOnce is how many accounts' harvests have a place, harvestPatience how
// long one keeps it.
const (
	harvestsAtOnce  = 4
	harvestPatience = 250 * time.Millisecond
)

// harvestTime is how long one harvest of an account may last, but for the act that
// it is in. Then the rest waits for the account's next turn.
const harvestTime = 2 * time.Second

// harvestOf reads new results and progress of an account's bulks, and then settles
// what is due. It goes on at once if it stopped at a limit.
func (ju *Judge) harvestOf(ctx context.Context, uid int) time.Duration {
	began := time.Now()
	tags := ju.told.take(uid)
	bulks := ju.openBulks(uid)
	more, err := ju.harvest(ctx, uid, bulks, tags)
	if err != nil && ctx.Err() == nil && !errors.Is(err, base.ErrCrashed) {
		ju.b.Complain(slog.LevelError, "harvest/"+strconv.Itoa(uid), "results could not be taken, trying again", "uid", uid,
			"error", err)
	}
	ju.told.ended(uid, time.Since(began), len(bulks) == 0)
	if !more || err != nil {
		return 0
	}
	if tags == nil {
		ju.told.all(uid)
	}
	for tag := range tags {
		ju.told.bulk(uid, tag)
	}
	return time.Millisecond
}

// harvest is one turn of an account: a part of its time for what lies in its
// folders, the rest for what is due. More is true when it stopped at a limit.
func (ju *Judge) harvest(ctx context.Context, uid int, bulks []openBulk, tags map[jjm.Tag]bool) (more bool, err error) {
	ju.sweeper.SweepOrphans(ctx, uid)
	read, done := context.WithTimeout(ctx, harvestTime/2)
	defer done()
	for _, b := range bulks {
		if tags != nil && !tags[b.tag] {
			continue
		}
		if read.Err() != nil {
			break
		}
		ju.readResults(read, b)
		ju.readProgress(read, b)
		ju.readFragments(read, b)
	}
	more = read.Err() != nil && ctx.Err() == nil
	ju.sweeper.SweepUnused(ctx, uid)
	settle, done := context.WithTimeout(ctx, harvestTime/2)
	defer done()
	again, err := ju.settleEndings(ctx, settle, uid)
	return more || again, err
}

// openBulk is what harvest needs of a bulk.
type openBulk struct {
	tag     jjm.Tag
	owner   jjm.Owner
	members []jjm.AttemptID
	state.Look
}

// openBulks are those of an account, in any order: none is always the last.
func (ju *Judge) openBulks(uid int) []openBulk {
	v := ju.s.View()
	defer v.Close()
	var out []openBulk
	for tag, b := range v.BulksOf(uid) {
		out = append(out, openBulk{tag: tag, owner: b.Owner, members: b.Members, Look: b.Look})
	}
	return out
}

// fresh is how long a folder's time stamp must be past before it is believed:
// two renames in one tick of the file server's clock leave one time stamp, and
// NFS servers may count in whole seconds.
const fresh = 2 * time.Second

// readResults reads the results of a bulk that were not read yet, as far as time
// and memory go. A bad one is reported once and then left to the batch system's
// word.
func (ju *Judge) readResults(ctx context.Context, b openBulk) {
	ar, err := ju.areas.Of(b.owner)
	if err != nil {
		return
	}
	mtime, err := ar.DoneChanged(b.tag)
	if err != nil || mtime.UnixNano() == b.Done {
		return
	}
	var problems []jjm.Problem
	look := sandbox.Look{N: len(b.members), From: b.NextDone, Skip: func(pos int32) bool { return ju.resultKnown(b, pos) }}
	next, bad, err := ar.Results(ctx, b.tag, look, func(r *jjm.Result) bool {
		if b.members[r.Pos] != r.AttemptID() {
			problems = append(problems, jjm.Problem{Field: base.Itoa(r.Pos) + ".json", Text: "is about another attempt"})
			return true
		}
		if !ju.ends.MayHold(b.owner.UID) {
			return false
		}
		ju.ends.Result(r, jjm.At(ju.b.Now()))
		return true
	})
	if err != nil {
		ju.b.Complain(slog.LevelWarn, "results/"+string(b.tag), "results of a bulk cannot be read", "tag", b.tag, "error",
			err)
		return
	}
	settled := next == sandbox.All && ju.b.Now().Sub(mtime) > fresh
	if settled {
		ju.badResults(b.tag, append(bad, problems...))
	}
	var seen int64
	if settled {
		seen = mtime.UnixNano()
	}
	ju.s.Mark(func(m *state.Marks) { m.Looked(b.tag, next, seen) })
}

// badResults logs what is wrong with some results of a bulk, once until that
// changes, and of many a few.
func (ju *Judge) badResults(tag jjm.Tag, problems []jjm.Problem) {
	for i, p := range problems[:min(len(problems), 10)] {
		ju.b.Complain(slog.LevelWarn, "result/"+string(tag)+"/"+strconv.Itoa(i), "a wrapper's result is not usable", "tag",
			tag, "file", p.Field, "error", p.Text)
	}
}

// resultKnown reports whether there is nothing to read for a position: its
// result is in hand, or its attempt is over.
func (ju *Judge) resultKnown(b openBulk, pos int32) bool {
	id := b.members[pos]
	return ju.over(id) || ju.ends.HasResult(id)
}

// over reports whether an attempt is not the current one of its local job any more.
func (ju *Judge) over(id jjm.AttemptID) bool {
	v := ju.s.View()
	defer v.Close()
	return v.Current(id) == nil
}
