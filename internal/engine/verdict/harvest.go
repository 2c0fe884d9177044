package verdict

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/fsnotify/fsnotify"

	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// harvestLoop starts the harvests of accounts. Notifications of the kernel start harvests quickly; periodic scans find
// everything else, because the kernel does not notify about writes by other hosts.
func (ju *Judge) harvestLoop(ctx context.Context) {
	var events <-chan fsnotify.Event
	var watched *folders
	if ju.b.Deps.Notify && ju.b.Deps.Users == nil { // if there are Users, the daemon may not watch the owners' folders
		if w, err := fsnotify.NewBufferedWatcher(1024); err == nil {
			defer w.Close()
			watched = &folders{w: w, tags: map[jjm.Tag]bool{}}
			events = w.Events
			go drain(w.Errors)
		} else {
			ju.b.Log.Warn("no file notification, folders are only scanned", "error", err)
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

// harvestAll starts a harvest of each account that has open bulks, attempts that may have
// ended, or folders of bulks to remove.
func (ju *Judge) harvestAll() {
	v := ju.s.View()
	uids := v.Harvested()
	v.Close()
	for _, uid := range ju.ends.Accounts() {
		uids[uid] = true
	}
	for uid := range uids {
		ju.agenda.all(uid)
		ju.harvests.Kick(uid)
	}
}

// harvestShare limits the time of harvests that notifications start: after a harvest that took t, the account's next
// harvest waits for harvestShare times t, but not longer than the interval between scans.
const harvestShare = 20

// awaitRescan waits for the next scan or for a kick. Meanwhile it starts harvests of the bulks with notifications, with
// a delay, so that a burst of results causes only one harvest.
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
			tag, ok := bulkOf(ev)
			if !ok {
				continue
			}
			if uid, known := accountOf(ju.s, tag); known {
				took := ju.agenda.bulk(uid, tag)
				ju.harvests.KickIn(uid, min(max(20*time.Millisecond, took*harvestShare), ju.b.Conf().Harvest.D()))
			}
		}
	}
}

// accountOf returns the uid of an open bulk's owner.
func accountOf(s *state.State, tag jjm.Tag) (uid int, known bool) {
	v := s.View()
	defer v.Close()
	b := v.Bulk(tag)
	if b == nil {
		return 0, false
	}
	return b.Owner.UID, true
}

// harvestsAtOnce is the number of places for harvests (see fair.Keyed). harvestPatience is how long a harvest keeps its
// place.
const (
	harvestsAtOnce  = 4
	harvestPatience = 250 * time.Millisecond
)

// harvestTime is the time after which a harvest of an account begins no further work: half for reading, half for
// judging. The remaining work waits for the account's next harvest.
const harvestTime = 2 * time.Second

// harvestOf runs one harvest of an account, for fair.Keyed. If the harvest stopped at a limit, the next harvest follows
// immediately.
func (ju *Judge) harvestOf(ctx context.Context, uid int) time.Duration {
	began := time.Now()
	tags := ju.agenda.take(uid)
	bulks := ju.openBulks(uid)
	more, err := ju.harvest(ctx, uid, bulks, tags)
	if err != nil && ctx.Err() == nil && !errors.Is(err, base.ErrCrashed) {
		ju.b.Complain(slog.LevelError, "harvest/"+strconv.Itoa(uid), "results could not be read, will try again", "uid", uid,
			"error", err)
	}
	ju.agenda.ended(uid, time.Since(began), len(bulks) == 0)
	if !more || err != nil {
		return 0
	}
	if tags == nil {
		ju.agenda.all(uid)
	}
	for tag := range tags {
		ju.agenda.bulk(uid, tag)
	}
	return time.Millisecond
}

// harvest reads results, progress and fragments of the given bulks of an account, all if
// tags is nil, and then judges the attempts that are due. more is true if it stopped at a
// limit.
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

// openBulk holds the facts about an open bulk that a harvest needs.
type openBulk struct {
	tag     jjm.Tag
	owner   jjm.Owner
	members []jjm.AttemptID
	state.Look
}

// openBulks returns the open bulks of an account. Their order is random; the time limit therefore does not always leave
// out the same bulks.
func (ju *Judge) openBulks(uid int) []openBulk {
	v := ju.s.View()
	defer v.Close()
	var out []openBulk
	for tag, b := range v.BulksOf(uid) {
		out = append(out, openBulk{tag: tag, owner: b.Owner, members: b.Members, Look: b.Look})
	}
	return out
}

// fresh is the age up to which a folder's unchanged time stamp does not prove that the folder is unchanged: two renames
// within one tick of the file server's clock leave the same time stamp, and NFS servers may count in whole seconds.
const fresh = 2 * time.Second

// readResults reads the new results of a bulk until the limits of time or memory. It logs a bad result once; the
// attempt is then judged without the result.
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
		ju.b.Complain(slog.LevelWarn, "results/"+string(b.tag), "results of a bulk could not be read", "tag", b.tag, "error",
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

// badResults logs problems with results of a bulk, at most ten, and each problem only when it
// changes or ten minutes have passed.
func (ju *Judge) badResults(tag jjm.Tag, problems []jjm.Problem) {
	for i, p := range problems[:min(len(problems), 10)] {
		ju.b.Complain(slog.LevelWarn, "result/"+string(tag)+"/"+strconv.Itoa(i), "a wrapper's result is not usable", "tag",
			tag, "file", p.Field, "error", p.Text)
	}
}

// resultKnown reports whether there is nothing to read for a position of a bulk: the result is already in memory, or
// the attempt is no longer current.
func (ju *Judge) resultKnown(b openBulk, pos int32) bool {
	id := b.members[pos]
	return ju.isPast(id) || ju.ends.HasResult(id)
}

// isPast reports whether an attempt is no longer the current attempt of its local job.
func (ju *Judge) isPast(id jjm.AttemptID) bool {
	v := ju.s.View()
	defer v.Close()
	return v.Current(id) == nil
}
