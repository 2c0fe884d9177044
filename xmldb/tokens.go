package xmldb

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"jjm/xmldb/internal/xmltext"
)

const (
	xmlURI   = "http://www.w3.org/XML/1998/namespace"
	xmlnsURI = "http://www.w3.org/2000/xmlns/"
	xsiURI   = "http://www.w3.org/2001/XMLSchema-instance"
)

// tokens reads a document token by token and checks that it is well-formed XML with namespaces. It returns errors for
// some faults that encoding/xml accepts (unmatched tags of RawToken, a repeated attribute, an undeclared prefix),
// because accepted text is written into files that other programs must be able to read.
type tokens struct {
	d        *xml.Decoder
	stack    []scope
	maxDepth int
	rooted   bool // whether the root element has started
}

// scope is an open element and the prefixes that it declares.
type scope struct {
	name xml.Name
	decl map[string]string // prefix ("" = default) -> URI; nil if there is none
}

func newTokens(data []byte, maxDepth int) *tokens {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	return &tokens{d: xml.NewDecoder(bytes.NewReader(data)), maxDepth: maxDepth}
}

// next returns a start element, an end element or character data, and io.EOF after a complete document. It skips
// comments, because encoding/xml does not check their characters. The content of a token is valid until the next call.
// Names are unchanged: Space is the prefix.
func (t *tokens) next() (xml.Token, error) {
	for {
		tok, err := t.d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil, t.end()
		}
		if err != nil {
			return nil, t.errorf("%w", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			return tok, t.push(tok)
		case xml.EndElement:
			return tok, t.pop(tok)
		case xml.CharData:
			if len(t.stack) > 0 {
				return tok, nil
			}
			if len(bytes.TrimSpace(tok)) > 0 {
				return nil, t.errorf("text outside the root element")
			}
		case xml.Directive:
			return nil, t.errorf("a document type declaration is not allowed")
		case xml.ProcInst:
			if tok.Target != "xml" || t.rooted {
				return nil, t.errorf("processing instruction %.40q is not allowed", tok.Target)
			}
		}
	}
}

// end returns io.EOF if the text was a complete document, and otherwise an error.
func (t *tokens) end() error {
	if len(t.stack) > 0 {
		return t.errorf("the text ends inside element %s", qualified(t.stack[len(t.stack)-1].name))
	}
	if !t.rooted {
		return errors.New("the text has no element")
	}
	return io.EOF
}

// errorf returns an error that begins with the place in the text.
func (t *tokens) errorf(format string, args ...any) error {
	line, col := t.d.InputPos()
	return fmt.Errorf("line %d column %d: %w", line, col, fmt.Errorf(format, args...))
}

// push opens an element. It returns an error for a second root element, for elements that are nested too deep, and for
// bad names or declarations.
func (t *tokens) push(e xml.StartElement) error {
	if len(t.stack) == 0 && t.rooted {
		return t.errorf("a second root element %s", qualified(e.Name))
	}
	t.rooted = true
	if len(t.stack) >= t.maxDepth {
		return t.errorf("element %s is nested deeper than %d", qualified(e.Name), t.maxDepth)
	}
	s := scope{name: e.Name}
	for _, a := range e.Attr {
		prefix, ok := declares(a.Name)
		if !ok {
			continue
		}
		if err := checkDeclaration(prefix, a.Value); err != nil {
			return t.errorf("element %s: %w", qualified(e.Name), err)
		}
		if s.decl == nil {
			s.decl = make(map[string]string)
		}
		s.decl[prefix] = a.Value
	}
	t.stack = append(t.stack, s)
	return t.checkNames(e)
}

// checkNames returns an error for undeclared prefixes and repeated attributes.
func (t *tokens) checkNames(e xml.StartElement) error {
	if _, ok := t.uri(e.Name); !ok || badName(e.Name) {
		return t.errorf("element %s: bad name, or its prefix is not declared", qualified(e.Name))
	}
	for i, a := range e.Attr {
		name, err := t.expand(a.Name)
		if err != nil {
			return t.errorf("element %s: %w", qualified(e.Name), err)
		}
		// A few attributes are compared in pairs; more are looked up in a map, because a text of 64 KiB can have ten
		// thousand.
		if i >= 32 {
			return t.checkMany(e)
		}
		for _, b := range e.Attr[:i] {
			if other, _ := t.expand(b.Name); other == name {
				return t.errorf("element %s: attribute %s is given twice", qualified(e.Name), qualified(a.Name))
			}
		}
	}
	return nil
}

// checkMany does what checkNames does, for elements with many attributes.
func (t *tokens) checkMany(e xml.StartElement) error {
	seen := make(map[xml.Name]bool, len(e.Attr))
	for _, a := range e.Attr {
		name, err := t.expand(a.Name)
		if err != nil {
			return t.errorf("element %s: %w", qualified(e.Name), err)
		}
		if seen[name] {
			return t.errorf("element %s: attribute %s is given twice", qualified(e.Name), qualified(a.Name))
		}
		seen[name] = true
	}
	return nil
}

// expand replaces the prefix of an attribute by its URI.
func (t *tokens) expand(n xml.Name) (xml.Name, error) {
	if n.Space == "" {
		if badName(n) {
			return n, fmt.Errorf("attribute %s: bad name", qualified(n))
		}
		return n, nil
	}
	if n.Space == "xmlns" {
		return xml.Name{Space: xmlnsURI, Local: n.Local}, nil
	}
	uri, ok := t.uri(n)
	if !ok || badName(n) {
		return n, fmt.Errorf("attribute %s: bad name, or its prefix is not declared", qualified(n))
	}
	return xml.Name{Space: uri, Local: n.Local}, nil
}

// uri returns the namespace of the name of an element, or of an attribute with a prefix. The bool is false if the
// prefix is not declared.
func (t *tokens) uri(n xml.Name) (string, bool) {
	if n.Space == "xml" {
		return xmlURI, true
	}
	for i := len(t.stack) - 1; i >= 0; i-- {
		if uri, ok := t.stack[i].decl[n.Space]; ok {
			return uri, true
		}
	}
	return "", n.Space == ""
}

// pop closes the innermost element. It returns an error if the end tag does not match the start tag. The scope stays
// readable until the next token.
func (t *tokens) pop(e xml.EndElement) error {
	if len(t.stack) == 0 || t.stack[len(t.stack)-1].name != e.Name {
		return t.errorf("end tag %s matches no start tag", qualified(e.Name))
	}
	t.stack = t.stack[:len(t.stack)-1]
	return nil
}

// declares reports whether an attribute declares a namespace prefix.
func declares(n xml.Name) (prefix string, ok bool) {
	if n.Space == "xmlns" {
		return n.Local, true
	}
	return "", n.Space == "" && n.Local == "xmlns"
}

// checkDeclaration checks the constraints of Namespaces in XML 1.0, section 3.
func checkDeclaration(prefix, uri string) error {
	switch {
	case prefix == "xmlns", uri == xmlnsURI:
		return errors.New("the prefix xmlns must not be declared")
	case (prefix == "xml") != (uri == xmlURI):
		return fmt.Errorf("prefix %q must not be bound to %.80q", prefix, uri)
	case uri == "" && prefix != "":
		return fmt.Errorf("prefix %q is bound to nothing", prefix)
	}
	return nil
}

// badName reports whether a name has a colon that encoding/xml left in it, is empty, or has the prefix xmlns at a place
// where it is not allowed.
func badName(n xml.Name) bool {
	return n.Local == "" || n.Space == "xmlns" || strings.ContainsRune(n.Local, ':')
}

// qualified returns a name with its prefix, in the form of the text.
func qualified(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// copyElement appends the element that start opened, up to its end, in canonical form: double quotes, references only
// where needed, no CDATA, no comments. Its start tag repeats the namespace declarations in inherit. If check is not
// nil, copyElement calls it for every start tag; an error from check ends the copy.
func (t *tokens) copyElement(b []byte, start xml.StartElement, inherit []xml.Attr,
	check func(xml.StartElement) error) ([]byte, error) {
	depth := 0
	var tok xml.Token = start
	open := false // whether the start tag still lacks its ">"
	for {
		switch tok := tok.(type) {
		case xml.StartElement:
			if check != nil {
				if err := check(tok); err != nil {
					return b, err
				}
			}
			b = appendStart(closeStart(b, open), tok, inherit)
			inherit, open = nil, true
			depth++
		case xml.EndElement:
			b, open = appendEnd(b, tok, open), false
			if depth--; depth == 0 {
				return b, nil
			}
		case xml.CharData:
			if len(tok) > 0 { // an empty CDATA section
				b, open = xmltext.Text(closeStart(b, open), string(tok)), false
			}
		}
		var err error
		if tok, err = t.next(); err != nil {
			return b, err
		}
	}
}

// closeStart ends the previous start tag if it is open.
func closeStart(b []byte, open bool) []byte {
	if open {
		b = append(b, '>')
	}
	return b
}

// appendStart appends a start tag without its ">". It adds the namespace declarations in inherit that the tag does not
// have.
func appendStart(b []byte, e xml.StartElement, inherit []xml.Attr) []byte {
	b = append(append(b, '<'), qualified(e.Name)...)
	for _, a := range e.Attr {
		b = xmltext.Attr(b, qualified(a.Name), a.Value)
	}
	for _, in := range inherit {
		if !hasAttr(e, in.Name) {
			b = xmltext.Attr(b, qualified(in.Name), in.Value)
		}
	}
	return b
}

// hasAttr reports whether a start tag has an attribute.
func hasAttr(e xml.StartElement, n xml.Name) bool {
	for _, a := range e.Attr {
		if a.Name == n {
			return true
		}
	}
	return false
}

// appendEnd appends an end tag, or ends the start tag with "/>" if it is still open.
func appendEnd(b []byte, e xml.EndElement, open bool) []byte {
	if open {
		return append(b, "/>"...)
	}
	b = append(append(b, "</"...), qualified(e.Name)...)
	return append(b, '>')
}
