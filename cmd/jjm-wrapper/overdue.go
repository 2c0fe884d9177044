package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/internal/work/stream"
)

// patience is how long after the end of the grace period the wrapper still waits for a file system. A busy file system
// needs about this time for an open or a read.
const patience = 5 * time.Second

// overdue is the reason for outputs that are left out because their file system did not answer before the attempt had
// to end.
const overdue = "the file system did not answer before the attempt had to end"

// within runs do, and returns true when do has ended. If do has not ended by the time patient after the end of ctx,
// within returns false, because nothing can interrupt an open or a read on a file system that hangs. The goroutine of
// do then continues until the process ends, so the caller must not read variables that do writes without a lock.
func within(ctx context.Context, patient time.Duration, do func()) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		do()
	}()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
	}
	timer := time.NewTimer(patient)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}

// findOutputs returns the results of outputNames. If the file system hangs, the search does not end; findOutputs then
// returns each pattern and name as a file that is left out.
func (a *attempt) findOutputs(ctx context.Context, said glf.Log) ([]wanted, []pattern) {
	if a.root == nil {
		return nil, nil
	}
	var list []wanted
	var asked []pattern
	l := &lister{a: a, glob: globbing{a: a, ctx: ctx}, seen: map[string]bool{}}
	if within(ctx, patience, func() { list, asked = l.outputNames(said) }) {
		return list, asked
	}
	blind := &lister{a: a, blind: true, seen: map[string]bool{}}
	return blind.outputNames(said)
}

// gathering holds the outputs that were examined so far. One goroutine examines files and adds outputs; if this
// goroutine hangs, the wrapper uses the outputs that it has added.
type gathering struct {
	mu      sync.Mutex
	outputs []jjm.Output
}

func (g *gathering) add(o jjm.Output) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.outputs = append(g.outputs, o)
}

func (g *gathering) soFar() []jjm.Output {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.outputs)
}

// gather collects the files to be collected, and the log if the job file requests it. It returns these files, including
// the log, and one output for each of them. Files on a file system that hangs are left out.
func (a *attempt) gather(ctx context.Context, c *collector, patient time.Duration, names []wanted) ([]wanted,
	[]jjm.Output) {
	var done gathering
	found := names
	if a.assign.Log {
		names = append(slices.Clip(found), wanted{name: stream.LogName})
	}
	if within(ctx, patient, func() {
		all := found
		if a.assign.Log {
			all = append(slices.Clip(found), a.keepLog(ctx))
		}
		for _, w := range all {
			done.add(c.collect(ctx, w))
		}
	}) {
		return names, done.outputs
	}
	outputs := done.soFar()
	for _, w := range names[len(outputs):] {
		if w.absent == "" {
			w.absent, w.left = overdue, jjm.LeftTime
		}
		outputs = append(outputs, c.collect(ctx, w)) // collect touches no file, because absent is set
	}
	return names, outputs
}
