package pbs

import (
	"cmp"
	"slices"
	"time"

	"jjm/internal/jjm"
)

// memory caches one owner's bulks: bulks that were seen alive or submitted here, and how the ended bulks ended. With
// this cache the history, which grows without bound, need not be listed. memory runs no commands; look.go and list.go
// do.
type memory struct {
	bulks map[string]*bulk // bulks by sequence number
	// from is the time since which memory has every end; zero before the first listing.
	from time.Time
	// compared is the time of the latest comparison of the ends with the server.
	compared time.Time
	// whole is set if the history was listed: then the tags of all bulks in the history are known.
	whole bool
	// live is the number of live bulks at the latest lookup by id.
	live int
	// served is the time of the latest listing of the live bulks by id. refused is the latest time at which such a
	// listing had to wait; zero if no listing waits.
	served, refused time.Time
}

// bulk holds the cached facts about one array or plain job. A bulk that does not belong to jjm has no tag. A bulk that
// compare found has no tag until its end is known.
type bulk struct {
	tag   jjm.Tag
	array bool
	// over is set if the server reported that the whole bulk ended, at the time ended. detailed is set if the ends of
	// its members are known.
	over, detailed bool
	ended          time.Time
	ends           []end
}

// end is the last report of a job, and the time from which the server had the report.
type end struct {
	report jjm.Report
	at     time.Time
}

// maxBulks limits the number of bulks in memory, which takes about 100 bytes for each bulk and 300 bytes for each end
// that listings need.
const maxBulks = 100_000

func newMemory() *memory { return &memory{bulks: map[string]*bulk{}} }

// noteBulk adds a bulk whose end must be looked up.
func (p *memory) noteBulk(seq string, tag jjm.Tag, array bool) {
	p.bulks[seq] = &bulk{tag: tag, array: array}
}

// learn replaces the stored bulks that a listing shows completely, and then calls shrink. detailed is set if the
// listing shows members.
func (p *memory) learn(jobs []job, detailed bool, d dialect, zone *time.Location) {
	for seq, v := range views(jobs, detailed) {
		if v.whole.id == "" { // the listing shows only members
			continue
		}
		b := &bulk{tag: v.tag, array: v.array}
		if !v.tag.Valid() { // the bulk does not belong to jjm; over is set so that its end is not looked up
			p.bulks[seq] = &bulk{array: v.array, over: true, detailed: true}
			continue
		}
		if b.over = v.whole.isOver(); b.over {
			b.detailed = detailed || !v.array
			b.ended = later(parseTime(v.whole.history, zone), parseTime(cmp.Or(v.whole.end, v.whole.mtime), zone))
			b.ends = v.ends(d, zone, b.ended)
		}
		p.bulks[seq] = b
	}
	p.shrink()
}

// learnHistory stores a listing of the history without members; afterwards every bulk in the history is known. More
// detailed facts about a bulk are kept.
func (p *memory) learnHistory(jobs []job, zone *time.Location) {
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return p.bulks[j.seq] != nil && p.bulks[j.seq].over })
	p.learn(jobs, false, openpbs, zone)
}

// ends returns how the jobs of an ended bulk ended. over is the time at which the bulk ended.
func (v *bulkView) ends(d dialect, zone *time.Location, over time.Time) (out []end) {
	add := func(j job) {
		r := j.report(d, zone)
		at := over
		if r.Ended != 0 {
			at = later(r.Ended.Time(), parseTime(j.history, zone))
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

// unlisted returns the ids of the bulks whose end must be looked up: unlisted bulks without a known end, and bulks of
// jjm that ended at since or later but whose members' ends are unknown.
func (p *memory) unlisted(live []job, since time.Time) []string {
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

// id returns the id of a bulk in the form that the commands take.
func (b *bulk) id(seq string) string { return jobID{seq: seq, array: b.array, whole: b.array}.String() }

// forgetMissing forgets those bulks of ids that are not among jobs, because the server no longer has them.
func (p *memory) forgetMissing(ids []string, jobs []job) {
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

// compare compares memory with ended, the bulks that ended at start or later according to the server. It adds the
// unknown bulks, without a tag, and returns their ids. It forgets bulks that ended after start but are not in the
// answer, because the history no longer has them.
func (p *memory) compare(ended []jobID, start time.Time) (unknown []string) {
	has := map[string]bool{}
	for _, id := range ended {
		has[id.seq] = true
		if p.bulks[id.seq] == nil {
			p.noteBulk(id.seq, "", id.array)
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

// since returns the reports of jjm's jobs in ended bulks that ended at since or later. It forgets the reports of bulks
// that ended more than an hour before since.
func (p *memory) since(since time.Time) (out []jjm.Report) {
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

// hasEnded reports whether a bulk is known to have ended.
func (p *memory) hasEnded(seq string) bool {
	b := p.bulks[seq]
	return b != nil && b.over
}

// tagged maps each tag to the sequence numbers of its ended bulks.
func (p *memory) tagged() map[jjm.Tag][]string {
	out := map[jjm.Tag][]string{}
	for seq, b := range p.bulks {
		if b.over && b.tag != "" {
			out[b.tag] = append(out[b.tag], seq)
		}
	}
	return out
}

// shrink forgets the half of the ended bulks that ended first, if memory has more than maxBulks bulks. Afterwards the
// history counts as not listed.
func (p *memory) shrink() {
	if len(p.bulks) <= maxBulks {
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
