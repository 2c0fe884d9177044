package wire

import (
	"fmt"

	"jjm/internal/jjm"
)

// MaxRefs is the most references that one request may hold.
const MaxRefs = 10_000

// maxRef is the longest reference, in bytes: a handle with its local jobs.
const maxRef = 64

// checkRefs checks the number and the length of a verb's references.
func checkRefs(verb string, refs []string) error {
	switch {
	case len(refs) == 0:
		return jjm.Errorf(jjm.Invalid, "%s: refs is empty: want at least one id", verb)
	case len(refs) > MaxRefs:
		return jjm.Errorf(jjm.Invalid, "%s: %d refs: at most %d in one request", verb, len(refs), MaxRefs)
	}
	for _, ref := range refs {
		if len(ref) > maxRef {
			return jjm.Errorf(jjm.Invalid, "%s: refs: id %.40q...: want 12, 12.3, 12.* or 12.3-7", verb, ref)
		}
	}
	return nil
}

// One is embedded in the requests about exactly one job. [OneRef] makes it.
type One struct {
	// Refs has one element.
	Refs []string `json:"refs,omitempty"`
}

// OneRef returns the part of a request that names one job.
func OneRef(ref string) One { return One{[]string{ref}} }

// Ref returns the reference. The request must have been checked.
func (o One) Ref() string { return o.Refs[0] }

// one requires exactly one reference.
func (o One) one(verb string) error {
	if len(o.Refs) != 1 {
		return jjm.Errorf(jjm.Invalid, "%s: %d refs: want exactly one id", verb, len(o.Refs))
	}
	return checkRefs(verb, o.Refs)
}

// ParseRefs parses the references of a verb. The name of the verb, if it is not "", precedes the errors. Handles must
// have been replaced before. If grid is set, a reference to local jobs is an error.
func ParseRefs(verb string, refs []string, grid bool) ([]jjm.Ref, error) {
	if verb != "" {
		verb += ": "
	}
	parsed := make([]jjm.Ref, len(refs))
	for i, s := range refs {
		ref, err := jjm.ParseRef(s)
		if err != nil {
			return nil, fmt.Errorf("%s%w", verb, err)
		}
		if grid && ref.Locals {
			return nil, jjm.Errorf(jjm.Invalid, "%sid %q: want a grid job, such as %v", verb, s, ref.Grid)
		}
		parsed[i] = ref
	}
	return parsed, nil
}
