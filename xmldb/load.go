package xmldb

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"jjm/xmldb/internal/xmltext"
)

// loader reads a file and collects the foreign content in it.
type loader struct {
	t    *tokens
	x    extras
	seen map[string]bool // paths of jjm's elements that were read
}

// loadExtras parses a file and returns its foreign content, nil if there is none. root is the name of the file's root
// element, and layout describes jjm's own content. The error contains the place in the text.
func loadExtras(data []byte, root string, layout *element) (*extras, error) {
	l := loader{t: newTokens(data, maxFileDepth), seen: make(map[string]bool)}
	tok, err := l.t.next()
	if err != nil {
		return nil, err
	}
	start := tok.(xml.StartElement) // a document begins with a start element
	if uri, _ := l.t.uri(start.Name); uri != "" || start.Name.Local != root {
		return nil, l.t.errorf("root element %.40q: want %s", qualified(start.Name), root)
	}
	if err := l.element(start, layout, ""); err != nil {
		return nil, err
	}
	if _, err := l.t.next(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("text after the root element: %w", err)
	}
	if l.x.empty() {
		return nil, nil
	}
	return &l.x, nil
}

// element reads one of jjm's elements to its end.
func (l *loader) element(start xml.StartElement, e *element, path string) error {
	l.attributes(start, e, path)
	nth := 0
	for {
		tok, err := l.t.next()
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if err := l.child(tok, e, path, &nth); err != nil {
				return err
			}
		}
	}
}

// child reads a child element to its end. nth counts the children so far that jjm itself writes and that have
// no other key than their order; child increments it for such an element.
func (l *loader) child(start xml.StartElement, parent *element, path string, nth *int) error {
	uri, _ := l.t.uri(start.Name)
	if kid := parent.kids[start.Name.Local]; uri == "" && kid != nil {
		return l.own(start, kid, kidPath(path, start.Name.Local, kid.keyOf(start, nth)))
	}
	c := child{key: childKey(uri, start)}
	b, err := l.t.copyElement(nil, start, nil, nil)
	if err != nil {
		return err
	}
	c.xml = string(b)
	if l.x.get(path).find(c.key) >= 0 {
		c.key = "" // two elements with the same key were added by hand: both stay
	}
	l.x.put(path, c)
	return nil
}

// own reads one of jjm's child elements. If a child with the same path was already read, somebody copied the element by
// hand; the content of the copy is dropped, because its attributes could clash.
func (l *loader) own(start xml.StartElement, e *element, path string) error {
	if l.seen[path] {
		_, err := l.t.copyElement(nil, start, nil, nil)
		return err
	}
	l.seen[path] = true
	return l.element(start, e, path)
}

// keyOf returns the text that distinguishes a child element of jjm from its siblings of the same name, "" if there are
// no such siblings. nth is the number of children so far that are distinguished by their order.
func (e *element) keyOf(start xml.StartElement, nth *int) string {
	switch e.key {
	case "":
		return ""
	case "#":
		*nth++
		return strconv.Itoa(*nth - 1)
	}
	for _, a := range start.Attr {
		if a.Name.Space == "" && a.Name.Local == e.key {
			return a.Value
		}
	}
	return ""
}

// attributes stores the attributes of an element that do not belong to jjm.
func (l *loader) attributes(start xml.StartElement, e *element, path string) {
	for _, a := range start.Attr {
		if a.Name.Space == "" && e.owns(a.Name.Local) {
			// The mark of a text or list is set again at every writing. The mark of an element into which fragments are
			// merged concerns content that was lost earlier, so that mark must stay.
			if a.Name.Local == truncated && takesFragments(path) {
				l.x.ensure(path).cut = true
			}
			continue
		}
		f := l.x.ensure(path)
		before := len(f.attrs)
		f.attrs = xmltext.Attr(f.attrs, qualified(a.Name), a.Value)
		l.x.bytes += len(f.attrs) - before
	}
}

// kidPath returns the path of a child element of jjm, from the path of its parent, its name and its key.
func kidPath(parent, tag, key string) string {
	if parent != "" {
		tag = parent + "/" + tag
	}
	if key == "" {
		return tag
	}
	return tag + ":" + key
}

// takesFragments reports whether fragments are merged into the element at path.
func takesFragments(path string) bool {
	return path == "" || strings.HasPrefix(path, "localjob:") && !strings.Contains(path, "/")
}
