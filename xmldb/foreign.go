package xmldb

import "encoding/xml"

// The limits of foreign content for each grid job or local job, that is, for each element into which fragments are
// merged. If a limit is exceeded, the oldest children are removed.
const (
	// MaxChildren is the largest number of foreign children.
	MaxChildren = 200
	// MaxForeign is the largest total size of the foreign children, in bytes.
	MaxForeign = 64 << 10
	// maxShardForeign is the largest total size of the foreign children in one file, in bytes. Beyond this size, each job
	// keeps only jobFloor bytes. All jobs of a file belong to one owner, so no owner loses content because of another
	// owner.
	maxShardForeign = 16 << 20
	jobFloor        = 4 << 10
	// maxFileDepth is the largest nesting of a file on disk. libxml2 reads 256 levels.
	maxFileDepth = 100
)

// child is a foreign element in canonical form. A new child replaces an old child with the same key; key is "" if the
// element has neither name nor id.
type child struct {
	key string
	xml string
}

// foreign is the content of one of jjm's elements that another program added.
type foreign struct {
	attrs []byte // attributes as they are written: ` a="1" b="2"`
	kids  []child
	cut   bool // set if some of the content was removed, now or earlier
}

// extras is the foreign content of one file, by the path of jjm's element that contains it: "" is the root element,
// "localjob:17.3000/part" is the part of local job 17.3000. nil means that there is no foreign content.
type extras struct {
	at    map[string]*foreign
	bytes int // size of the foreign content in bytes
	cost  int // share of DB.cached in bytes
}

// get returns the content at path; nil if there is none.
func (x *extras) get(path string) *foreign {
	if x == nil {
		return nil
	}
	return x.at[path]
}

// ensure returns the content at path. It creates the content if it is missing.
func (x *extras) ensure(path string) *foreign {
	f := x.at[path]
	if f == nil {
		if x.at == nil {
			x.at = make(map[string]*foreign)
		}
		f = &foreign{}
		x.at[path] = f
	}
	return f
}

// empty reports whether there is no foreign content.
func (x *extras) empty() bool { return x == nil || len(x.at) == 0 }

// put adds a child at path, or replaces the child with the same key, and enforces the limits.
func (x *extras) put(path string, c child) {
	f := x.ensure(path)
	x.bytes += len(c.xml)
	if i := f.find(c.key); i >= 0 {
		x.bytes -= len(f.kids[i].xml)
		f.kids[i] = c
	} else {
		f.kids = append(f.kids, c)
	}
	size, limit := f.size(), MaxForeign
	if x.bytes > maxShardForeign {
		limit = jobFloor
	}
	for len(f.kids) > MaxChildren || size > limit && len(f.kids) > 0 {
		size -= len(f.kids[0].xml)
		x.dropFirst(f)
	}
}

// dropFirst removes the oldest foreign child of an element.
func (x *extras) dropFirst(f *foreign) {
	x.bytes -= len(f.kids[0].xml)
	f.kids[0] = child{}
	f.kids = f.kids[1:]
	f.cut = true
}

// find returns the index of the child with a key, or -1.
func (f *foreign) find(key string) int {
	if f == nil || key == "" {
		return -1
	}
	for i := range f.kids {
		if f.kids[i].key == key {
			return i
		}
	}
	return -1
}

// shrink removes at least n bytes of foreign content: children of the root element, the oldest first. If these are not
// enough, it removes all foreign content.
func (x *extras) shrink(n int) {
	if x == nil {
		return
	}
	want := x.bytes - n
	root := x.ensure("")
	root.cut = true
	for len(root.kids) > 0 && x.bytes > want {
		x.dropFirst(root)
	}
	if x.bytes > want {
		x.at, x.bytes = map[string]*foreign{"": {cut: true}}, 0
	}
}

// size returns the total size of the foreign children in bytes.
func (f *foreign) size() int {
	n := 0
	for i := range f.kids {
		n += len(f.kids[i].xml)
	}
	return n
}

// childKey returns the key of a foreign element: its namespace, its name, and its attribute name, or otherwise id; ""
// if it has neither attribute.
func childKey(uri string, e xml.StartElement) string {
	for _, want := range [...]string{"name", "id"} {
		for _, a := range e.Attr {
			if a.Name.Space == "" && a.Name.Local == want {
				return "{" + uri + "}" + e.Name.Local + " " + want + "=" + a.Value
			}
		}
	}
	return ""
}
