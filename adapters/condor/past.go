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
// a schedd's history has tens of thousands. So the records of an owner's jobs
// are remembered, and a listing reads back to one that was seen before.

// overlap is for how long records are read again: while the file is rotated, or
// on a slow disk, a scan may miss what the next one finds.
const overlap = 20 * time.Second

// askNewest is how often a scan's end is moved past the records of other owners,
// which costs a command.
const askNewest = 5 * time.Minute

// forget is how much longer than asked for records are remembered, in seconds:
// listings may ask for different times in turn.
const forget = 3600

// past is what is remembered of the history of one owner's jobs.
type past struct {
	// records holds all jobs that ended at from or later and whose records are
	// not younger than newest.
	from    int64
	records map[tagged]record
	newest  spot
	// A scan ends at stop: two scans, with the overlap between them, went over
	// all older records. Next takes its place when it is as old, since waited.
	stop, next spot
	waited     time.Time
	asked      time.Time // for the newest record of all owners
}

// spot names a record of the history. The zero spot is none.
type spot struct {
	jobID
	queued int64 // ids are recycled
}

// scan is one look at the history.
type scan struct {
	began time.Time
	from  int64
	stop  spot
	// whole is set for a look that does not build on earlier ones.
	whole bool
	// ask is set if the newest record of all owners is to be asked for before;
	// newest is the answer, if there is one.
	ask    bool
	newest spot
}

// left gives the jobs of an owner that left the queue and ended at from or later.
func (a *Adapter) left(ctx context.Context, owner jjm.Owner, mine string, from int64) ([]record, error) {
	s := a.scanFrom(owner.User, from)
	if s.ask {
		s.newest = a.newest(ctx)
	}
	records, err := a.query(ctx, s.args(mine, a.config.Keep.D()+late))
	if err != nil {
		return nil, err
	}
	return a.learned(owner.User, s, records, from), nil
}

// learned adds what a scan found, and gives the jobs that ended at from or later.
func (a *Adapter) learned(user string, s scan, records []record, from int64) []record {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.past[user]
	if p == nil {
		p = &past{from: from, records: map[tagged]record{}}
		a.past[user] = p
	}
	p.learn(s, records)
	out := p.since(from)
	p.trim(from)
	return out
}

// scanFrom says how far a scan must go for jobs that ended at from or later.
func (a *Adapter) scanFrom(user string, from int64) scan {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := scan{began: a.env.Now(), from: from, whole: true, ask: true}
	if p := a.past[user]; p != nil && p.from <= from {
		s.from, s.stop, s.whole = p.from, p.stop, false
		s.ask = s.began.Sub(p.asked) >= askNewest
	}
	return s
}

// args is the command of a scan. One that builds on earlier ones takes all new
// records: a job may leave the queue long after its end. In any case it ends at
// a job that surely left the queue before from: ended jobs stay there no longer
// than stay. Only jobs of jjm are known to leave in time.
func (s scan) args(mine string, stay time.Duration) []string {
	stop := fmt.Sprintf("(%s && EnteredCurrentStatus < %d)", mine, s.from-int64(stay.Seconds()))
	if s.stop != (spot{}) {
		stop = fmt.Sprintf("(ClusterId == %d && ProcId == %d && QDate == %d) || ", s.stop.cluster, s.stop.proc, s.stop.queued) + stop
	}
	if s.whole {
		mine += fmt.Sprintf(" && EnteredCurrentStatus >= %d", s.from)
	}
	return historyArgs(mine, stop)
}

// learn adds what a scan found, which is in the order of the newest first.
func (p *past) learn(s scan, records []record) {
	p.from = min(p.from, s.from)
	if s.ask {
		p.asked = s.began
	}
	top := s.newest
	for _, r := range records {
		k := tagged{r.tag, r.jobID}
		if _, known := p.records[k]; !known && top == (spot{}) {
			top = spot{r.jobID, r.queued}
		}
		p.records[k] = r
	}
	if top != (spot{}) {
		p.newest = top
	}
	if s.began.Sub(p.waited) >= overlap {
		p.stop, p.next, p.waited = p.next, p.newest, s.began
	}
}

// since gives the jobs that ended at from or later.
func (p *past) since(from int64) []record {
	var out []record
	for _, r := range p.records {
		if r.entered >= from {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b record) int { return tagged{a.tag, a.jobID}.compare(tagged{b.tag, b.jobID}) })
	return out
}

// trim forgets what ended long before what listings ask for.
func (p *past) trim(from int64) {
	if from-p.from < 2*forget {
		return
	}
	p.from = from - forget
	maps.DeleteFunc(p.records, func(_ tagged, r record) bool { return r.entered < p.from })
}

// newest asks for the history's newest record, of any owner; none if that is not
// known. Only numbers are asked for: a stranger's texts could look like answers.
func (a *Adapter) newest(ctx context.Context) spot {
	out, err := a.config.Run(ctx, nil, sourceHistory, "-match", "1", "-af:h", "ClusterId", "ProcId", "QDate")
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
