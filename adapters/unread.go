package adapters

import "jjm"

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

// UnreadOf reports whether one of the records may be of a job with the tag: it has the tag, or
// none that could be read.
func UnreadOf(all []Unread, tag jjm.Tag) bool {
	for _, u := range all {
		if u.Tag == tag || u.Tag == "" {
			return true
		}
	}
	return false
}
