package adapters

import (
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// Unread is an unreadable record of a listing. The rest of the listing is valid.
type Unread struct {
	// Tag and ID name the job in the record; "" if they could not be read. The job may belong to another program than
	// jjm.
	Tag jjm.Tag
	ID  string
	// Index is the job's index in its bulk, -1 if it could not be read.
	Index int32
	// Text holds the record and its fault, shortened, for people.
	Text string
}

// MayBe reports whether the record may belong to the job. That is so if the record has the job's tag or an id of the
// same bulk, or if neither its tag nor its id could be read. A record with another index does not belong to the job.
func (u Unread) MayBe(job Ref) bool {
	if u.Index >= 0 && job.Index >= 0 && u.Index != job.Index {
		return false
	}
	return u.Nameless() || u.Tag != "" && u.Tag == job.Tag || u.ID != "" && sameBulk(u.ID, job.ID)
}

// Nameless reports whether neither the tag nor the id of the record could be read.
func (u Unread) Nameless() bool { return u.Tag == "" && u.ID == "" }

// sameBulk reports whether two ids may belong to one bulk: their numbers are the same, or one id is a prefix of the
// other.
func sameBulk(a, b string) bool {
	x, y := number(a), number(b)
	if x != "" || y != "" {
		return x == y
	}
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// number returns the leading digits of an id.
func number(id string) string { return id[:len(id)-len(strings.TrimLeft(id, "0123456789"))] }

// UnreadOf reports whether one of the records may belong to a job with the tag: the record has the same tag, or its tag
// could not be read.
func UnreadOf(all []Unread, tag jjm.Tag) bool {
	return slices.ContainsFunc(all, func(u Unread) bool { return u.Tag == tag || u.Tag == "" })
}

// Doubt returns an error of kind Busy if one of the records may belong to the job, which then must not count as gone;
// otherwise nil.
func Doubt(all []Unread, job Ref) error {
	i := slices.IndexFunc(all, func(u Unread) bool { return u.MayBe(job) })
	if i < 0 {
		return nil
	}
	return jjm.Errorf(jjm.Busy, "job %s, index %d: a record that may be its own cannot be read: %s", job.ID, job.Index,
		all[i].Text)
}

// Doubtful returns a report with state BatchUnknown for each job that is missing in reports and that one of the unread
// records may describe. Account adds these reports to its answer.
func Doubtful(all []Unread, jobs []Ref, reports []jjm.Report) (out []jjm.Report) {
	if len(all) == 0 {
		return nil
	}
	known := map[Ref]bool{}
	for _, r := range reports {
		known[Ref{Tag: r.Tag, Index: r.Index}] = true
		known[Ref{Tag: r.Tag, ID: r.ID, Index: -1}] = true
	}
	for _, job := range jobs {
		key := job
		if key.Index >= 0 {
			key.ID = ""
		}
		if err := Doubt(all, job); err != nil && !known[key] {
			out = append(out, jjm.Report{Tag: job.Tag, ID: job.ID, Index: job.Index, Reason: err.Error()})
		}
	}
	return out
}
