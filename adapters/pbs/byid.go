package pbs

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// liveByID looks up by id the owner's jobs that have not ended: the jobs that qselect prints, and the jobs that are
// alive in memory. It sends the lookups only if the budget has room for all of them. asked is false if the lookups need
// more ports than even an unused budget has; the caller must then list everything.
func (a *Adapter) liveByID(ctx context.Context, owner jjm.Owner, members bool) (jobs []job, asked bool, err error) {
	ask, before := a.aliveInMemory(owner)
	if n := max(len(ask), before); a.everAffordable(n) {
		if err := a.takeTurn(owner, n); err != nil {
			return nil, true, err
		}
	}
	ids, err := a.selectIDs(ctx, owner)
	if err != nil {
		return nil, true, err
	}
	for _, id := range ids {
		ask = appendNew(ask, id.String())
	}
	a.mu.Lock()
	a.memoryOf(owner).live = len(ask)
	a.mu.Unlock()
	if !a.everAffordable(len(ask)) {
		return nil, false, nil
	}
	if err := a.takeTurn(owner, len(ask)); err != nil {
		return nil, true, err
	}
	var all []raw
	err = a.byID(ctx, ask, members, func(_ []string, has []raw) error {
		all = append(all, has...)
		return nil
	})
	if err != nil {
		return nil, true, err
	}
	a.mu.Lock()
	a.memoryOf(owner).served = a.env.Now()
	a.mu.Unlock()
	return jobsOf(all, openpbs), true, nil
}

// refusedFor is how long other accounts wait for an account that was refused.
const refusedFor = 2 * portLife

// takeTurn returns an error if an owner's n live bulks must not be looked up by id now: the budget has no room for all
// n, or an account that was served earlier is waiting.
func (a *Adapter) takeTurn(owner jjm.Owner, n int) error {
	err := a.reserve(n)
	now := a.env.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.memoryOf(owner)
	p.refused = now
	if err != nil {
		return err
	}
	if a.anotherWaits(p, now) {
		return adapters.NotAsked(jjm.Errorf(jjm.Busy,
			"%s are not asked for before the next cycle: it is another account's turn", jjm.Count(n, "id")))
	}
	p.refused = time.Time{}
	return nil
}

// anotherWaits reports whether an account that was served earlier than this account was refused lately. The caller
// holds the lock.
func (a *Adapter) anotherWaits(p *memory, now time.Time) bool {
	for _, other := range a.memories {
		if now.Sub(other.refused) < refusedFor && other.served.Before(p.served) {
			return true
		}
	}
	return false
}

// aliveInMemory returns the ids of the owner's bulks that are not known to have ended, and the number of live bulks at
// the previous lookup by id.
func (a *Adapter) aliveInMemory(owner jjm.Owner) (ids []string, before int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.memoryOf(owner)
	for seq, b := range p.bulks {
		if !b.over {
			ids = append(ids, b.id(seq))
		}
	}
	slices.Sort(ids)
	return ids, p.live
}

// lookUp looks up ids on the server, including the history, and calls take with the ids that were answered and their
// jobs. If the ids do not fit into one command or into the budget of ports, lookUp uses one listing of everything
// instead.
func (a *Adapter) lookUp(ctx context.Context, ids []string, members bool,
	take func(answered []string, has []raw) error) error {
	few := len(ids) <= maxIDs && (a.mayAskFor(len(ids)) || a.keepsRoomFor(ctx, len(ids)))
	left := ids
	if len(ids) == 0 || few || !a.mayList(listing{history: true, members: members}) {
		err := a.byID(ctx, ids, members, func(answered []string, has []raw) error {
			left = slices.DeleteFunc(slices.Clone(left), func(id string) bool { return slices.Contains(answered, id) })
			return take(answered, has)
		})
		// Other commands may have used up the budget meanwhile.
		if !adapters.IsNotAsked(err) || ctx.Err() != nil || !a.mayList(listing{history: true, members: members}) {
			return err
		}
	}
	raws, err := a.listFor(ctx, left, members)
	if err != nil {
		return err
	}
	return take(left, raws)
}

// listFor returns the jobs with the given ids from a listing of everything. A job that is
// not in the listing does not exist.
func (a *Adapter) listFor(ctx context.Context, ids []string, members bool) ([]raw, error) {
	raws, err := a.listAll(ctx, ordinary, listing{!a.historyOff(), members})
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, id := range ids {
		if parsed, ok := parseID(id); ok {
			wanted[parsed.seq] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(raws), func(r raw) bool { // callers share raws
		id, ok := parseID(r.id)
		return ok && !wanted[id.seq]
	}), nil
}

// byID looks up jobs by id, including the history. For each answer it calls take with the ids that the answer covers
// and with their jobs. If the answer to several ids is too large, byID repeats the command with fewer ids. Some
// versions of OpenPBS answer only the first of several ids (recorded in json_several_ids): byID then looks up the other
// ids one at a time.
func (a *Adapter) byID(ctx context.Context, ids []string, members bool,
	take func(answered []string, has []raw) error) error {
	for len(ids) > 0 {
		some := ids[:min(len(ids), a.chunkNow())]
		history := !a.historyOff()
		argv := qstatArgs(history, members, some...)
		out, err := a.run(ctx, nil, argv...)
		if why := tooMuch(out, err); why != "" {
			a.updateChunk(func(c chunkSize) chunkSize { return c.failed(a.env.Now(), len(some)) })
			if len(some) > 1 && ctx.Err() == nil {
				continue
			}
			return jjm.Errorf(jjm.Busy, "%s of %s, %s first: %s", argv[0], jjm.Count(len(some), "id"), some[0], why)
		}
		if err != nil {
			return adapters.AsBusy(err)
		}
		raws, kept, err := parseByID(out, argv)
		if err != nil {
			return err
		}
		if history && !kept {
			a.setHistory(false)
			continue // repeat without the history
		}
		answered, silent := answeredIDs(some, raws, out.Stderr)
		switch {
		case len(silent) == 0:
			a.updateChunk(func(c chunkSize) chunkSize { return c.worked(a.env.Now()) })
		case len(some) == 1:
			return jjm.Errorf(jjm.Busy, "%s: exit %d, but nothing about job %s", strings.Join(argv, " "), out.Exit, some[0])
		default:
			a.updateChunk(func(c chunkSize) chunkSize { return c.failed(a.env.Now(), 1) })
		}
		if err := take(answered, raws); err != nil {
			return err
		}
		ids = append(silent, ids[len(some):]...)
	}
	return nil
}

// answeredIDs returns the ids that an answer contains or reports as unknown, and the ids that the answer does not
// mention. The answer may name an unknown member by the id of its array.
func answeredIDs(ids []string, raws []raw, stderr []byte) (answered, silent []string) {
	has := map[string]bool{}
	note := func(text string) {
		if id, ok := parseID(text); ok {
			has[id.String()] = true
		}
	}
	for _, r := range raws {
		note(r.id)
	}
	for line := range bytes.Lines(stderr) {
		if m := unknownID.FindSubmatch(bytes.TrimSpace(line)); m != nil {
			note(string(m[1]))
		}
	}
	complained := len(bytes.TrimSpace(stderr)) > 0
	for _, id := range ids {
		if has[id] || len(ids) == 1 && complained {
			answered = append(answered, id)
		} else {
			silent = append(silent, id)
		}
	}
	return answered, silent
}

// unknownID matches the line that qstat prints about a job that the server does not have.
var unknownID = regexp.MustCompile(`^qstat: Unknown Job Id +([0-9]+(?:\[[^\]]*\])?)(?:\.[^ ]*)? *$`)

// exitUnknown is qstat's exit code if the server does not know the last of the ids (PBSE_UNKJOBID & 0xFF).
const exitUnknown = 153

// parseByID parses the answer to a lookup by id. qstat complains about unknown ids; parseByID returns an error for any
// other complaint. history is false if the server says, with exit code 0, that it keeps no history.
func parseByID(out run.Output, argv []string) (raws []raw, history bool, err error) {
	if saysNoHistory(out.Stderr) {
		return nil, false, nil
	}
	for line := range bytes.Lines(out.Stderr) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !unknownID.Match(line) {
			return nil, true, checkClean(out, argv)
		}
	}
	if out.Exit == exitUnknown && len(bytes.TrimSpace(out.Stderr)) > 0 {
		out.Exit = 0
	}
	if out.Exit == 0 {
		out.Stderr = nil
	}
	raws, err = parseListing(out, argv, parseJSON)
	return raws, true, err
}

// updateChunk changes the number of ids in one command.
func (a *Adapter) updateChunk(change func(chunkSize) chunkSize) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.chunk = change(a.chunk)
}

// chunkNow returns the number of ids in one command.
func (a *Adapter) chunkNow() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.chunk.n
}
