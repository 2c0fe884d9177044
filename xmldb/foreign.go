package xmldb

import "encoding/xml"

// Caps on what others may keep in a record. Per grid job or local job, that
// is, per element that fragments merge into; what exceeds them goes from the
// front.
const (
	// MaxChildren is the number of foreign children kept.
	MaxChildren = 200
	// MaxForeign is the size of the foreign children kept, in bytes.
	MaxForeign = 64 << 10
	// maxShardForeign is the size of the foreign children kept in one file;
	// beyond it, a job keeps jobFloor bytes. All jobs of a file are of one
	// owner, so nobody crowds out another.
	maxShardForeign = 16 << 20
	jobFloor        = 4 << 10
	// maxFileDepth bounds the nesting of a file on disk. libxml2 reads 256.
	maxFileDepth = 100
)

// child is a foreign element in canonical form. Key is what a newer one must
// share to take its place; "" if it has neither name nor id.
type child struct {
	key string
	xml string
}

// foreign is what others put into one element of ours.
type foreign struct {
	attrs []byte // ready to write: ` a="1" b="2"`
	kids  []child
	cut   bool // something was cut, now or earlier
}

// extras is what others put into one file, by the path of the element:
// "" is the root, "localjob:17.3000/part" a part. nil means nothing.
type extras struct {
	at    map[string]*foreign
	bytes int // of the content
	cost  int // what DB.cached counts for it
}

// get finds what belongs at path; nil if nothing does.
func (x *extras) get(path string) *foreign {
	if x == nil {
		return nil
	}
	return x.at[path]
}

// need makes room at path.
func (x *extras) need(path string) *foreign {
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

// empty reports whether a file with these extras can be written without them.
func (x *extras) empty() bool { return x == nil || len(x.at) == 0 }

// put adds a child at path, or replaces the one of the same key, and cuts to
// the caps.
func (x *extras) put(path string, c child) {
	f := x.need(path)
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

func (x *extras) dropFirst(f *foreign) {
	x.bytes -= len(f.kids[0].xml)
	f.kids[0] = child{}
	f.kids = f.kids[1:]
	f.cut = true
}

// find returns the place of the child of a key, or -1.
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

// shrink drops at least n bytes: children of the root from the front, then
// everything.
func (x *extras) shrink(n int) {
	if x == nil {
		return
	}
	want := x.bytes - n
	root := x.need("")
	root.cut = true
	for len(root.kids) > 0 && x.bytes > want {
		x.dropFirst(root)
	}
	if x.bytes > want {
		x.at, x.bytes = map[string]*foreign{"": {cut: true}}, 0
	}
}

func (f *foreign) size() int {
	n := 0
	for i := range f.kids {
		n += len(f.kids[i].xml)
	}
	return n
}

// childKey is the key of a foreign element: its namespace, name, and attribute
// name, or else id.
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
