package plan

import (
	"math"
	"time"

	"jjm/internal/jjm"
)

// Estimates are rounded up to these steps, so that local jobs with about the same needs can share bulks: wall times up
// to 4 hours to 10 minutes, longer wall times to hours; disk space up to 4 GiB to 256 MiB, more disk space to GiB;
// memory to 64 MiB.
const (
	shortWalltime = 4 * time.Hour
	walltimeStep  = 10 * time.Minute
	smallDiskMB   = 4 << 10
	diskStepMB    = 256
	memoryStepMB  = 64
	// longestWalltime is the greatest wall time that is requested because of an estimate.
	longestWalltime = 365 * 24 * time.Hour
)

// Needs returns the resources that a part requests because of its estimate e, nil for none: wall time, memory and disk
// space. Each is rounded up, and left out if the job file sets it. Estimates count only if they are based on the time,
// size and memory of events in the job file (split.params.performance, or for JEDI's tasks the HS06 seconds), not if a
// splitter assumed these values.
func Needs(spec *jjm.Spec, e jjm.Estimate) *jjm.Request {
	if spec.Split == nil || spec.Split.Params["performance"] == nil && !countsHS06(spec.Split) {
		return nil
	}
	var r jjm.Request
	if spec.Request.Walltime == 0 {
		r.Walltime = jjm.Duration(roundWalltime(e.Seconds))
	}
	if spec.Request.MemoryMB == 0 {
		r.MemoryMB = roundUp(e.MemoryMB, memoryStepMB)
	}
	if spec.Request.ScratchMB == 0 {
		step := float64(diskStepMB)
		if e.DiskKB/1024 > smallDiskMB {
			step = 1024
		}
		r.ScratchMB = roundUp(e.DiskKB/1024, step)
	}
	if r == (jjm.Request{}) {
		return nil
	}
	return &r
}

// countsHS06 reports whether the job file states the HS06 seconds of an event.
func countsHS06(s *jjm.Splitting) bool {
	task, _ := s.Params["task"].(map[string]any)
	said, _ := task["hs06"].(bool)
	return said
}

// roundWalltime returns a wall time of that many seconds, rounded up to its step.
func roundWalltime(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	if seconds > longestWalltime.Seconds() {
		return longestWalltime
	}
	step := walltimeStep
	if seconds > shortWalltime.Seconds() {
		step = time.Hour
	}
	return time.Duration(math.Ceil(seconds/step.Seconds())) * step
}

// roundUp returns n rounded up to a multiple of step, 0 if n is not positive.
func roundUp(n, step float64) int64 {
	if !(n > 0) {
		return 0
	}
	return int64(math.Ceil(min(n, 1<<40)/step) * step)
}
