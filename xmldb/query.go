package xmldb

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/beevik/etree"

	"jjm"
	"jjm/xmldb/head"
)

// Bounds of a query.
const (
	// maxPath is the longest path, in bytes.
	maxPath = 1 << 10
	// maxAnswer bounds the text of all results, in bytes; a result counts 32
	// more for itself.
	maxAnswer = 32 << 20
	// maxTree bounds the memory of one document as a tree, in bytes.
	maxTree = 512 << 20
)

// Query evaluates a path on the published record of a grid job: on the head,
// then on each shard, as documents of their own. It is the path language of
// etree, a subset of XPath 1.0; a path may end in @name, @* or text():
//
//	//localjob[@state='failed']/@id
//	/gridjob/@status
//	//phase[@name='simulate']
//
// Elements come as XML text, attributes and text() as text, level by level
// within a document. The path "" gives the files whole. Numbers in brackets
// count within one document. Kinds: Invalid for a path that cannot be read, that climbs with ..
// and descends again, or whose answer exceeds 32 MiB; Gone if there is no
// record.
func (db *DB) Query(grid jjm.GridID, path string) ([]string, error) {
	q, err := parseQuery(path)
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "path %.200q: %w", path, err)
	}
	names, err := db.files(grid)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := db.queryFile(q, filepath.Join(grid.String(), name)); err != nil {
			return nil, jjm.Errorf(queryKind(err), "query record of grid job %d: %w", grid, err)
		}
	}
	return q.results, nil
}

func queryKind(err error) jjm.Kind {
	if errors.Is(err, errAnswer) || errors.Is(err, errTree) {
		return jjm.Invalid
	}
	return diskKind(err)
}

var errAnswer = fmt.Errorf("the answer exceeds %d MiB: narrow the path, or read the files", maxAnswer>>20)

var errTree = errors.New("too many elements for a query: read the file")

// files are the head and the shards that are there, in order.
func (db *DB) files(grid jjm.GridID) ([]string, error) {
	if _, err := db.fs.Lstat(filepath.Join(grid.String(), head.File)); err != nil {
		return nil, jjm.Errorf(diskKind(err), "query record of grid job %d: %w", grid, err)
	}
	shards, err := db.shardNames(grid)
	if err != nil {
		return nil, jjm.Errorf(diskKind(err), "query record of grid job %d: %w", grid, err)
	}
	return append([]string{head.File}, shards...), nil
}

// shardNames are the files of the shards that are there, in order.
func (db *DB) shardNames(grid jjm.GridID) ([]string, error) {
	all, err := db.entries(grid)
	if err != nil {
		return nil, err
	}
	var shards []int
	for _, name := range all {
		var n int
		if _, err := fmt.Sscanf(name, "jobs-%d.xml", &n); err == nil && name == shardFile(n) {
			shards = append(shards, n)
		}
	}
	sort.Ints(shards)
	var names []string
	for _, n := range shards {
		names = append(names, shardFile(n))
	}
	return names, nil
}

// entries are the names in the folder of a grid job.
func (db *DB) entries(grid jjm.GridID) ([]string, error) {
	d, err := db.fs.OpenFile(grid.String(), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// query is a path, and what it found so far.
type query struct {
	whole   bool // the path ""
	path    etree.Path
	attr    string // @attr at the end; "*" for all
	text    bool   // text() at the end
	root    string // the root element that the path starts with, if it says
	results []string
	size    int
}

func parseQuery(path string) (*query, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("longer than %d bytes", maxPath)
	}
	if strings.TrimSpace(path) == "" {
		return &query{whole: true}, nil
	}
	q := &query{}
	steps := splitSteps(path)
	switch last := steps[len(steps)-1]; {
	case strings.HasPrefix(last, "@"):
		q.attr = last[1:]
		if q.attr == "" || strings.ContainsAny(q.attr, "[]='\"") {
			return nil, errors.New("want the name of an attribute behind @")
		}
		steps = steps[:len(steps)-1]
	case last == "text()":
		q.text = true
		steps = steps[:len(steps)-1]
	case last == "":
		return nil, errors.New("it ends in a slash")
	}
	base := strings.Join(steps, "/")
	switch {
	case strings.Trim(base, "/") == "" && strings.HasPrefix(path, "//"):
		base = "//*" // "//@id": of any element
	case strings.Trim(base, "/") == "":
		return nil, errors.New("it names no element: begin with //, or with /gridjob or /localjobs")
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

// splitSteps splits at slashes outside quotes.
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

// checkCost refuses paths that visit the same elements again and again: etree
// does not merge them before the end, so that //../*/../*/../* takes the cube
// of the number of local jobs.
func checkCost(steps []string) error {
	climbed, deep := false, 0
	for i, s := range steps {
		switch {
		case s == "" && i > 0:
			if deep++; deep > 3 {
				return errors.New("more than three times //")
			}
			fallthrough
		case s != "" && s != "." && !strings.HasPrefix(s, ".."):
			if climbed {
				return errors.New("a step down behind .. : end the path with .., or use a condition in brackets")
			}
		case strings.HasPrefix(s, ".."):
			climbed = true
		}
	}
	return nil
}

// compile guards against paths on which etree panics.
func compile(path string) (p etree.Path, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be read: %v", r)
		}
	}()
	p, err = etree.CompilePath(path)
	if err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "etree: "))
	}
	return p, err
}

// queryFile adds the results of one file. A shard that vanished is passed over:
// the record was removed.
func (db *DB) queryFile(q *query, path string) error {
	isHead := filepath.Base(path) == head.File
	if q.root == "gridjob" && !isHead || q.root == "localjobs" && isHead {
		return nil
	}
	data, _, err := db.read(path, maxShardBytes)
	if errors.Is(err, fs.ErrNotExist) && !isHead {
		return nil
	}
	if err != nil {
		return err
	}
	if q.whole {
		return q.add(string(data))
	}
	// An element takes some 300 bytes of memory, an attribute 100: a file full
	// of <a/> is small on disk only.
	if bytes.Count(data, []byte("<"))*300+bytes.Count(data, []byte("="))*100 > maxTree {
		return fmt.Errorf("%s: %w", path, errTree)
	}
	db.queries.Lock() // one tree at a time
	defer db.queries.Unlock()
	doc := etree.NewDocument()
	if err := doc.ReadFromBytes(data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for e := range doc.FindElementsPathSeq(q.path) {
		if e == &doc.Element {
			continue // the document itself has neither name nor attributes
		}
		if err := q.addElement(e); err != nil {
			return err
		}
	}
	return nil
}

func (q *query) addElement(e *etree.Element) error {
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

func (q *query) add(s string) error {
	if q.size += len(s) + 32; q.size > maxAnswer {
		return errAnswer
	}
	q.results = append(q.results, s)
	return nil
}
