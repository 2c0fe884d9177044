package handlers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"

	"jjm"
	"jjm/split"
)

// MaxRanges is the most ranges of a list that a job file names with only_from.
const MaxRanges = 5_000_000

// maxRange is the longest line of such a list, in bytes: two numbers and an LFN.
const maxRange = 8 << 10

// Examine finds the mistakes that only the type can tell, what it has no use for,
// and those in a list of ranges that the job file names.
func Examine(h Handler, spec *jjm.Spec, site Site) jjm.Problems {
	some, _, err := chosen(spec, site)
	if err != nil {
		return jjm.Problems{{Field: "only_from", Text: err.Error()}}
	}
	problems := append(h.Check(some, site), Fits(spec.Type, h.Describe(), some)...)
	if len(problems) > 0 {
		return problems
	}
	if problems := checkAlong(h, some, site); len(problems) > 0 {
		return problems
	}
	return checkSerials(h, some, site)
}

// SplitBy is h.Split for a job file that may name a list of ranges.
func SplitBy(h Handler, spec *jjm.Spec, site Site) (Cutting, error) {
	some, pieces, err := chosen(spec, site)
	if err != nil {
		return Cutting{}, jjm.Errorf(jjm.Invalid, "only_from: %w", err)
	}
	cut, err := h.Split(some, site)
	if err == nil && pieces != nil {
		cut.Params.Pieces = pieces
	}
	return cut, err
}

// chosen returns a job file with the ranges of its list as if they stood in it;
// pieces of files are for the splitter.
func chosen(spec *jjm.Spec, site Site) (*jjm.Spec, []split.Piece, error) {
	if spec.OnlyFrom == "" {
		return spec, nil, nil
	}
	reads := spec.Master() != nil // not by the description: a program that is gone describes nothing
	if reads && (spec.Split == nil || spec.Split.By != split.Pieces) {
		return nil, nil, jjm.Errorf(jjm.Invalid, "of files it names pieces: want by = %q in [split]", split.Pieces)
	}
	pieces, err := site.ReadRanges(spec.OnlyFrom, reads)
	if err != nil || reads {
		return spec, pieces, err
	}
	some := *spec
	some.OnlyFrom, some.Only = "", make([]jjm.Span, len(pieces))
	for i, p := range pieces {
		some.Only[i] = jjm.Span{First: p.First, Count: p.Count}
	}
	return &some, nil, nil
}

// ReadRanges reads a list of ranges through the site: FIRST COUNT in each line, and
// with files FIRST COUNT LFN. Whether the ranges make sense is the splitter's to
// say.
func (s Site) ReadRanges(path string, files bool) (list []split.Piece, err error) {
	if s.Open == nil {
		return nil, jjm.Errorf(jjm.Invalid, "%q cannot be read here", path)
	}
	f, err := s.Open(path)
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "open %q: %w", path, err)
	}
	defer func() {
		if e := f.Close(); e != nil && err == nil {
			err = jjm.Errorf(jjm.Busy, "close %q: %w", path, e)
		}
	}()
	lines := bufio.NewScanner(io.LimitReader(f, MaxRanges*maxRange))
	lines.Buffer(make([]byte, 0, 4096), maxRange)
	for n := 1; lines.Scan(); n++ {
		p, ok := parseRange(lines.Bytes(), files)
		switch {
		case !ok && files:
			return nil, jjm.Errorf(jjm.Invalid, "%s:%d: %.80q: want FIRST COUNT LFN", path, n, lines.Bytes())
		case !ok:
			return nil, jjm.Errorf(jjm.Invalid, "%s:%d: %.80q: want FIRST COUNT", path, n, lines.Bytes())
		case len(list) == MaxRanges:
			return nil, jjm.Errorf(jjm.Invalid, "%q has more than %d ranges: make several of it", path, MaxRanges)
		}
		if last := len(list) - 1; last >= 0 && list[last].LFN == p.LFN {
			p.LFN = list[last].LFN // one text for all
		}
		list = append(list, p)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, jjm.Errorf(jjm.Invalid, "%s:%d: the line is longer than %d bytes", path, len(list)+1, maxRange)
	}
	if err := lines.Err(); err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "read %q: %w", path, err)
	}
	if len(list) == 0 {
		return nil, jjm.Errorf(jjm.Invalid, "%q has no ranges", path)
	}
	return list, nil
}

// parseRange reads a line.
func parseRange(line []byte, files bool) (p split.Piece, ok bool) {
	first, rest, ok1 := bytes.Cut(line, []byte(" "))
	count, lfn, ok2 := bytes.Cut(rest, []byte(" "))
	var err1, err2 error
	p.First, err1 = strconv.ParseInt(string(first), 10, 64)
	p.Count, err2 = strconv.ParseInt(string(count), 10, 64)
	p.LFN = string(lfn)
	return p, ok1 && ok2 == files && err1 == nil && err2 == nil && (p.LFN != "") == files
}
