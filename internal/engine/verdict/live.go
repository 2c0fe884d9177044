package verdict

import (
	"context"
	"time"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// liveFiles describe a kind of file that the running attempts of a bulk rewrite:
// progress, or fragments.
type liveFiles struct {
	was state.LiveLook // the last look at the files
	// changed returns the time stamp of the files' folder.
	changed func(*areas.Area, jjm.Tag) (time.Time, error)
	// read reads the files that were written since the time since, and returns the position
	// at which to continue.
	read func(ar *areas.Area, look sandbox.Look, since time.Time) (next int32, err error)
	// note stores the position at which to continue, the time stamp of the folder and the
	// time of the look.
	note func(next int32, seen, now int64)
}

// readLive reads live files of a bulk if some may have changed. Because it must look at each file, it reads the files
// of a large bulk less often.
func (ju *Judge) readLive(b openBulk, files liveFiles) {
	now, was := ju.b.Now(), files.was
	if gone := now.Sub(time.Unix(0, was.At)); gone >= 0 && gone < liveEvery(len(b.members)) {
		return
	}
	ar, err := ju.areas.Of(b.owner)
	if err != nil {
		return
	}
	mtime, err := files.changed(ar, b.tag)
	if err != nil || mtime.IsZero() {
		return
	}
	seen := mtime.UnixNano()
	if seen == was.Seen && was.At-was.Seen > int64(fresh) {
		return
	}
	next, err := files.read(ar, sandbox.Look{N: len(b.members), From: was.Next},
		time.Unix(0, max(was.Seen-int64(fresh), 0)))
	if err == nil {
		files.note(next, seen, now.UnixNano())
	}
}

// liveEvery returns the time between two reads of a bulk's live files: 0.9 s for up to 100 members, 9.9 s for 1000
// members. It is 0.1 s less than a whole number of seconds, because a scan every second could otherwise come just too
// early.
func liveEvery(members int) time.Duration {
	return max(time.Duration(members)*10*time.Millisecond, time.Second) - 100*time.Millisecond
}

// readProgress reads the progress that running applications report. The progress goes to
// memory and to the record, never to the store.
func (ju *Judge) readProgress(ctx context.Context, b openBulk) {
	shown := map[int32]jjm.Progress{}
	ju.readLive(b, liveFiles{was: b.Progress,
		changed: func(ar *areas.Area, tag jjm.Tag) (time.Time, error) { return ar.ProgressChanged(tag) },
		read: func(ar *areas.Area, look sandbox.Look, since time.Time) (int32, error) {
			said, next, err := ar.Progress(ctx, b.tag, look, since)
			for pos, phases := range said {
				shown[pos] = ju.types.progressOf(b.members[pos], phases)
				if ctx.Err() == nil && !ju.isPast(b.members[pos]) {
					ju.recordEarlier(ctx, b.members[pos], phases)
				}
			}
			return next, err
		},
		note: func(next int32, seen, now int64) {
			changed := false
			ju.s.Adjust(func(a *state.Memo) { changed = a.ShowProgress(b.tag, shown, next, seen, now) })
			if changed {
				fair.Kick(ju.s.PubKick)
			}
		},
	})
}

// readFragments reads the fragments that running applications add to their records.
func (ju *Judge) readFragments(ctx context.Context, b openBulk) {
	ju.readLive(b, liveFiles{was: b.Fragments,
		changed: func(ar *areas.Area, tag jjm.Tag) (time.Time, error) { return ar.FragmentsChanged(tag) },
		read: func(ar *areas.Area, look sandbox.Look, since time.Time) (int32, error) {
			look.Skip = func(pos int32) bool { return ju.isPast(b.members[pos]) }
			return ar.Fragments(ctx, b.tag, look, since,
				func(pos int32, xml []byte) { ju.recordFragment(ctx, b.members[pos], string(xml)) })
		},
		note: func(next int32, seen, now int64) {
			ju.s.Mark(func(m *state.Marks) { m.LookedForFragments(b.tag, next, seen, now) })
		},
	})
}
