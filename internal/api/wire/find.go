package wire

import (
	"strings"

	"jjm/internal/jjm"
)

// VerbFind is the verb "find": it finds jobs by facts other than their ids, for administrators.
func VerbFind() Verb[FindRequest, FindAnswer] {
	return Verb[FindRequest, FindAnswer]{About{Name: "find", MaxBytes: maxShort,
		Help: "The jobs behind a batch id, a host, a file, a tag, a user, or a gatekeeper's id."}}
}

// MostFound is the greatest number of jobs in one answer of "find".
const MostFound = 10_000

// FindRequest describes the jobs to find.
type FindRequest struct {
	Head
	Find Sought `json:"find"`
}

// Sought describes the jobs to find. Exactly one of BatchID, Gatekeeper, Tag, Host, DN and File is set, or only User.
// Every further member restricts the answer.
type Sought struct {
	BatchID string `json:"batch_id,omitempty"` // the id of a bulk, "4711", or of one batch job, "4711_3"
	// Gatekeeper is the gatekeeper's own id of a grid job.
	Gatekeeper string `json:"gatekeeper_id,omitempty"`
	Tag        string `json:"tag,omitempty"` // the tag of a bulk
	Host       string `json:"host,omitempty"`
	DN         string `json:"dn,omitempty"`   // the subject of a certificate or of a token
	File       string `json:"file,omitempty"` // the LFN or path of a file of a dataset, or the name of an output
	User       string `json:"user,omitempty"`
	// Cluster restricts BatchID, Tag and Host. At restricts Host to the attempts that ran at that time, or at any time
	// from At to Until; 0 means At.
	Cluster string   `json:"cluster,omitempty"`
	At      jjm.Time `json:"at,omitempty"`
	Until   jjm.Time `json:"until,omitempty"`
	Limit   int      `json:"limit,omitempty"` // default 100, at most MostFound
}

// keys returns the names and values of those members of which at most one may be set.
func (f *Sought) keys() [][2]string {
	return [][2]string{{"batch_id", f.BatchID}, {"gatekeeper_id", f.Gatekeeper}, {"tag", f.Tag}, {"host", f.Host},
		{"dn", f.DN}, {"file", f.File}}
}

// Check checks which members are set, and their lengths.
func (r FindRequest) Check() error {
	f := &r.Find
	var set []string
	for _, k := range append(f.keys(), [2]string{"user", f.User}, [2]string{"cluster", f.Cluster}) {
		switch {
		case len(k[1]) > maxPath:
			return jjm.Errorf(jjm.Invalid, "find.%s is longer than %d bytes", k[0], maxPath)
		case strings.ContainsRune(k[1], 0):
			return jjm.Errorf(jjm.Invalid, "find.%s: want text without NUL", k[0])
		case k[1] != "" && k[0] != "user" && k[0] != "cluster":
			set = append(set, k[0])
		}
	}
	switch {
	case len(set) > 1:
		return jjm.Errorf(jjm.Invalid, "find: %s: want one of them", strings.Join(set, ", "))
	case len(set) == 0 && f.User == "":
		return jjm.Errorf(jjm.Invalid,
			"find: nothing says which jobs: want batch_id, gatekeeper_id, tag, host, dn, file or user")
	case f.Cluster != "" && f.BatchID == "" && f.Tag == "" && f.Host == "":
		return jjm.Errorf(jjm.Invalid, "find.cluster: want it with batch_id, tag or host")
	case f.At != 0 && f.Host == "":
		return jjm.Errorf(jjm.Invalid, "find.at: want it with host")
	case f.At < 0:
		return jjm.Errorf(jjm.Invalid, "find.at: want a time after 1970")
	case f.Until != 0 && f.Until < f.At:
		return jjm.Errorf(jjm.Invalid, "find.until: want a time that is not before find.at")
	case f.Until != 0 && f.At == 0:
		return jjm.Errorf(jjm.Invalid, "find.until: want it with at")
	case f.Limit < 0 || f.Limit > MostFound:
		return jjm.Errorf(jjm.Invalid, "find.limit: want 0 (the default) to %d", MostFound)
	}
	return nil
}

// FindAnswer contains the jobs that were found, the jobs of the newest grid jobs first.
type FindAnswer struct {
	Reply
	Found []Trace `json:"found,omitempty"`
	// More is set if more jobs were found than Limit allows.
	More bool `json:"more,omitempty"`
}

// Trace is a job that was found: an attempt of a local job, a local job, or a whole grid job.
type Trace struct {
	ID string `json:"id"`
	// Attempt is the number of the attempt, nil for a grid job, and for a local job without a found attempt.
	Attempt *int32 `json:"attempt,omitempty"`
	User    string `json:"user"`
	Name    string `json:"name"` // the name of the grid job
	// State is the present state of the local job, or the status of the grid job.
	State   string `json:"state"`
	Cluster string `json:"cluster,omitempty"`
	Batch   string `json:"batch,omitempty"` // the batch system's id of the attempt
	Tag     string `json:"tag,omitempty"`
	Host    string `json:"host,omitempty"`
	// Started and Ended are the times of the attempt. For a grid job they are the times of its acceptance and its end. 0
	// means unknown.
	Started jjm.Time `json:"started,omitempty"`
	Ended   jjm.Time `json:"ended,omitempty"`
	// Why is the reason, for people, why the job was found.
	Why string `json:"why"`
}
