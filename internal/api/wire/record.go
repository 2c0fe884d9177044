package wire

import (
	"strings"

	"jjm/internal/jjm"
)

// VerbRecord is the verb "record": it reads the XML record of a grid job.
func VerbRecord() Verb[RecordRequest, RecordAnswer] {
	return Verb[RecordRequest, RecordAnswer]{About{Name: "record", MaxBytes: maxShort, Grids: true,
		Help: "The XML record of a grid job, or what a query finds in it."}}
}

// RecordRequest names the grid job whose record is read.
type RecordRequest struct {
	Head
	One
	// Path is a query in a subset of XPath (package xmldb). "" returns the whole record.
	Path string `json:"path,omitempty"`
}

// Check requires exactly one reference and a query of at most maxPath bytes.
func (r RecordRequest) Check() error {
	if len(r.Path) > maxPath || strings.ContainsRune(r.Path, 0) {
		return jjm.Errorf(jjm.Invalid, "path: want a query of at most %d bytes without NUL", maxPath)
	}
	return r.one("record")
}

// RecordAnswer contains lines of the record.
type RecordAnswer struct {
	Reply
	Record []string `json:"record,omitempty"`
}
