package site

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"jjm/engine/fair"
	"jjm/plan"
)

// spaceEvery is how often the free space is looked at.
const spaceEvery = 2 * time.Second

// spaceLoop watches how much of the file systems of the work areas and of the
// records is free. One that hangs keeps the last answer, and nobody waiting.
func (si *Site) spaceLoop(ctx context.Context) {
	for ctx.Err() == nil {
		answer := make(chan string, 1)
		go func() { answer <- si.measure() }()
		select {
		case <-ctx.Done():
			return
		case low := <-answer:
			si.noteLow(low)
		}
		fair.Pause(ctx, spaceEvery)
	}
}

// measure says which file system has too little free, "" if none.
func (si *Site) measure() string {
	cfg := si.b.Conf()
	floor := plan.Floor{Bytes: uint64(cfg.MinFreeBytes), Files: uint64(cfg.MinFreeFiles)}
	for _, dir := range []string{si.b.Deps.Work, si.b.Deps.RecordDir} {
		var fs unix.Statfs_t
		if dir == "" || unix.Statfs(dir, &fs) != nil {
			continue // who uses it says what is wrong with it
		}
		block := uint64(fs.Bsize)
		s := plan.Space{Bytes: fs.Blocks * block, FreeBytes: fs.Bavail * block, Files: fs.Files, FreeFiles: fs.Ffree}
		if low := plan.Low(s, floor); low != "" {
			return fmt.Sprintf("the disk is full: in %s %s", dir, low)
		}
	}
	return ""
}

// noteLow takes over what was measured. What waited for space goes on.
func (si *Site) noteLow(low string) {
	before := si.s.SetLow(low)
	switch {
	case (low == "") == (before == ""):
		return
	case low != "":
		si.b.Log.Error("no new work is taken", "reason", low)
	default:
		si.b.Log.Info("new work is taken again")
	}
	si.s.WakeSubmit()
}
