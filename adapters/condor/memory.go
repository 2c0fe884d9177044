package condor

import (
	"maps"
	"slices"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// extraSeconds is how much older than requested the records in memory may be. The margin is needed because listings may
// alternate between different times.
const extraSeconds = 3600

// maxBulks and maxRecords limit the memory for one owner. A bulk takes some 200 bytes, a whole record some 500 bytes.
// If there are listings, they limit the records instead of maxRecords (see trim).
const (
	maxBulks   = 100_000
	maxRecords = 20_000
)

// memory holds the records of one owner's jobs that earlier scans of the history read.
type memory struct {
	// records holds the jobs that ended at from (Unix seconds) or later, except jobs whose records are newer than the
	// newest record that was read.
	from    int64
	records map[tagged]record
	// bulks holds, by bulk, the positions of the jobs that were read; order has the keys of bulks in the order of their
	// first reading. If whole is set, bulks has every job in the history. If lossy is also set, some old bulks were
	// dropped.
	bulks        map[bulk]spans
	order        []bulk
	whole, lossy bool

	newest historyPos
	// stop is the record at which a scan ends: two earlier scans, at least overlap apart, have read all older records.
	// next replaces stop after overlap; waited is the time at which next was set.
	stop, next historyPos
	waited     time.Time
	asked      time.Time // time of the latest command for the newest record of all owners
	used       time.Time // time at which a scan last used the memory
	listed     bool      // whether since and trim are called; trim then limits the records
}

// bulk is a cluster of jobs with a tag. Two bulks have the same tag if a submission was duplicated, and the same number
// if ids were reused.
type bulk struct {
	tag     jjm.Tag
	cluster int64
}

// historyPos identifies a record of the history. The zero value identifies no record.
type historyPos struct {
	jobID
	queued int64 // submission time, because ids are reused
}

func newMemory(from int64) *memory {
	return &memory{from: from, records: map[tagged]record{}, bulks: map[bulk]spans{}}
}

// learn adds the records of a scan; the first of records is the newest.
func (p *memory) learn(s scan, records []record) {
	p.used = s.began
	if s.further { // two scans must read older records again (see stop)
		p.from = min(p.from, s.from)
		p.whole = p.whole || s.reach == everything
		p.stop, p.next, p.waited = historyPos{}, historyPos{}, time.Time{}
	}
	if s.ask {
		p.asked = s.began
	}
	top := s.newest
	for _, r := range records {
		if top == (historyPos{}) && !p.has(tagged{r.tag, r.jobID}) {
			top = historyPos{r.jobID, r.queued}
		}
	}
	// The loop begins with the oldest record, because a schedd that is killed while it writes may write a record twice,
	// and the newer record must count.
	for _, r := range slices.Backward(records) {
		p.add(r)
	}
	if top != (historyPos{}) {
		p.newest = top
	}
	if s.began.Sub(p.waited) >= overlap {
		p.stop, p.next, p.waited = p.next, p.newest, s.began
	}
	p.shrink()
}

// add stores the record of a job. It clones the strings, which would otherwise keep the whole output in memory.
func (p *memory) add(r record) {
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

// has reports whether the record of a job was read before.
func (p *memory) has(k tagged) bool { return p.bulks[bulk{k.tag, k.cluster}].has(k.proc) }

// since returns the records of the jobs that ended at from or later.
func (p *memory) since(from int64) []record {
	var out []record
	for _, r := range p.records {
		if r.entered >= from {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b record) int { return tagged{a.tag, a.jobID}.compare(tagged{b.tag, b.jobID}) })
	return out
}

// clusters returns the bulks that have one of the tags.
func (p *memory) clusters(tags []jjm.Tag) []bulk {
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

// trim forgets the records of jobs that ended long before from, the earliest end that a listing requests.
func (p *memory) trim(from int64) {
	p.listed = true
	if from-p.from >= 2*extraSeconds {
		p.cut(from - extraSeconds)
	}
}

// cut forgets the records, but not the positions, of jobs that ended before from.
func (p *memory) cut(from int64) {
	p.from = from
	maps.DeleteFunc(p.records, func(_ tagged, r record) bool { return r.entered < from })
}

// shrink enforces maxBulks and maxRecords. If there are listings, it does not limit the records, because trim does.
func (p *memory) shrink() {
	if !p.listed && len(p.records) > maxRecords {
		var ends []int64
		for _, r := range p.records {
			ends = append(ends, r.entered)
		}
		slices.Sort(ends)
		p.cut(ends[len(ends)-maxRecords/2] + 1)
	}
	if len(p.order) > maxBulks {
		for _, b := range p.order[:maxBulks/2] {
			delete(p.bulks, b)
		}
		p.order = slices.Clone(p.order[maxBulks/2:])
		p.lossy = true
	}
}

// spans is a set of positions, as ascending ranges with gaps between them.
type spans []span

type span struct{ first, last int32 }

// find returns the index of the range that contains n, or otherwise of the first range after n.
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

// with returns the set with n added.
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
