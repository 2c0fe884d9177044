package engine

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"jjm/plan"
)

// spaceEvery is how often the free space is looked at.
const spaceEvery = 2 * time.Second

// spaceLoop watches how much of the file systems of the work areas and of the
// records is free. One that hangs keeps the last answer, and nobody waiting.
func (e *Engine) spaceLoop(ctx context.Context) {
	for ctx.Err() == nil {
		answer := make(chan string, 1)
		go func() { answer <- e.measure() }()
		select {
		case <-ctx.Done():
			return
		case low := <-answer:
			e.noteLow(low)
		}
		pause(ctx, spaceEvery)
	}
}

// measure says which file system has too little free, "" if none.
func (e *Engine) measure() string {
	cfg := e.conf()
	floor := plan.Floor{Bytes: uint64(cfg.MinFreeBytes), Files: uint64(cfg.MinFreeFiles)}
	for _, dir := range []string{e.deps.Work, e.deps.RecordDir} {
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
func (e *Engine) noteLow(low string) {
	before := e.Low()
	e.low.Store(&low)
	switch {
	case (low == "") == (before == ""):
		return
	case low != "":
		e.log.Error("no new work is taken", "reason", low)
	default:
		e.log.Info("new work is taken again")
	}
	e.wakeSubmit()
}
