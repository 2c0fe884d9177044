package wire

import (
	"strings"

	"jjm/internal/jjm"
)

// VerbRecords is the verb "records": it runs a query on the records of many grid jobs.
func VerbRecords() Verb[RecordsRequest, RecordsAnswer] {
	return Verb[RecordsRequest, RecordsAnswer]{About{Name: "records", MaxBytes: maxShort,
		Help: "What a query finds in the records of many grid jobs, newest first."}}
}

// RecordsRequest is a query, and the grid jobs on whose records it runs.
type RecordsRequest struct {
	Head
	// Path is a query in a subset of XPath (package xmldb).
	Path string `json:"path"`
	// Of selects grid jobs, including grid jobs that are over.
	Of Selection `json:"of,omitzero"`
}

// Selection selects grid jobs. An empty member restricts nothing.
type Selection struct {
	Status string `json:"status,omitempty"` // statuses, separated by commas
	Type   string `json:"type,omitempty"`
	Owner  string `json:"owner,omitempty"`
	// Cluster selects the grid jobs that have, or had, local jobs on this cluster.
	Cluster string `json:"cluster,omitempty"`
	// Since and Until bound the time at which the grid job was accepted. Until itself is
	// excluded.
	Since jjm.Time `json:"since,omitempty"`
	Until jjm.Time `json:"until,omitempty"`
}

// Check checks the query and the form of the selection.
func (r RecordsRequest) Check() error {
	switch {
	case r.Path == "" || len(r.Path) > maxPath || strings.ContainsRune(r.Path, 0):
		return jjm.Errorf(jjm.Invalid, "path: want a query of at most %d bytes without NUL", maxPath)
	case max(len(r.Of.Status), len(r.Of.Type), len(r.Of.Owner), len(r.Of.Cluster)) > maxWord:
		return jjm.Errorf(jjm.Invalid, "of: a filter is longer than %d bytes", maxWord)
	case r.Of.Since < 0 || r.Of.Until < 0:
		return jjm.Errorf(jjm.Invalid, "of: want times since 1970, in milliseconds")
	}
	return nil
}

// RecordsAnswer is one line of the answer: the result of the query on one record. The last line has no result.
type RecordsAnswer struct {
	Reply
	Found *Found `json:"found,omitempty"`
}

// Found is the result of the query on the record of one grid job. Error is the reason why this record could not be
// read; the query then continues with the next records.
type Found struct {
	ID     jjm.GridID `json:"id"`
	Type   string     `json:"type"`
	Owner  string     `json:"owner"`
	Record []string   `json:"record,omitempty"`
	Error  string     `json:"error,omitempty"`
}
