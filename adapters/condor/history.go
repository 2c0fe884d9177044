package condor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// condor_history reads backwards from the newest record, 8000 records a second, and a schedd's history has tens of
// thousands of records. The records are in the order in which jobs left the queue. That is neither the order of the
// jobs' ends nor the order of any clock. Therefore the adapter keeps the records of each owner's jobs in memory, and a
// scan reads back only to a record of an earlier scan. The memory is lost with the process; the first scan of the next
// process reads the records again.

// overlap is the time after a scan in which later scans read its records again. A scan may miss a record if the file is
// just being rotated or the disk is slow; a later scan then finds it. Also, a schedd that was killed may write a record
// twice.
const overlap = 20 * time.Second

// askNewest is the interval at which the adapter looks up the newest record of all owners. Later scans then stop at
// that record instead of reading the records of other owners again. Each such look takes an additional command.
const askNewest = 5 * time.Minute

// maxLate is how long a completed job may stay in the queue beyond Keep. The job can stay longer than Keep because the
// schedd checks only from time to time whether it may leave, and may be down meanwhile.
const maxLate = 24 * time.Hour

// idleOwner is how long the history of an owner is kept in memory after the last request for it.
const idleOwner = 24 * time.Hour

// reach is the extent to which a scan reads backwards.
type reach int

const (
	// newOnly scans back to the records of earlier scans.
	newOnly reach = iota
	// recent scans back to the jobs that ended at a given time or later.
	recent
	// everything scans back to the beginning of the history.
	everything
)

// scan describes one reading of the history.
type scan struct {
	began time.Time
	reach reach
	// from is the earliest end, in Unix seconds, from which all jobs are known after the scan.
	from int64
	stop historyPos
	// further is set for a scan that reads further back than earlier scans.
	further bool
	// ask is set if the scan first reads the newest record of all owners; newest is that record, or zero.
	ask    bool
	newest historyPos
}

// endedInHistory returns the owner's jobs that left the queue and ended at from or later.
func (a *Adapter) endedInHistory(ctx context.Context, owner jjm.Owner, from int64) (out []record, err error) {
	err = a.read(ctx, owner, a.scanSince(owner.User, from), func(p *memory) {
		out = p.since(from)
		p.trim(from)
	})
	return out, err
}

// bulksInHistory returns the bulks with these tags from which a job left the queue, and the unreadable records.
func (a *Adapter) bulksInHistory(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) (out []bulk,
	unread []adapters.Unread, err error) {
	lossy := false
	err = a.read(ctx, owner, a.scanAll(owner.User), func(p *memory) { out, lossy = p.clusters(tags), p.lossy })
	if err != nil || !lossy {
		return out, nil, err
	}
	for some := range slices.Chunk(tags, tagsAtOnce) {
		records, odd, err := a.query(ctx, historyArgs(ownedBy(owner)+" && "+taggedWith(some), ""))
		if err != nil {
			return nil, nil, err
		}
		unread = append(unread, odd...)
		for _, r := range records {
			out = append(out, bulk{r.tag, r.cluster})
		}
	}
	return out, unread, nil
}

// jobsInHistory returns the records of those given jobs that left the queue, and the unreadable records. It reads a
// record again only if memory no longer has it.
func (a *Adapter) jobsInHistory(ctx context.Context, owner jjm.Owner, jobs taggedJobs) (out []record,
	unread []adapters.Unread, err error) {
	var again taggedJobs
	err = a.read(ctx, owner, a.scanAll(owner.User), func(p *memory) { out, again = p.pick(jobs) })
	if err != nil {
		return nil, nil, err
	}
	for _, constraint := range again.constraints() {
		// Without -match: the number of matches is unknown, because a record may be rotated away or written twice.
		records, odd, err := a.query(ctx, historyArgs(ownedBy(owner)+" && ("+constraint+")", ""))
		if err != nil {
			return nil, nil, err
		}
		out, unread = append(out, records...), append(unread, odd...)
	}
	return out, unread, nil
}

// pick returns the records in memory for jobs, and the jobs whose records must be read.
func (p *memory) pick(jobs taggedJobs) (out []record, again taggedJobs) {
	for _, j := range jobs {
		if r, ok := p.records[j]; ok {
			out = append(out, r)
		} else if p.has(j) || p.lossy {
			again = append(again, j)
		}
	}
	return out, again
}

// read runs a scan, stores its records in memory, and calls the function use with the memory.
func (a *Adapter) read(ctx context.Context, owner jjm.Owner, s scan, use func(p *memory)) error {
	if s.ask {
		s.newest = a.newest(ctx)
	}
	records, unread, err := a.query(ctx, s.args(jjmJobsOf(owner), a.config.Keep.D()+maxLate))
	if err != nil {
		return err
	}
	a.remember(owner.User, s, records, func(p *memory) {
		for _, u := range unread {
			a.env.Warn("a record of the history cannot be read", "cluster", a.name, "account", owner.User, "record", u.Text)
			p.lossy = true // later calls then look up the tag or the job itself, and read the record again
		}
		use(p)
	})
	return nil
}

// remember stores the records of a scan in the memory of a user, and then calls use with this memory. When it makes a
// new memory, it drops the memories of users that nobody requested for idleOwner.
func (a *Adapter) remember(user string, s scan, records []record, use func(p *memory)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.memories[user]
	if p == nil {
		maps.DeleteFunc(a.memories, func(_ string, p *memory) bool { return s.began.Sub(p.used) > idleOwner })
		p = newMemory(s.from)
		a.memories[user] = p
	}
	p.learn(s, records)
	use(p)
}

// scanSince returns the scan for the jobs that ended at from or later.
func (a *Adapter) scanSince(user string, from int64) scan {
	return a.scan(user, from, func(p *memory) bool { return p.from <= from }, recent)
}

// scanAll returns the scan after which every job is known.
func (a *Adapter) scanAll(user string) scan {
	return a.scan(user, 0, func(p *memory) bool { return p.whole }, everything)
}

// scan returns the next scan for a user. If the function enough returns true for the memory, earlier scans reached far
// enough back, and the new scan continues them. Otherwise the new scan has the reach in far.
func (a *Adapter) scan(user string, from int64, enough func(*memory) bool, far reach) scan {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := scan{began: a.env.Now(), reach: far, from: from, ask: true, further: true}
	p := a.memories[user]
	if p == nil {
		return s
	}
	s.ask = s.began.Sub(p.asked) >= askNewest
	if !enough(p) {
		if p.whole { // an earlier scan already read everything, and this reach is safer
			s.reach = everything
		}
		return s
	}
	s.further, s.from, s.stop = false, p.from, p.stop
	switch {
	case p.stop != historyPos{}:
		s.reach = newOnly
	case p.whole:
		s.reach = everything
	default:
		s.reach = recent
	}
	return s
}

// args returns the command for the scan. A scan of recent jobs stops at a completed job of jjm that certainly left the
// queue before from. The time of its end proves that, because a completed job stays in the queue no longer than stay. A
// removed job proves nothing: HTCondor keeps it in the queue as long as its machine does not answer.
func (s scan) args(mine string, stay time.Duration) []string {
	switch s.reach {
	case recent:
		return historyArgs(fmt.Sprintf("%s && EnteredCurrentStatus >= %d", mine, s.from),
			fmt.Sprintf("(%s && JobStatus =?= %d && EnteredCurrentStatus < %d)", mine, completed, s.from-int64(stay.Seconds())))
	case newOnly:
		return historyArgs(mine, fmt.Sprintf("(ClusterId == %d && ProcId == %d && QDate == %d)", s.stop.cluster, s.stop.proc,
			s.stop.queued))
	}
	return historyArgs(mine, "")
}

// newest returns the newest record of the history, of any owner, or zero if it is unknown. The command prints only
// numbers, because texts of other owners could look like answers.
func (a *Adapter) newest(ctx context.Context) historyPos {
	out, err := a.run(ctx, nil, sourceHistory, "-match", "1", "-af:h", "ClusterId", "ProcId", "QDate")
	if err != nil || checkAnswer(sourceHistory, out) != nil {
		return historyPos{}
	}
	return newestOf(string(out.Stdout))
}

// newestOf parses a heading and at most one line of three numbers.
func newestOf(text string) historyPos {
	heading, rest, _ := strings.Cut(text, "\n")
	fields := strings.Fields(rest)
	if strings.Join(strings.Fields(heading), " ") != "ClusterId ProcId QDate" || len(fields) != 3 {
		return historyPos{}
	}
	var n [3]int64
	for i, f := range fields {
		v, err := strconv.ParseInt(f, 10, 64)
		if err != nil || v < 0 || i == 1 && v > 1<<31-1 {
			return historyPos{}
		}
		n[i] = v
	}
	return historyPos{jobID{n[0], int32(n[1])}, n[2]}
}
