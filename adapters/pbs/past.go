package pbs

import (
	"cmp"
	"slices"
	"time"

	"jjm"
)

// past is what is remembered of one owner's jobs, so that the history, which grows
// without bound, need not be listed: bulks that were seen alive, or submitted here, and
// how those ended that are over. It decides only; who asks is in look.go.
type past struct {
	bulks map[string]*bulk // by sequence number
	// from is since when every end is known, zero before the first listing.
	from time.Time
	// whole is set once the history was listed: the tag of every bulk in it is known.
	whole bool
	// byName is set where a listing of the history was too much: tags are looked for one
	// by one.
	byName bool
}

// bulk is what is remembered of one array or plain job. One that is nobody's of jjm has
// no tag.
type bulk struct {
	tag   jjm.Tag
	array bool
	// over is set once the server told that all of it has ended, at the time ended;
	// detailed if the ends of its members are known.
	over, detailed bool
	ended          time.Time
	ends           []end
}

// end is the last report of a job, and when the server had it.
type end struct {
	report jjm.Report
	at     time.Time
}

// mostBulks bounds what is remembered, at some 100 bytes a bulk and 300 an end that
// listings ask for.
const mostBulks = 100_000

func newPast() *past { return &past{bulks: map[string]*bulk{}} }

// open notes a bulk of which the end is to be looked for.
func (p *past) open(seq string, tag jjm.Tag, array bool) {
	p.bulks[seq] = &bulk{tag: tag, array: array}
}

// learn takes over what a listing shows of bulks; detailed is set if it shows members.
func (p *past) learn(jobs []job, detailed bool, d dialect, zone *time.Location) {
	for seq, v := range views(jobs, detailed) {
		if v.whole.id == "" { // a member by itself
			continue
		}
		b := &bulk{tag: v.tag, array: v.array}
		if !v.tag.Valid() { // whatever becomes of it
			p.bulks[seq] = &bulk{array: v.array, over: true, detailed: true}
			continue
		}
		if b.over = v.whole.over(); b.over {
			b.detailed = detailed || !v.array
			b.ended = later(stamp(v.whole.history, zone), stamp(firstOf(v.whole.end, v.whole.mtime), zone))
			b.ends = v.ends(d, zone, b.ended)
		}
		p.bulks[seq] = b
	}
	p.shrink()
}

// keep takes over a listing of the history without members: all of it is known then. What
// is known in more detail stays.
func (p *past) keep(jobs []job, zone *time.Location) {
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return p.bulks[j.seq] != nil && p.bulks[j.seq].over })
	p.whole = true
	p.learn(jobs, false, openpbs, zone)
}

// ends returns how the jobs of a bulk ended that is over, at a time.
func (v *view) ends(d dialect, zone *time.Location, over time.Time) (out []end) {
	add := func(j job) {
		r := j.report(d, zone)
		at := over
		if r.Ended != 0 {
			at = later(r.Ended.Time(), stamp(j.history, zone))
		}
		out = append(out, end{r, at})
	}
	if !v.array {
		add(v.whole)
	}
	for _, j := range v.members {
		add(j)
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// unlisted returns the ids of bulks of which the end is to be asked for: those that were
// alive and are not listed any more, and those that ended at since or later and of which
// no member is known.
func (p *past) unlisted(live []job, since time.Time) []string {
	listed := map[string]bool{}
	for _, j := range live {
		listed[j.seq] = true
	}
	var ids []string
	for seq, b := range p.bulks {
		if !listed[seq] && (!b.over || b.tag != "" && !b.detailed && !b.ended.Before(since)) {
			ids = append(ids, b.id(seq))
		}
	}
	slices.Sort(ids)
	return ids
}

// id is the identifier of a bulk as the commands want it.
func (b *bulk) id(seq string) string { return jobID{seq: seq, array: b.array, whole: b.array}.String() }

// answered forgets those of the ids that the server does not have any more.
func (p *past) answered(ids []string, jobs []job) {
	has := map[string]bool{}
	for _, j := range jobs {
		has[j.seq] = true
	}
	for _, id := range ids {
		if parsed, ok := parseID(id); ok && !has[parsed.seq] {
			delete(p.bulks, parsed.seq)
		}
	}
}

// compare takes over which bulks ended at start or later, by their ids. It forgets those
// that the history has forgotten, and returns those that it did not know.
func (p *past) compare(ended []jobID, start time.Time) (unknown []string) {
	has := map[string]bool{}
	for _, id := range ended {
		has[id.seq] = true
		if p.bulks[id.seq] == nil {
			p.open(id.seq, "", id.array)
			unknown = append(unknown, id.String())
		}
	}
	for seq, b := range p.bulks {
		if b.over && b.ended.After(start) && !has[seq] {
			delete(p.bulks, seq)
		}
	}
	return unknown
}

// since returns the reports of jobs that ended at a time or later, of bulks that are
// over, and forgets those that ended long before.
func (p *past) since(since time.Time) (out []jjm.Report) {
	for _, b := range p.bulks {
		if b.detailed && b.ended.Before(since.Add(-time.Hour)) {
			b.ends, b.detailed = nil, false
		}
		if b.tag == "" {
			continue
		}
		for _, e := range b.ends {
			if !e.at.Before(since) {
				out = append(out, e.report)
			}
		}
	}
	slices.SortFunc(out, func(a, b jjm.Report) int {
		return cmp.Or(cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// isOver reports whether a bulk is known to have ended.
func (p *past) isOver(seq string) bool {
	b := p.bulks[seq]
	return b != nil && b.over
}

// tagged returns the sequence numbers of the bulks that are over, by tag.
func (p *past) tagged() map[jjm.Tag][]string {
	out := map[jjm.Tag][]string{}
	for seq, b := range p.bulks {
		if b.over && b.tag != "" {
			out[b.tag] = append(out[b.tag], seq)
		}
	}
	return out
}

// shrink keeps the bound: those that ended first go first.
func (p *past) shrink() {
	if len(p.bulks) <= mostBulks {
		return
	}
	var over []string
	for seq, b := range p.bulks {
		if b.over {
			over = append(over, seq)
		}
	}
	slices.SortFunc(over, func(a, b string) int { return p.bulks[a].ended.Compare(p.bulks[b].ended) })
	for _, seq := range over[:len(over)/2] {
		delete(p.bulks, seq)
	}
	p.whole = false
}
