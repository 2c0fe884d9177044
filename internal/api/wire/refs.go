package wire

import (
	"fmt"

	"jjm/internal/api/selection"
	"jjm/internal/jjm"
)

// MaxRefs is the greatest number of references in one request.
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

// Many is embedded in the requests about jobs.
type Many struct {
	// Refs name the jobs by ids or handles.
	Refs []string `json:"refs,omitempty"`
	// Jobs are the parsed Refs, with ids in place of handles. They are not sent: [Verb.Resolve] sets them. If the verb
	// has a result for each job (Each), references whose handles could not be resolved are left out.
	Jobs []jjm.Ref `json:"-"`
	// Asked has an entry for each reference of a verb with a result for each job; nil if no reference is a handle.
	Asked []Asked `json:"-"`
}

// Refs returns the part of a request that names jobs.
func Refs(refs ...string) Many { return Many{Refs: refs} }

// Asked is the result of resolving a reference: the handle if the reference was a handle, and the error if the handle
// could not be resolved.
type Asked struct {
	Ref    string
	Handle jjm.Handle
	Err    error
}

// resolve implements refers.
func (m *Many) resolve(a About, find func(jjm.Handle) (jjm.GridID, error)) error {
	m.Jobs, m.Asked = make([]jjm.Ref, 0, len(m.Refs)), nil
	results, handles := make([]Asked, len(m.Refs)), false
	for i, text := range m.Refs {
		results[i].Ref = text
		if h, rest, ok := jjm.CutHandle(text); ok {
			id, err := find(h)
			if err != nil && !a.Each {
				return err
			}
			if err != nil {
				id = 1 // any id: the form of the rest is still checked
			}
			text, handles = id.String()+rest, true
			results[i].Handle, results[i].Err = h, err
		}
		ref, err := ParseRefs(a.Name, []string{text}, a.Grids)
		if err != nil {
			return err
		}
		if results[i].Err == nil {
			m.Jobs = append(m.Jobs, ref...)
		}
	}
	if a.Each && handles {
		m.Asked = results
	}
	return nil
}

// complete checks that the answer to a request about each job has an entry for each of Jobs, and inserts entries for
// the references whose handles could not be resolved.
func (m *Many) complete(a About, ans any) error {
	list, ok := ans.(interface {
		entries() int
		insert([]Asked)
	})
	if !ok {
		return nil
	}
	if list.entries() != len(m.Jobs) {
		return jjm.Errorf(jjm.Internal, "%s: %d answers for %d ids", a.Name, list.entries(), len(m.Jobs))
	}
	if m.Asked != nil {
		list.insert(m.Asked)
	}
	return nil
}

// One is embedded in requests about exactly one job. [OneRef] makes a One.
type One struct {
	// Many contains exactly one reference.
	Many
}

// OneRef returns the part of a request that names one job.
func OneRef(ref string) One { return One{Many{Refs: []string{ref}}} }

// Ref returns the reference. The request must have been checked.
func (o One) Ref() string { return o.Refs[0] }

// Job returns the job. The request must have been resolved.
func (o One) Job() jjm.Ref { return o.Jobs[0] }

// Grid returns the grid job. The request must have been resolved.
func (o One) Grid() jjm.GridID { return o.Jobs[0].Grid }

// one returns an error of kind Invalid unless there is exactly one reference.
func (o One) one(verb string) error {
	if len(o.Refs) != 1 {
		return jjm.Errorf(jjm.Invalid, "%s: %d refs: want exactly one id", verb, len(o.Refs))
	}
	return checkRefs(verb, o.Refs)
}

// resolvePatterns returns patterns with the ids of grid jobs in place of handles.
func resolvePatterns(patterns []string, find func(jjm.Handle) (jjm.GridID, error)) ([]string, error) {
	list, err := selection.Parse(patterns)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if p := &list[i]; p.Handle != "" {
			if p.Ref.Grid, err = find(p.Handle); err != nil {
				return nil, err
			}
			p.Handle = ""
		}
	}
	return list.Words(), nil
}

// ParseRefs parses the references of a verb. Errors begin with the name of the verb, unless the name is "". Handles
// must have been replaced before. If grid is set, a reference to local jobs is an error.
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
