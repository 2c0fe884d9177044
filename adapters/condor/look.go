package condor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm"
)

// condor_history reads from the newest record back, 8000 records a second, and
// a schedd's history has tens of thousands. Records are in the order in which
// jobs left the queue, which is not the order of their ends, nor of any clock.
// So what was seen of an owner's jobs is remembered, and a look reads back to a
// record that was seen before. What is remembered is what the history had: it
// goes with the process, and the first look of the next one reads it again.

// overlap is for how long records are read again: while the file is rotated, or
// on a slow disk, a scan may miss what the next one finds, and a schedd that was
// killed may write a record twice.
const overlap = 20 * time.Second

// askNewest is how often a scan's end is moved past the records of other owners,
// which costs a command.
const askNewest = 5 * time.Minute

// late is for how long a completed job may be in the queue beyond Keep: until
// the schedd looks whether it may leave, and if it is down meanwhile.
const late = 24 * time.Hour

// idleOwner is for how long the history of an owner is remembered that nobody
// asks for.
const idleOwner = 24 * time.Hour

// reach is how far back a look goes.
type reach int

const (
	// news is what is younger than what was seen before.
	news reach = iota
	// recent is what ended at some time or later.
	recent
	// everything is the whole history.
	everything
)

// scan is one look at the history.
type scan struct {
	began time.Time
	reach reach
	// from is the earliest end of the jobs that are known once it is done.
	from int64
	stop spot
	// fresh is set for a look that goes further than earlier ones did.
	fresh bool
	// ask is set if the newest record of all owners is to be asked for before;
	// newest is the answer, if there is one.
	ask    bool
	newest spot
}

// left returns the jobs of an owner that left the queue and ended at from or later.
func (a *Adapter) left(ctx context.Context, owner jjm.Owner, from int64) (out []record, err error) {
	err = a.read(ctx, owner, a.scanSince(owner.User, from), func(p *past) {
		out = p.since(from)
		p.trim(from)
	})
	return out, err
}

// bulksLeft returns the bulks of the tags of which a job left the queue.
func (a *Adapter) bulksLeft(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) (out []bulk, err error) {
	lossy := false
	err = a.read(ctx, owner, a.scanAll(owner.User), func(p *past) { out, lossy = p.clusters(tags), p.lossy })
	if err != nil || !lossy {
		return out, err
	}
	for some := range slices.Chunk(tags, tagsAtOnce) {
		records, err := a.query(ctx, historyArgs(ownedBy(owner)+" && "+taggedWith(some), ""))
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			out = append(out, bulk{r.tag, r.cluster})
		}
	}
	return out, nil
}

// jobsLeft returns those of the jobs that left the queue. Records that are not
// remembered any more are read again, and no others.
func (a *Adapter) jobsLeft(ctx context.Context, owner jjm.Owner, jobs taggedJobs) (out []record, err error) {
	var again taggedJobs
	err = a.read(ctx, owner, a.scanAll(owner.User), func(p *past) { out, again = p.pick(jobs) })
	if err != nil {
		return nil, err
	}
	for _, constraint := range again.constraints() {
		// No -match: where a record was rotated away or is there twice, the
		// number of matches says nothing.
		records, err := a.query(ctx, historyArgs(ownedBy(owner)+" && ("+constraint+")", ""))
		if err != nil {
			return nil, err
		}
		out = append(out, records...)
	}
	return out, nil
}

// pick returns the records of jobs, and the jobs whose records have to be read.
func (p *past) pick(jobs taggedJobs) (out []record, again taggedJobs) {
	for _, j := range jobs {
		if r, ok := p.records[j]; ok {
			out = append(out, r)
		} else if p.has(j) || p.lossy {
			again = append(again, j)
		}
	}
	return out, again
}

// read runs a scan, remembers what it found, and lets use read the memory.
func (a *Adapter) read(ctx context.Context, owner jjm.Owner, s scan, use func(p *past)) error {
	if s.ask {
		s.newest = a.newest(ctx)
	}
	records, err := a.query(ctx, s.args(mineOf(owner), a.config.Keep.D()+late))
	if err != nil {
		return err
	}
	a.learned(owner.User, s, records, use)
	return nil
}

func (a *Adapter) learned(user string, s scan, records []record, use func(p *past)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.past[user]
	if p == nil {
		maps.DeleteFunc(a.past, func(_ string, p *past) bool { return s.began.Sub(p.used) > idleOwner })
		p = newPast(s.from)
		a.past[user] = p
	}
	p.learn(s, records)
	use(p)
}

// scanSince says how far a scan must go for jobs that ended at from or later.
func (a *Adapter) scanSince(user string, from int64) scan {
	return a.scan(user, from, func(p *past) bool { return p.from <= from }, recent)
}

// scanAll says how far a scan must go to know of every job.
func (a *Adapter) scanAll(user string) scan {
	return a.scan(user, 0, func(p *past) bool { return p.whole }, everything)
}

// scan makes one that builds on earlier ones if they are known to have gone far
// enough, and else goes as far as is said.
func (a *Adapter) scan(user string, from int64, enough func(*past) bool, far reach) scan {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := scan{began: a.env.Now(), reach: far, from: from, ask: true, fresh: true}
	p := a.past[user]
	if p == nil {
		return s
	}
	s.ask = s.began.Sub(p.asked) >= askNewest
	if !enough(p) {
		if p.whole { // it could be read, and this is surer
			s.reach = everything
		}
		return s
	}
	s.fresh, s.from, s.stop = false, p.from, p.stop
	switch {
	case p.stop != spot{}:
		s.reach = news
	case p.whole:
		s.reach = everything
	default:
		s.reach = recent
	}
	return s
}

// args is the command of a scan. That of what is recent ends at a completed job
// that surely left the queue before from: ended jobs stay there no longer than
// stay. Only jobs of jjm are known to leave in time, and only completed ones:
// HTCondor keeps a removed job for as long as its machine does not answer.
func (s scan) args(mine string, stay time.Duration) []string {
	switch s.reach {
	case recent:
		return historyArgs(fmt.Sprintf("%s && EnteredCurrentStatus >= %d", mine, s.from),
			fmt.Sprintf("(%s && JobStatus =?= %d && EnteredCurrentStatus < %d)", mine, completed, s.from-int64(stay.Seconds())))
	case news:
		return historyArgs(mine, fmt.Sprintf("(ClusterId == %d && ProcId == %d && QDate == %d)", s.stop.cluster, s.stop.proc,
			s.stop.queued))
	}
	return historyArgs(mine, "")
}

// newest asks for the history's newest record, of any owner; none if that is not
// known. Only numbers are asked for: another's texts could look like answers.
func (a *Adapter) newest(ctx context.Context) spot {
	out, err := a.run(ctx, nil, sourceHistory, "-match", "1", "-af:h", "ClusterId", "ProcId", "QDate")
	if err != nil || answered(sourceHistory, out) != nil {
		return spot{}
	}
	return newestOf(string(out.Stdout))
}

// newestOf reads a heading and at most one line of three numbers.
func newestOf(text string) spot {
	heading, rest, _ := strings.Cut(text, "\n")
	fields := strings.Fields(rest)
	if strings.Join(strings.Fields(heading), " ") != "ClusterId ProcId QDate" || len(fields) != 3 {
		return spot{}
	}
	var n [3]int64
	for i, f := range fields {
		v, err := strconv.ParseInt(f, 10, 64)
		if err != nil || v < 0 || i == 1 && v > 1<<31-1 {
			return spot{}
		}
		n[i] = v
	}
	return spot{jobID{n[0], int32(n[1])}, n[2]}
}
