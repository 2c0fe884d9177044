package handlers_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// lists returns a site whose inputs are these texts.
func lists(texts map[string]string) handlers.Site {
	return handlers.Site{Open: func(path string) (io.ReadCloser, error) {
		text, ok := texts[path]
		if !ok {
			return nil, jjm.Errorf(jjm.Gone, "no such file")
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

func TestReadRanges(t *testing.T) {
	site := lists(map[string]string{"events": "0 5\n10 1\n", "files": "0 -1 a b\n5 5 c\n10 2 c\n", "empty": "",
		"long": "0 1 " + strings.Repeat("x", 9000) + "\n"})
	for _, c := range []struct {
		path  string
		files bool
		want  []split.Piece
		err   string
	}{
		{"events", false, []split.Piece{{First: 0, Count: 5}, {First: 10, Count: 1}}, ""},
		{"files", true, []split.Piece{{LFN: "a b", Count: -1}, {LFN: "c", First: 5, Count: 5},
			{LFN: "c", First: 10, Count: 2}}, ""},
		{"events", true, nil, "events:1: \"0 5\": want FIRST COUNT LFN"},
		{"files", false, nil, "files:1: \"0 -1 a b\": want FIRST COUNT"},
		{"empty", false, nil, "has no ranges"},
		{"long", true, nil, "long:1: the line is longer than"},
		{"nowhere", true, nil, "no such file"},
	} {
		got, err := site.ReadRanges(c.path, c.files)
		if diff := cmp.Diff(c.want, got); diff != "" || c.err == "" && err != nil || c.err != "" &&
			(jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s, files %v: %v\n%s", c.path, c.files, err, diff)
		}
	}
}

// If a file lists ranges, the work is cut in the same way as if the job file contained these ranges. An error in the
// file names the file.
func TestSplitBy_AListEqualsRangesInTheJobFile(t *testing.T) {
	h := plainType{}
	site := lists(map[string]string{"list": "2 3\n8 1\n", "backwards": "8 1\n2 3\n"})
	spec := &jjm.Spec{Type: h.Type(), OnlyFrom: "list"}
	if ps := handlers.Examine(h, spec, site); ps != nil {
		t.Fatal(ps.Err())
	}
	got, err := handlers.SplitBy(h, spec, site)
	if diff := cmp.Diff([]jjm.Span{{First: 2, Count: 3}, {First: 8, Count: 1}}, got.Work.Only); err != nil || diff != "" ||
		got.Jobs != 4 {
		t.Errorf("%v %d jobs\n%s", err, got.Jobs, diff)
	}
	if spec.Only != nil || spec.OnlyFrom == "" {
		t.Errorf("the specification changed: %+v", spec)
	}
	if ps := handlers.Examine(h, &jjm.Spec{Type: h.Type(), OnlyFrom: "backwards"}, site); len(ps) != 1 ||
		ps[0].Field != "only" {
		t.Errorf("%v", ps)
	}
	if ps := handlers.Examine(h, &jjm.Spec{Type: h.Type(), OnlyFrom: "nowhere"}, site); len(ps) != 1 ||
		ps[0].Field != "only_from" {
		t.Errorf("%v", ps)
	}
	files := readingType{}
	spec = &jjm.Spec{Type: files.Type(), OnlyFrom: "pieces", Datasets: []jjm.DatasetInput{{Name: "raw"}}}
	site = lists(map[string]string{"pieces": "0 5 a\n"})
	if ps := handlers.Examine(files, spec, site); len(ps) != 1 || !strings.Contains(ps[0].Text, `by = "Pieces"`) {
		t.Errorf("%v", ps)
	}
	spec.Split = &jjm.Splitting{By: split.Pieces}
	got, err = handlers.SplitBy(files, spec, site)
	if diff := cmp.Diff([]split.Piece{{LFN: "a", Count: 5}}, got.Params.Pieces); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// plainType is a job type whose work is always ten rows.
type plainType struct{}

func (plainType) Type() string                   { return "plain" }
func (plainType) Describe() handlers.Description { return handlers.Description{} }
func (h plainType) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	_, ps := h.cut(spec, site)
	return ps
}

func (h plainType) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	c, ps := h.cut(spec, site)
	return c, ps.Err()
}

func (plainType) cut(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, jjm.Problems) {
	return site.Cut(handlers.Cutting{Splitter: split.ByRows,
		Work: split.Work{Rows: make([][]string, 10), Only: spec.Only}}, "x", "y")
}

func (plainType) Command(*jjm.Spec, *jjm.LocalJob) (handlers.Command, error) {
	return handlers.Command{}, nil
}

// readingType is a type that reads a dataset.
type readingType struct{ plainType }

func (readingType) Type() string                                { return "reading" }
func (readingType) Describe() handlers.Description              { return handlers.Description{Reads: true} }
func (readingType) Check(*jjm.Spec, handlers.Site) jjm.Problems { return nil }
func (readingType) Split(spec *jjm.Spec, _ handlers.Site) (handlers.Cutting, error) {
	name, p, ps := handlers.SplitOf(spec, split.FileBased, nil)
	return handlers.Cutting{Splitter: name, Params: p}, ps.Err()
}
