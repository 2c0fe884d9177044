package site

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/engine/floor/fair"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
	"jjm/internal/policy/plan"
)

// lookEvery is the time between two measurements of the free space if Deps does not say it.
const lookEvery = 2 * time.Second

// spaceLoop checks whether store, records and work areas are still there, and measures the free space of the file
// systems of work areas and records. If a file system hangs, the last result stays in force; no other loop waits for
// the file system.
func (si *Site) spaceLoop(ctx context.Context) {
	for ctx.Err() == nil {
		answer, gone := make(chan string, 1), make(chan string, 1)
		go func() {
			gone <- si.kept.look(si.b.Deps.Records.Reopen)
			answer <- si.measure()
		}()
		select {
		case <-ctx.Done():
			return
		case low := <-answer:
			si.noteLost(<-gone)
			si.noteLow(low)
		}
		fair.Pause(ctx, cmp.Or(si.b.Deps.LookEvery, lookEvery))
	}
}

// measure stores the free space of the file systems. It returns a text for people that names a file system with too
// little space for new work, or "" if all have enough.
func (si *Site) measure() string {
	cfg := si.b.Conf()
	floor := plan.Floor{Bytes: uint64(cfg.MinFreeBytes), Files: uint64(cfg.MinFreeFiles)}
	full := ""
	disks := health.Disks{At: jjm.At(si.b.Now())}
	known := map[unix.Fsid]bool{}
	for _, dir := range []struct {
		of, path string
		bounded  bool // by engine.min_free_bytes and engine.min_free_files
	}{{"work", si.b.Deps.Work, true}, {"records", si.b.Deps.RecordDir, true},
		{"state", filepath.Dir(si.b.Store.Path()), false}} {
		var fs unix.Statfs_t
		if dir.path == "" || unix.Statfs(dir.path, &fs) != nil {
			continue // the loops that use the folder will report the error
		}
		block := uint64(fs.Bsize)
		s := plan.Space{Bytes: fs.Blocks * block, FreeBytes: fs.Bavail * block, Files: fs.Files, FreeFiles: fs.Ffree}
		if low := plan.Low(s, floor); low != "" && dir.bounded && full == "" {
			full = fmt.Sprintf("the disk is full: in %s %s", dir.path, low)
		}
		if !known[fs.Fsid] {
			disks.All = append(disks.All, health.Disk{Of: dir.of, Path: dir.path, Bytes: int64(s.Bytes),
				Free: int64(s.FreeBytes), Near: plan.Near(s, floor)})
		}
		known[fs.Fsid] = fs.Fsid != unix.Fsid{}
	}
	si.disks.Store(&disks)
	return full
}

// Disks returns the last measurement of the file systems of work areas, records and state. A file system that holds
// several of these is returned only once.
func (si *Site) Disks() health.Disks {
	if d := si.disks.Load(); d != nil {
		return *d
	}
	return health.Disks{}
}

// noteLow stores the result of measure, and wakes the submit loops if a shortage began or ended.
func (si *Site) noteLow(low string) {
	before := si.s.SetLow(low)
	switch {
	case (low == "") == (before == ""):
		return
	case low != "":
		si.b.Log.Error("new work is refused", "reason", low)
	default:
		si.b.Log.Info("new work is accepted again")
	}
	si.s.WakeSubmit()
}

// noteLost stores the text for people about a removed or replaced path, "" if there is none. When the path is back, the
// records are written again.
func (si *Site) noteLost(why string) {
	before := si.s.SetLost(why)
	switch {
	case why == before && !si.kept.reopened:
		return
	case why != "":
		if why != before {
			si.b.Log.Error("new work is refused", "reason", why)
		}
		return
	}
	si.kept.reopened = false
	si.b.Log.Info("what was lost is back, new work is accepted again; the records are written anew", "was", before)
	si.heal()
	si.s.WakeSubmit()
}
