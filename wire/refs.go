package wire

import (
	"fmt"

	"jjm"
)

// MaxRefs is the most references one request may hold.
const MaxRefs = 10_000

// maxRef is the longest reference, in bytes.
const maxRef = 64

// checkRefs checks the references of a verb that takes some.
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

// One is in the requests that are about exactly one job; [Of] makes it.
type One struct {
	// Refs has one element.
	Refs []string `json:"refs,omitempty"`
}

// Of is the part of a request that names one job.
func Of(ref string) One { return One{[]string{ref}} }

// Ref is the reference, of a request that was checked.
func (o One) Ref() string { return o.Refs[0] }

// one checks the reference of a verb.
func (o One) one(verb string) error {
	if len(o.Refs) != 1 {
		return jjm.Errorf(jjm.Invalid, "%s: %d refs: want exactly one id", verb, len(o.Refs))
	}
	return checkRefs(verb, o.Refs)
}

// ParseRefs reads the references of a verb, none of which is a handle. With grid set, only whole grid jobs will do.
func ParseRefs(verb string, refs []string, grid bool) ([]jjm.Ref, error) {
	parsed := make([]jjm.Ref, len(refs))
	for i, s := range refs {
		ref, err := jjm.ParseRef(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", verb, err)
		}
		if grid && ref.Locals {
			return nil, jjm.Errorf(jjm.Invalid, "%s: id %q: want a grid job, such as %v", verb, s, ref.Grid)
		}
		parsed[i] = ref
	}
	return parsed, nil
}
