package condor

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// tagsAtOnce is the largest number of tags in one constraint. 500 tags of 15 characters are 8 KiB.
const tagsAtOnce = 500

// Find searches the queue, and, if Config.History is set, the jobs that left the queue.
func (a *Adapter) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	var all []bulk
	var unread []adapters.Unread
	for some := range slices.Chunk(tags, tagsAtOnce) {
		records, odd, err := a.query(ctx, queueArgs(ownedBy(owner)+" && "+taggedWith(some)))
		if err != nil {
			return nil, a.fail("find", err)
		}
		unread = append(unread, odd...)
		for _, r := range records {
			all = append(all, bulk{r.tag, r.cluster})
		}
	}
	if a.config.History && len(tags) > 0 { // without History, an unreleased bulk is on hold and stays in the queue
		left, odd, err := a.bulksInHistory(ctx, owner, tags)
		if err != nil {
			return nil, a.fail("find", err)
		}
		all, unread = append(all, left...), append(unread, odd...)
	}
	return found(tags, all, unread), nil
}

// found returns the answer for each tag, in order. If an unreadable record may have a tag, the tag is not absent.
func found(tags []jjm.Tag, bulks []bulk, unread []adapters.Unread) []adapters.Found {
	ids := map[jjm.Tag][]int64{}
	for _, b := range bulks {
		ids[b.tag] = append(ids[b.tag], b.cluster)
	}
	out := make([]adapters.Found, len(tags))
	for i, tag := range tags {
		out[i] = adapters.Found{Tag: tag}
		if !adapters.UnreadOf(unread, tag) {
			out[i].Presence = adapters.Absent
		}
		clusters := ids[tag]
		slices.Sort(clusters)
		for _, c := range slices.Compact(clusters) {
			out[i].Presence = adapters.Present
			out[i].IDs = append(out[i].IDs, strconv.FormatInt(c, 10))
		}
	}
	return out
}

// Account returns the ends of jobs, from the queue if the queue still has the jobs, otherwise from the history.
func (a *Adapter) Account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	wanted := jobSet(jobs)
	var queue, history []record
	var unread []adapters.Unread
	for _, constraint := range wanted.constraints() {
		records, odd, err := a.query(ctx, queueArgs(ownedBy(owner)+" && ("+constraint+")"))
		if err != nil {
			return nil, a.fail("account", err)
		}
		queue, unread = append(queue, records...), append(unread, odd...)
	}
	if a.config.History && len(queue) < len(wanted) {
		records, odd, err := a.jobsInHistory(ctx, owner, wanted)
		if err != nil {
			return nil, a.fail("account", err)
		}
		history, unread = records, append(unread, odd...)
	}
	reports := merge(queue, history)
	doubtful := adapters.Doubtful(unread, jobs, reports)
	return append(slices.DeleteFunc(reports, func(r jjm.Report) bool { return !r.State.Ended() }), doubtful...), nil
}

// tagged is a job id with the tag that the job must have.
type tagged struct {
	tag jjm.Tag
	jobID
}

// taggedJobs is a set of jobs.
type taggedJobs []tagged

// jobSet returns the jobs that refs name, sorted. It leaves out references that cannot name a job.
func jobSet(refs []adapters.Ref) taggedJobs {
	var set taggedJobs
	for _, ref := range refs {
		if id, ok := jobOf(ref); ok && ref.Tag.Valid() {
			set = append(set, tagged{ref.Tag, id})
		}
	}
	slices.SortFunc(set, tagged.compare)
	return slices.Compact(set)
}

func (a tagged) compare(b tagged) int {
	for _, c := range []int{compare(a.tag, b.tag), compare(a.cluster, b.cluster), compare(a.proc, b.proc)} {
		if c != 0 {
			return c
		}
	}
	return 0
}

func compare[T string | jjm.Tag | int64 | int32](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// maxConstraint is the largest size of a constraint in bytes, well below the 128 KiB of execve(2).
const maxConstraint = 60 << 10

// constraints returns as few expressions as possible that match exactly the jobs of a set. The expressions contain the
// tags, because ids are reused.
func (set taggedJobs) constraints() []string {
	var all []string
	text := ""
	for part := range set.bulks() {
		var procs []int32
		for _, j := range part {
			procs = append(procs, j.proc)
		}
		one := fmt.Sprintf("(JJMTag =?= %s && %s)", quoteString(string(part[0].tag)), jobIDs(part[0].cluster, procs))
		switch {
		case text == "":
			text = one
		case len(text)+len(one) > maxConstraint:
			all = append(all, text)
			text = one
		default:
			text += " || " + one
		}
	}
	if text != "" {
		all = append(all, text)
	}
	return all
}

// procsAtOnce is the largest number of positions in one term: 2000 positions without neighbours are 36 KiB.
const procsAtOnce = 2000

// bulks yields the jobs of each bulk, in pieces of at most procsAtOnce jobs.
func (set taggedJobs) bulks() func(yield func(taggedJobs) bool) {
	return func(yield func(taggedJobs) bool) {
		for i := 0; i < len(set); {
			k := i
			for k < len(set) && k-i < procsAtOnce && set[k].tag == set[i].tag && set[k].cluster == set[i].cluster {
				k++
			}
			if !yield(set[i:k]) {
				return
			}
			i = k
		}
	}
}
