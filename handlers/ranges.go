package handlers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"

	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// MaxRanges is the largest number of ranges in a list that a job file names with only_from.
const MaxRanges = 5_000_000

// maxRange is the largest length of a line in such a list, in bytes: two numbers and an LFN.
const maxRange = 8 << 10

// Examine returns the problems of a job file that depend on its type: problems with its list of ranges, from Check and
// Fits, with retry.on_exit, with secondary datasets, and with serial numbers. If an earlier check finds problems, later
// checks may be skipped.
func Examine(h Handler, spec *jjm.Spec, site Site) jjm.Problems {
	some, _, err := withRanges(spec, site)
	if err != nil {
		return jjm.Problems{{Field: "only_from", Text: err.Error()}}
	}
	problems := append(h.Check(some, site), Fits(spec.Type, h.Describe(), some)...)
	if problems = append(problems, checkRetry(h, some)...); len(problems) > 0 {
		return problems
	}
	if problems := checkSecondary(h, some, site); len(problems) > 0 {
		return problems
	}
	return checkSerials(h, some, site)
}

// SplitBy calls h.Split for a job file that may name a list of ranges (only_from). Ranges of events or rows are passed
// to Split as Only. Pieces of files are added to the parameters of the splitter. The error is of kind Invalid if the
// list cannot be read.
func SplitBy(h Handler, spec *jjm.Spec, site Site) (Cutting, error) {
	some, pieces, err := withRanges(spec, site)
	if err != nil {
		return Cutting{}, jjm.Errorf(jjm.Invalid, "only_from: %w", err)
	}
	cut, err := h.Split(some, site)
	if err == nil && pieces != nil {
		cut.Params.Pieces = pieces
	}
	return cut, err
}

// withRanges reads the list of ranges that a job file names. Ranges of events and rows are returned as Only in a copy
// of the job file. Pieces of files are returned separately, for the splitter.
func withRanges(spec *jjm.Spec, site Site) (*jjm.Spec, []split.Piece, error) {
	if spec.OnlyFrom == "" {
		return spec, nil, nil
	}
	reads := spec.Master() != nil // the description may be missing, so it is not used here
	if reads && (spec.Split == nil || spec.Split.By != split.Pieces) {
		return nil, nil, jjm.Errorf(jjm.Invalid, "for files it lists pieces: want by = %q in [split]", split.Pieces)
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

// ReadRanges reads a list of ranges through the site: FIRST COUNT on each line, or FIRST COUNT LFN if files is set. The
// splitter checks whether the ranges are plausible. The error is of kind Invalid if the file cannot be read, has a line
// of another form, has no ranges, or has more than MaxRanges ranges.
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
			return nil, jjm.Errorf(jjm.Invalid, "%q has more than %d ranges: split it into several lists", path, MaxRanges)
		}
		if last := len(list) - 1; last >= 0 && list[last].LFN == p.LFN {
			p.LFN = list[last].LFN // shares the string, because a list may have millions of ranges
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

// parseRange parses a line of a list of ranges. A line has an LFN if and only if files is set.
func parseRange(line []byte, files bool) (p split.Piece, ok bool) {
	first, rest, ok1 := bytes.Cut(line, []byte(" "))
	count, lfn, ok2 := bytes.Cut(rest, []byte(" "))
	var err1, err2 error
	p.First, err1 = strconv.ParseInt(string(first), 10, 64)
	p.Count, err2 = strconv.ParseInt(string(count), 10, 64)
	p.LFN = string(lfn)
	return p, ok1 && ok2 == files && err1 == nil && err2 == nil && (p.LFN != "") == files
}
