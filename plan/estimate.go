package plan

import (
	"math"
	"time"

	"jjm"
)

// The steps to which estimates are rounded up, so that local jobs that need about the same
// share bulks: wall times of some hours to 10 minutes, longer ones to hours; disk space to
// 256 MiB, then to GiB; memory to 64 MiB.
const (
	shortWalltime = 4 * time.Hour
	walltimeStep  = 10 * time.Minute
	smallDiskMB   = 4 << 10
	diskStepMB    = 256
	memoryStepMB  = 64
	// longestWalltime bounds what an estimate asks for: a year.
	longestWalltime = 365 * 24 * time.Hour
)

// Needs returns what a part asks its batch system for because of its estimate, nil for
// nothing: time, memory and disk, rounded up, each where the job file asks for none. Only
// what the user says of the time, the size and the memory of events (performance) counts,
// not rules of thumb of a splitter.
func Needs(spec *jjm.Spec, e jjm.Estimate) *jjm.Request {
	if spec.Split == nil || spec.Split.Params["performance"] == nil {
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

// roundWalltime returns a wall time of some seconds, rounded up.
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

// roundUp returns an amount rounded up to a step, 0 for none.
func roundUp(n, step float64) int64 {
	if !(n > 0) {
		return 0
	}
	return int64(math.Ceil(min(n, 1<<40)/step) * step)
}
