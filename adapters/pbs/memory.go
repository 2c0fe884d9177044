package pbs

import (
	"cmp"
	"slices"
	"time"

	"jjm/internal/jjm"
)

// memory is what is remembered of one owner's jobs, so that the history, which grows
// without bound, need not be listed: bulks that were seen alive or submitted here, and how
// the ended ones ended. It runs no commands; look.go and list.go do.
type memory struct {
	bulks map[string]*bulk // by sequence number
	// from is the time since which every end is known, zero before the first listing.
	from time.Time
	// compared is when the ends were last compared with those of the server.
	compared time.Time
	// whole is set once the history was listed: the tag of every bulk in it is known.
	whole bool
	// live is the number of live bulks when they were last asked for by id.
	live int
	// served is when the live bulks were last listed by id. refused is when such a listing last had to wait, zero if
	// none waits.
	served, refused time.Time
}

// bulk holds the facts that memory keeps about one array or plain job. A bulk that is not jjm's has no tag; nor has a
// bulk that compare found, before its end is known.
type bulk struct {
	tag   jjm.Tag
	array bool
	// over is set once the server said that all of it has ended, at the time ended;
	// detailed is set if the ends of its members are known.
	over, detailed bool
	ended          time.Time
	ends           []end
}

// end is the last report of a job, and when the server had it.
type end struct {
	report jjm.Report
	at     time.Time
}

// maxBulks bounds the memory, which takes some 100 bytes for each bulk and 300 for each end
// that listings ask for.
const maxBulks = 100_000

func newMemory() *memory { return &memory{bulks: map[string]*bulk{}} }

// noteBulk adds a bulk whose end has to be asked for.
func (p *memory) noteBulk(seq string, tag jjm.Tag, array bool) {
	p.bulks[seq] = &bulk{tag: tag, array: array}
}

// learn replaces the bulks that a listing shows as a whole, and then calls shrink. detailed is set if the listing shows
// members.
func (p *memory) learn(jobs []job, detailed bool, d dialect, zone *time.Location) {
	for seq, v := range views(jobs, detailed) {
		if v.whole.id == "" { // a single member
			continue
		}
		b := &bulk{tag: v.tag, array: v.array}
		if !v.tag.Valid() { // not jjm's; set to over so that nobody asks for its end
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

// learnHistory stores a listing of the history without members; everything in it is known
// afterwards. What is known in more detail stays.
func (p *memory) learnHistory(jobs []job, zone *time.Location) {
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return p.bulks[j.seq] != nil && p.bulks[j.seq].over })
	p.learn(jobs, false, openpbs, zone)
}

// ends returns how the jobs of a bulk ended that is over. over is the time at which the bulk ended.
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

// unlisted returns the ids of bulks whose end has to be asked for: bulks without a known end that are not listed, and
// bulks of jjm that ended at since or later, but the ends of whose members are not known.
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

// id returns the id of a bulk in the form of the commands.
func (b *bulk) id(seq string) string { return jobID{seq: seq, array: b.array, whole: b.array}.String() }

// forgetMissing forgets the bulks of ids that the server no longer has.
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

// compare compares memory with the bulks that ended at start or later by the server's answer. It adds the unknown
// bulks, without a tag, and returns their ids. It forgets bulks that ended after start but are not in the answer: the
// history no longer has them.
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

// since returns the reports of jjm's jobs that ended at since or later, from bulks that are over. It forgets the
// reports of bulks that ended more than an hour before since.
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

// tagged returns the sequence numbers of the bulks that are over, by tag.
func (p *memory) tagged() map[jjm.Tag][]string {
	out := map[jjm.Tag][]string{}
	for seq, b := range p.bulks {
		if b.over && b.tag != "" {
			out[b.tag] = append(out[b.tag], seq)
		}
	}
	return out
}

// shrink forgets half of the ended bulks, those that ended first, if there are more than maxBulks bulks. The history
// then counts as not listed.
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
