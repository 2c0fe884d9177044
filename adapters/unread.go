package adapters

import (
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// Unread is a record of a listing that could not be read. The rest of the listing holds without
// it.
type Unread struct {
	// Tag and ID are the job's, as far as they could be read; "" if not. They may be those of a
	// job that is not jjm's.
	Tag jjm.Tag
	ID  string
	// Index is the job's, -1 if it could not be read.
	Index int32
	// Text is the record and what is wrong with it, shortened, for people.
	Text string
}

// MayBe reports whether the record may be that of a job: it has the job's id or tag, or neither
// could be read.
func (u Unread) MayBe(job Ref) bool {
	if u.Index >= 0 && job.Index >= 0 && u.Index != job.Index {
		return false
	}
	return u.Nameless() || u.Tag != "" && u.Tag == job.Tag || u.ID != "" && sameBulk(u.ID, job.ID)
}

// Nameless reports whether nothing of the record tells whose it is.
func (u Unread) Nameless() bool { return u.Tag == "" && u.ID == "" }

// sameBulk reports whether two ids may be of one bulk: their numbers are the same, or one id
// begins with the other.
func sameBulk(a, b string) bool {
	x, y := number(a), number(b)
	if x != "" || y != "" {
		return x == y
	}
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// number returns the digits with which an id begins.
func number(id string) string { return id[:len(id)-len(strings.TrimLeft(id, "0123456789"))] }

// UnreadOf reports whether one of the records may be of a job with the tag: it has the tag, or
// none that could be read.
func UnreadOf(all []Unread, tag jjm.Tag) bool {
	return slices.ContainsFunc(all, func(u Unread) bool { return u.Tag == tag || u.Tag == "" })
}

// Doubt returns an error of kind Busy if one of the records may be that of a job: the job is not
// gone. Else it returns nil.
func Doubt(all []Unread, job Ref) error {
	i := slices.IndexFunc(all, func(u Unread) bool { return u.MayBe(job) })
	if i < 0 {
		return nil
	}
	return jjm.Errorf(jjm.Busy, "job %s, index %d: a record that may be its own cannot be read: %s", job.ID, job.Index,
		all[i].Text)
}

// Doubtful returns a report of state BatchUnknown for each of the jobs that reports lacks and of
// which one of the records may be: an answer of Account for it.
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
