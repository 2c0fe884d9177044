package wire

import (
	"fmt"

	"jjm/internal/api/selection"
	"jjm/internal/jjm"
)

// MaxRefs is the greatest number of references in one request.
const MaxRefs = 10_000

// maxRef is the greatest length of a reference, in bytes. The longest references are handles with a range of local
// jobs.
const maxRef = 64

// checkRefs returns an error of kind Invalid if the request of a verb has no references, too many of them, or one that
// is too long.
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

// Many is embedded in requests that name any number of jobs. [Refs] makes a Many.
type Many struct {
	// Refs name the jobs by ids or handles.
	Refs []string `json:"refs,omitempty"`
	// Jobs are the parsed Refs, with ids in place of handles. They are not sent; [Verb.Resolve] sets them. If the verb
	// has a result for each job (Each), references whose handles could not be resolved are left out.
	Jobs []jjm.Ref `json:"-"`
	// Asked has an entry for each reference if the verb has a result for each job and a reference is a handle, else nil.
	Asked []Asked `json:"-"`
}

// Refs returns the member of a request that names these jobs.
func Refs(refs ...string) Many { return Many{Refs: refs} }

// Asked is the result of resolving one reference. Handle is set if the reference is a handle, and Err if the handle
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

// One is embedded in requests that name exactly one job. [OneRef] makes a One.
type One struct {
	// Many contains exactly one reference.
	Many
}

// OneRef returns the member of a request that names this job.
func OneRef(ref string) One { return One{Many{Refs: []string{ref}}} }

// Ref returns the reference, as it was sent. The request must have been checked.
func (o One) Ref() string { return o.Refs[0] }

// Job returns the parsed reference. The request must have been resolved.
func (o One) Job() jjm.Ref { return o.Jobs[0] }

// Grid returns the id of the grid job. The request must have been resolved.
func (o One) Grid() jjm.GridID { return o.Jobs[0].Grid }

// one returns an error of kind Invalid unless there is exactly one reference.
func (o One) one(verb string) error {
	if len(o.Refs) != 1 {
		return jjm.Errorf(jjm.Invalid, "%s: %d refs: want exactly one id", verb, len(o.Refs))
	}
	return checkRefs(verb, o.Refs)
}

// resolvePatterns returns the words of patterns, with the ids that find returns in place of handles. An error of find
// ends it.
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

// ParseRefs parses the references of a verb. They must not contain handles. If grid is set, a reference to local jobs
// is an error of kind Invalid. Errors begin with the name of the verb, if it is not "".
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
