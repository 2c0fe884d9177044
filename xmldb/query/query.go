// Package query evaluates paths on the documents of records. It reads no files itself.
//
// The path language is that of etree, a subset of XPath 1.0; a path may end in @name, @* or text():
//
//	//localjob[@state='failed']/@id
//	/gridjob/@status
//	//phase[@name='simulate']
//
// Elements are returned as XML text, attributes and text() as text, level by level within a
// document. Numbers in brackets count within one document.
package query

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/beevik/etree"

	"jjm/internal/jjm"
)

// The limits of a query.
const (
	// maxPath is the longest path, in bytes.
	maxPath = 1 << 10
	// maxAnswer is the largest size of all results together, in bytes; each result counts 32 additional bytes.
	maxAnswer = 32 << 20
	// maxTree is the largest estimated memory for one document as a tree, in bytes.
	maxTree = 512 << 20
)

// errAnswerTooLong means that the results exceed maxAnswer.
var errAnswerTooLong = jjm.Errorf(jjm.Invalid, "the answer exceeds %d MiB: use a narrower path, or read the files",
	maxAnswer>>20)

// errTooManyElements means that a document would exceed maxTree as a tree.
var errTooManyElements = jjm.Errorf(jjm.Invalid, "the file has too many elements for a query: read it instead")

// Query is a parsed path with the results found so far.
type Query struct {
	whole   bool // whether the path is "", which selects whole files
	path    etree.Path
	attr    string // the name in @NAME at the end of the path; "*" for all attributes
	text    bool   // whether the path ends in text()
	root    string // root element with which the path starts; "" if it names none
	results []string
	size    int
}

// Parse parses a path; "" selects whole documents. The error is of kind Invalid.
func Parse(path string) (*Query, error) {
	q, err := parse(path)
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "path %.200q: %w", path, err)
	}
	return q, nil
}

// Wants reports whether the path can select something in documents with this root element. It returns false only if the
// path begins with the name of another root element.
func (q *Query) Wants(root string) bool {
	other := q.root == "gridjob" || q.root == "localjobs"
	return !other || q.root == root
}

// Results returns the results so far.
func (q *Query) Results() []string { return q.results }

// Add adds the results of the path in a document. It converts the document into a tree, whose size in memory may be
// many times the document's size. The error is of kind Invalid if the document or all results together are too large.
func (q *Query) Add(data []byte) error {
	if q.whole {
		return q.add(string(data))
	}
	// An element takes some 300 bytes of memory, an attribute 100 bytes; a file full of <a/> is small on disk and large
	// in memory.
	if bytes.Count(data, []byte("<"))*300+bytes.Count(data, []byte("="))*100 > maxTree {
		return errTooManyElements
	}
	doc := etree.NewDocument()
	if err := doc.ReadFromBytes(data); err != nil {
		return err
	}
	for e := range doc.FindElementsPathSeq(q.path) {
		if e == &doc.Element {
			continue // the document itself has no name and no attributes
		}
		if err := q.addElement(e); err != nil {
			return err
		}
	}
	return nil
}

// parse does the same as Parse; its errors have no kind.
func parse(path string) (*Query, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("longer than %d bytes", maxPath)
	}
	if strings.TrimSpace(path) == "" {
		return &Query{whole: true}, nil
	}
	q := &Query{}
	steps := splitSteps(path)
	switch last := steps[len(steps)-1]; {
	case strings.HasPrefix(last, "@"):
		q.attr = last[1:]
		if q.attr == "" || strings.ContainsAny(q.attr, "[]='\"") {
			return nil, errors.New("want the name of an attribute after @")
		}
		steps = steps[:len(steps)-1]
	case last == "text()":
		q.text = true
		steps = steps[:len(steps)-1]
	case last == "":
		return nil, errors.New("want no slash at the end")
	}
	base := strings.Join(steps, "/")
	switch {
	case strings.Trim(base, "/") == "" && strings.HasPrefix(path, "//"):
		base = "//*" // "//@id" stands for the attribute of any element
	case strings.Trim(base, "/") == "":
		return nil, errors.New("want an element: begin with //, or with /gridjob or /localjobs")
	case strings.HasSuffix(base, "/"):
		base += "*"
	}
	if err := checkCost(splitSteps(base)); err != nil {
		return nil, err
	}
	if len(steps) > 1 && steps[0] == "" {
		q.root, _, _ = strings.Cut(steps[1], "[")
	}
	var err error
	q.path, err = compile(base)
	return q, err
}

// splitSteps splits a path at slashes outside quotes.
func splitSteps(path string) []string {
	var steps []string
	var quote byte
	start := 0
	for i := range len(path) {
		switch c := path[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '/':
			steps = append(steps, path[start:i])
			start = i + 1
		}
	}
	return append(steps, path[start:])
}

// checkCost returns an error for a path that visits the same elements many times: etree removes duplicates only at the
// end, so the time for //../*/../*/../* grows with the cube of the number of local jobs.
func checkCost(steps []string) error {
	climbed, deep := false, 0
	for i, s := range steps {
		switch {
		case s == "" && i > 0:
			if deep++; deep > 3 {
				return errors.New("// more than three times")
			}
			fallthrough
		case s != "" && s != "." && !strings.HasPrefix(s, ".."):
			if climbed {
				return errors.New("a step down after .. : end the path with .., or use a condition in brackets")
			}
		case strings.HasPrefix(s, ".."):
			climbed = true
		}
	}
	return nil
}

// compile compiles a path. It returns an error if etree panics.
func compile(path string) (p etree.Path, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the path cannot be parsed: %v", r)
		}
	}()
	p, err = etree.CompilePath(path)
	if err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "etree: "))
	}
	return p, err
}

// addElement adds the result for one selected element: an attribute, its text, or the element itself.
func (q *Query) addElement(e *etree.Element) error {
	switch {
	case q.attr != "":
		for _, a := range e.Attr {
			if q.attr == "*" || a.FullKey() == q.attr {
				if err := q.add(a.Value); err != nil {
					return err
				}
			}
		}
		return nil
	case q.text:
		if s := e.Text(); s != "" {
			return q.add(s)
		}
		return nil
	}
	doc := etree.NewDocumentWithRoot(e.Copy())
	doc.WriteSettings = etree.WriteSettings{CanonicalText: true, CanonicalAttrVal: true}
	s, err := doc.WriteToString()
	if err != nil {
		return err
	}
	return q.add(strings.TrimSpace(s))
}

// add adds one result. It returns errAnswerTooLong if the results become too large.
func (q *Query) add(s string) error {
	if q.size += len(s) + 32; q.size > maxAnswer {
		return errAnswerTooLong
	}
	q.results = append(q.results, s)
	return nil
}
