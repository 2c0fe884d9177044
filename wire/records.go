package wire

import (
	"strings"

	"jjm"
)

// VerbRecords asks the records of many grid jobs.
func VerbRecords() Verb[RecordsRequest, RecordsAnswer] {
	return Verb[RecordsRequest, RecordsAnswer]{About{Name: "records", MaxBytes: maxShort,
		Help: "What a query finds in the records of many grid jobs, newest first."}}
}

// RecordsRequest is a query, and the grid jobs whose records it is asked of.
type RecordsRequest struct {
	Head
	// Path is a query in the manner of XPath.
	Path string `json:"path"`
	// Of selects grid jobs; finished ones are among them.
	Of Selection `json:"of,omitzero"`
}

// Selection selects grid jobs; what is empty selects all.
type Selection struct {
	Status string `json:"status,omitempty"`
	Type   string `json:"type,omitempty"`
	Owner  string `json:"owner,omitempty"`
	// Cluster is one that has or had some of the local jobs.
	Cluster string `json:"cluster,omitempty"`
	// Since and Until bound when they were accepted, the latter excluded.
	Since jjm.Time `json:"since,omitempty"`
	Until jjm.Time `json:"until,omitempty"`
}

// Check implements Request.
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

// RecordsAnswer is a line of the answer: what the query found in one record, or nothing in
// the last line.
type RecordsAnswer struct {
	Reply
	Found *Found `json:"found,omitempty"`
}

// Found is what a query found in the record of a grid job. Error says why its record could
// not be asked; the others can.
type Found struct {
	ID     jjm.GridID `json:"id"`
	Type   string     `json:"type"`
	Owner  string     `json:"owner"`
	Record []string   `json:"record,omitempty"`
	Error  string     `json:"error,omitempty"`
}
