package pbs

import (
	"context"
	"slices"
	"strings"
	"sync"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

const (
	// maxDeletes is the largest number of qdel commands in one Control; the budget of ports may allow fewer. The members
	// of an array that do not form a range need one qdel each. One Control therefore cancels 100 such members, in 13 s at
	// qdelsPerSecond. The engine calls Control again for the remaining jobs.
	maxDeletes = 100
	// deletesAtOnce is the number of qdel commands that run at the same time: few enough for the server, and enough to
	// run 100 of these commands within seconds.
	deletesAtOnce = 4
)

// cancel deletes the targets of a plan, and then lists again: qdel also exits with 0 if it deleted nothing, or if its
// request crashed the server. The answer for a job is nil if the job has ended, is gone, or still runs after an
// accepted qdel, because PBS takes some time to end a job. The answer for a job that still waits is an error of kind
// Busy.
func (a *Adapter) cancel(ctx context.Context, owner jjm.Owner, p *plan) error {
	if len(p.targets) == 0 {
		return nil
	}
	todo := commands(adapters.Cancel, openpbs, p.targets, a.operandsNow())
	outs, sent, err := a.delete(ctx, todo[:min(len(todo), maxDeletes)])
	if err == nil && !slices.Contains(sent, true) {
		return notSent("qdel is not sent before the next cycle: too many reserved ports of this minute are used")
	}
	if err == nil {
		err = a.confirm(ctx, owner, p, todo, outs, sent)
	}
	a.noteShared(todo, sent, err)
	if adapters.IsNotAsked(err) {
		return adapters.Later(err) // qdel was sent
	}
	return err
}

// delete runs commands, a few at the same time. It returns their outputs, and reports for each command whether it was
// sent. If the budget of ports has no room, or a command could not run or did not reach the server, delete starts no
// further command and returns an error.
func (a *Adapter) delete(ctx context.Context, todo []command) (outs []run.Output, sent []bool, err error) {
	outs, sent = make([]run.Output, len(todo)), make([]bool, len(todo))
	var mu sync.Mutex // guards the variables below
	next, failed := 0, error(nil)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		if next >= len(todo) || failed != nil {
			return -1
		}
		next++
		return next - 1
	}
	var workers sync.WaitGroup
	for range min(deletesAtOnce, len(todo)) {
		workers.Go(func() {
			for i := take(); i >= 0; i = take() {
				out, err := a.reach(ctx, todo[i])
				mu.Lock()
				outs[i], sent[i] = out, !adapters.IsNotAsked(err)
				switch {
				case !sent[i]:
					next = len(todo)
				case failed == nil:
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return outs, sent, failed
}

// reach runs a command. It returns an error of kind Busy if the command did not reach the server or found no reserved
// port. A command without a port may have exited with 0 although it did nothing.
func (a *Adapter) reach(ctx context.Context, c command) (run.Output, error) {
	out, err := a.run(ctx, nil, c.argv...)
	if err != nil {
		return out, err
	}
	if out.Exit != 0 && isUnreachable(string(out.Stderr)) || saysNoPorts(out.Stderr) {
		return out, jjm.Errorf(jjm.Busy, "%s: exit %d: %s", c.argv[0], out.Exit, complaint(out.Stderr))
	}
	return out, nil
}

// confirm sets the answers according to the outputs of the sent commands and to a listing after these commands.
func (a *Adapter) confirm(ctx context.Context, owner jjm.Owner, p *plan, todo []command, outs []run.Output,
	sent []bool) error {
	members := false
	for _, t := range p.targets {
		members = members || t.array && !t.whole
	}
	all, _, err := a.liveFor(ctx, confirming, owner, members)
	if err != nil {
		return err
	}
	for i, c := range todo {
		if i < len(sent) && sent[i] {
			outcome(adapters.Cancel, outs[i], c, p.answers)
			continue
		}
		for _, refs := range c.operands {
			for _, ref := range refs {
				p.answers[ref] = jjm.Errorf(jjm.Busy, "cancelled later: jjm runs only so many qdel in a minute")
			}
		}
	}
	readable, odd := readables(all, owner)
	bulks, damaged := views(readable, members), unread(odd)
	for _, t := range p.targets {
		for _, m := range t.members {
			switch bulks[t.seq].afterDelete(t, m.index) {
			case deleted:
				p.answers[m.ref] = adapters.Doubt(damaged, adapters.Ref{Tag: t.tag, ID: t.seq, Index: m.index})
			case stillWaits:
				if p.answers[m.ref] == nil {
					p.answers[m.ref] = jjm.Errorf(jjm.Busy, "qdel: exit 0, but a job of %s still waits", t.seq)
				}
			}
		}
	}
	return nil
}

// fate is the state of a job according to a listing after a qdel.
type fate uint8

const (
	deleted    fate = iota // the job has ended or is gone
	stillWaits             // the job still waits: qdel did nothing
	stillRuns              // the job is ending, or qdel did nothing
)

// afterDelete returns the fate of a member of a target. v is nil if the bulk is not listed.
func (v *bulkView) afterDelete(t target, index int32) fate {
	if v == nil || v.whole.id != "" && v.whole.isOver() {
		return deleted
	}
	j, ok := v.whole, v.whole.id != ""
	if t.array && !t.whole {
		j, ok = v.members[index]
	}
	switch {
	case !ok || j.isOver():
		return deleted
	case strings.Contains("QHWT", j.state):
		return stillWaits
	}
	return stillRuns
}

// isUnreachable reports whether a message says that the server could not be reached.
func isUnreachable(text string) bool {
	for _, part := range unreachable {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
