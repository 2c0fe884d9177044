package xmldb

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"

	"jjm/internal/jjm"
	"jjm/xmldb/internal/xmltext"
)

// MaxDepth is the largest nesting of elements within a fragment element.
const MaxDepth = 16

// Fragment holds the elements that another program adds to the record of a job. They are merged into the job's element
// in the record.
type Fragment struct {
	Grid jjm.GridID
	// Local is the number of the local job, or -1 for the grid job.
	Local    int32
	elements []child
}

// Ref returns the id of the fragment's job as people write it: "12.3" for a local job, "12" for a grid job.
func (f Fragment) Ref() string {
	if f.Local < 0 {
		return f.Grid.String()
	}
	return jjm.LocalID{Grid: f.Grid, N: f.Local}.String()
}

// XML returns the fragment in canonical form, which ParseFragment accepts.
func (f Fragment) XML() []byte {
	b := xmltext.Attr([]byte("<fragment"), "job", f.Ref())
	b = append(b, '>')
	for _, c := range f.elements {
		b = append(b, c.xml...)
	}
	return append(b, "</fragment>"...)
}

// ParseFragment parses a fragment, for example
//
//	<fragment job="12.3"><phase name="d0gstar" done="117" total="250"/></fragment>
//
// Elements may have any name except the names of jjm's own elements, which are allowed only in a namespace.
// ParseFragment returns an error for a document type declaration, entities, processing instructions, attributes of XML
// Schema instances, more than jjm.MaxFragment bytes, more than MaxDepth levels, and more than MaxChildren elements. The
// error is of kind Invalid and names the place.
func ParseFragment(b []byte) (Fragment, error) {
	f, err := parseFragment(b)
	if err != nil {
		return Fragment{}, jjm.Errorf(jjm.Invalid, "%w", err)
	}
	return f, nil
}

// parseFragment does the same as ParseFragment; its errors have no kind.
func parseFragment(b []byte) (Fragment, error) {
	if len(b) > jjm.MaxFragment {
		return Fragment{}, fmt.Errorf("%d bytes: want at most %d", len(b), jjm.MaxFragment)
	}
	t := newTokens(b, MaxDepth+1)
	tok, err := t.next()
	if err != nil {
		return Fragment{}, err
	}
	start := tok.(xml.StartElement) // a document begins with a start element
	if uri, _ := t.uri(start.Name); start.Name.Local != "fragment" || uri != "" && start.Name.Space != "" {
		return Fragment{}, t.errorf(`element %.40q: want <fragment job="12.3">`, qualified(start.Name))
	}
	f, inherit, err := fragmentStart(t, start)
	if err != nil {
		return f, err
	}
	if err := f.readElements(t, inherit); err != nil {
		return f, err
	}
	if _, err := t.next(); !errors.Is(err, io.EOF) {
		return f, fmt.Errorf("text after the fragment: %w", err)
	}
	if len(f.elements) == 0 {
		return f, errors.New("want at least one element")
	}
	if n := len(f.XML()); n > jjm.MaxFragment {
		return f, fmt.Errorf("%d bytes once escaped: want at most %d", n, jjm.MaxFragment)
	}
	return f, nil
}

// fragmentStart reads the job from the start tag, and the namespace declarations that the elements inherit.
func fragmentStart(t *tokens, start xml.StartElement) (f Fragment, inherit []xml.Attr, err error) {
	job := ""
	for _, a := range start.Attr {
		_, isDecl := declares(a.Name)
		switch {
		case isDecl:
			inherit = append(inherit, a)
		case a.Name.Space == "" && a.Name.Local == "job":
			job = a.Value
		default:
			return f, nil, t.errorf("attribute %.40q of fragment: want job and nothing else", qualified(a.Name))
		}
	}
	ref, err := jjm.ParseRef(job)
	if err != nil || ref.Locals && ref.First != ref.Last {
		return f, nil, t.errorf(`attribute job of fragment: %.40q: want a grid job ("12") or a local job ("12.3")`, job)
	}
	f = Fragment{Grid: ref.Grid, Local: -1}
	if ref.Locals {
		f.Local = ref.First
	}
	return f, inherit, nil
}

// readElements reads the children up to the end of the fragment.
func (f *Fragment) readElements(t *tokens, inherit []xml.Attr) error {
	for {
		tok, err := t.next()
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case xml.EndElement:
			return nil
		case xml.CharData:
			if len(bytes.TrimSpace(tok)) > 0 {
				return t.errorf("text in fragment: want elements")
			}
		case xml.StartElement:
			if err := f.readElement(t, tok, inherit); err != nil {
				return err
			}
		}
	}
}

// readElement reads one child of the fragment and adds it to the elements.
func (f *Fragment) readElement(t *tokens, start xml.StartElement, inherit []xml.Attr) error {
	if len(f.elements) == MaxChildren {
		return t.errorf("more than %d elements", MaxChildren)
	}
	uri, _ := t.uri(start.Name)
	if uri == "" && reserved(start.Name.Local) {
		return t.errorf("element %s belongs to jjm: use another name, or a namespace",
			start.Name.Local)
	}
	b, err := t.copyElement(nil, start, inherit, func(e xml.StartElement) error { return t.checkForeign(e) })
	if err != nil {
		return err
	}
	f.elements = append(f.elements, child{key: childKey(uri, start), xml: string(b)})
	return nil
}

// checkForeign returns an error for an element that would make a record invalid: a validator checks these names at any
// place.
func (t *tokens) checkForeign(e xml.StartElement) error {
	if uri, _ := t.uri(e.Name); uri == "" && (e.Name.Local == "gridjob" || e.Name.Local == "localjobs") {
		return t.errorf("element %s belongs to jjm: use another name, or a namespace", e.Name.Local)
	}
	for _, a := range e.Attr {
		if uri, _ := t.uri(a.Name); a.Name.Space != "" && uri == xsiURI {
			return t.errorf("element %s: attribute %s of XML Schema instances is not allowed", qualified(e.Name), qualified(a.Name))
		}
	}
	return nil
}

// CheckKeys returns an error of kind Invalid if an element has neither a name nor an id: if such an element were merged
// twice, the record would contain it twice.
func (f Fragment) CheckKeys() error {
	for _, c := range f.elements {
		if c.key == "" {
			return jjm.Errorf(jjm.Invalid, "element %.80s: want an attribute name or id, by which it is replaced later",
				c.xml)
		}
	}
	return nil
}

// With returns a fragment with the elements of f and other, which must belong to the same job and pass CheckKeys.
// Elements of other replace elements of f with the same key. The error is of kind Invalid if the result is too large.
func (f Fragment) With(other Fragment) (Fragment, error) {
	all := Fragment{Grid: f.Grid, Local: f.Local}
	for _, c := range f.elements {
		if !slices.ContainsFunc(other.elements, func(o child) bool { return o.key == c.key }) {
			all.elements = append(all.elements, c)
		}
	}
	all.elements = append(all.elements, other.elements...)
	if n, size := len(all.elements), len(all.XML()); n > MaxChildren || size > jjm.MaxFragment {
		return Fragment{}, jjm.Errorf(jjm.Invalid,
			"%d elements and %d bytes with what the job added before: want at most %d and %d: use names again", n, size,
			MaxChildren, jjm.MaxFragment)
	}
	return all, nil
}
