package condor

import (
	"maps"
	"slices"
	"strings"
	"time"

	"jjm"
)

// forget is how much longer than asked for records are remembered, in seconds:
// listings may ask for different times in turn.
const forget = 3600

// What is remembered of one owner at most: mostBulks bulks, at some 200 bytes,
// and, where nobody lists, mostRecords whole records, at some 500 bytes.
const (
	mostBulks   = 100_000
	mostRecords = 20_000
)

// past is what is remembered of the history of one owner's jobs.
type past struct {
	// records holds all jobs that ended at from or later and whose records are
	// not younger than newest.
	from    int64
	records map[tagged]record
	// bulks holds the positions of the jobs that were seen, of each bulk; order
	// has its keys, the first one seen first. If whole is set, it holds all that
	// the history has; but if lossy is set, too, some old bulks were dropped.
	bulks        map[bulk]spans
	order        []bulk
	whole, lossy bool

	newest spot
	// A scan ends at stop: two scans, with the overlap between them, went over
	// all older records. Next takes its place when it is as old, since waited.
	stop, next spot
	waited     time.Time
	asked      time.Time // for the newest record of all owners
	used       time.Time
	listed     bool // by since and trim
}

// bulk is a cluster of jobs that carries a tag. Two have the same tag where a
// submission was doubled, two the same number where ids are recycled.
type bulk struct {
	tag     jjm.Tag
	cluster int64
}

// spot names a record of the history. The zero spot is none.
type spot struct {
	jobID
	queued int64 // ids are recycled
}

func newPast(from int64) *past {
	return &past{from: from, records: map[tagged]record{}, bulks: map[bulk]spans{}}
}

// learn adds what a scan found, which is in the order of the newest first.
func (p *past) learn(s scan, records []record) {
	p.used = s.began
	if s.fresh { // all older records are to be gone over twice again
		p.from = min(p.from, s.from)
		p.whole = p.whole || s.reach == everything
		p.stop, p.next, p.waited = spot{}, spot{}, time.Time{}
	}
	if s.ask {
		p.asked = s.began
	}
	top := s.newest
	for _, r := range records {
		if top == (spot{}) && !p.has(tagged{r.tag, r.jobID}) {
			top = spot{r.jobID, r.queued}
		}
	}
	// A schedd that is killed at a bad moment writes a record twice.
	for _, r := range slices.Backward(records) {
		p.add(r)
	}
	if top != (spot{}) {
		p.newest = top
	}
	if s.began.Sub(p.waited) >= overlap {
		p.stop, p.next, p.waited = p.next, p.newest, s.began
	}
	p.shrink()
}

// add remembers a job. Its strings would else keep the whole output alive that
// they are cut from.
func (p *past) add(r record) {
	k := tagged{r.tag, r.jobID}
	if old, known := p.records[k]; known {
		k.tag, r.tag = old.tag, old.tag
	} else {
		k.tag = jjm.Tag(strings.Clone(string(r.tag)))
		r.tag = k.tag
	}
	r.owner, r.text = strings.Clone(r.owner), strings.Clone(r.text)
	r.host, r.lastHost = strings.Clone(r.host), strings.Clone(r.lastHost)
	p.records[k] = r
	b := bulk{k.tag, r.cluster}
	if _, known := p.bulks[b]; !known {
		p.order = append(p.order, b)
	}
	p.bulks[b] = p.bulks[b].with(r.proc)
}

// has reports whether the record of a job was seen.
func (p *past) has(k tagged) bool { return p.bulks[bulk{k.tag, k.cluster}].has(k.proc) }

// since returns the jobs that ended at from or later.
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

// clusters returns the bulks of each tag.
func (p *past) clusters(tags []jjm.Tag) []bulk {
	wanted := make(map[jjm.Tag]bool, len(tags))
	for _, tag := range tags {
		wanted[tag] = true
	}
	var out []bulk
	for b := range p.bulks {
		if wanted[b.tag] {
			out = append(out, b)
		}
	}
	return out
}

// trim forgets what ended long before what listings ask for.
func (p *past) trim(from int64) {
	p.listed = true
	if from-p.from >= 2*forget {
		p.cut(from - forget)
	}
}

// cut forgets the records, not the positions, of what ended before from.
func (p *past) cut(from int64) {
	p.from = from
	maps.DeleteFunc(p.records, func(_ tagged, r record) bool { return r.entered < from })
}

// shrink keeps the bounds. What listings ask for is kept in any case.
func (p *past) shrink() {
	if !p.listed && len(p.records) > mostRecords {
		var ends []int64
		for _, r := range p.records {
			ends = append(ends, r.entered)
		}
		slices.Sort(ends)
		p.cut(ends[len(ends)-mostRecords/2] + 1)
	}
	if len(p.order) > mostBulks {
		for _, b := range p.order[:mostBulks/2] {
			delete(p.bulks, b)
		}
		p.order = slices.Clone(p.order[mostBulks/2:])
		p.lossy = true
	}
}

// spans is a set of positions, as ranges that ascend and do not touch.
type spans []span

type span struct{ first, last int32 }

// find returns the range that holds n or else the first one behind it.
func (s spans) find(n int32) (int, bool) {
	return slices.BinarySearchFunc(s, n, func(x span, n int32) int {
		switch {
		case x.last < n:
			return -1
		case x.first > n:
			return 1
		}
		return 0
	})
}

func (s spans) has(n int32) bool {
	_, ok := s.find(n)
	return ok
}

// with adds a position.
func (s spans) with(n int32) spans {
	i, ok := s.find(n)
	if ok {
		return s
	}
	before := i > 0 && s[i-1].last == n-1
	behind := i < len(s) && s[i].first == n+1
	switch {
	case before && behind:
		s[i-1].last = s[i].last
		return slices.Delete(s, i, i+1)
	case before:
		s[i-1].last = n
	case behind:
		s[i].first = n
	default:
		return slices.Insert(s, i, span{n, n})
	}
	return s
}
