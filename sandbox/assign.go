package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"jjm/internal/jjm"
)

// Assignment contains the command and the files of the attempt at one position of a bulk, for the wrapper.
type Assignment struct {
	Grid    jjm.GridID `json:"grid"`
	Local   int32      `json:"local"`
	Attempt int32      `json:"attempt"`
	// Argv, Env, Outputs, Required and Optional are the command that the job type returned for the part (see
	// handlers.Command).
	Argv     []string          `json:"argv"`
	Env      map[string]string `json:"env,omitempty"`
	Outputs  []string          `json:"outputs,omitempty"`
	Required []string          `json:"outputs_required,omitempty"`
	Optional []string          `json:"outputs_optional,omitempty"`
	// Analyse is the command that judges the attempt. It runs in the job's directory after the application has ended;
	// empty if there is none.
	Analyse []string `json:"analyse,omitempty"`
	// RetryArgs become GBS_RETRY_ARG_1 and so on, from the second attempt on.
	RetryArgs []string `json:"retry_args,omitempty"`
	Part      jjm.Part `json:"part"`
	// Merge is set if the local job merges the outputs of other local jobs. Such a job reports its end by its exit code,
	// and only the files in its own Outputs are collected.
	Merge bool `json:"merge,omitempty"`
	// Log is set if a log of the attempt is one of the outputs.
	Log bool `json:"log,omitempty"`
	// Given are those files of the part that local jobs of this site have made. In is an absolute folder; the command and
	// the part name these files by paths below it.
	Given []Given `json:"given,omitempty"`
	In    string  `json:"in,omitempty"`
}

// AttemptID returns the id of the attempt in the assignment.
func (s *Assignment) AttemptID() jjm.AttemptID {
	return jjm.AttemptID{LocalID: jjm.LocalID{Grid: s.Grid, N: s.Local}, Attempt: s.Attempt}
}

// The assign file has three parts:
//
//	1 JSON line     the header
//	n offset lines  offsetDigits and a newline each
//	n JSON lines    the assignments, by position
//
// The offset of a position is the end of its JSON line, counted from the first JSON line. A wrapper therefore reads
// three small pieces of a file with thousands of positions.
const (
	offsetDigits = 12
	offsetLine   = offsetDigits + 1
	maxHeader    = 512
)

// MaxAssignment is the longest assignment of one local job, in bytes of its line.
const MaxAssignment = 4 << 20

// Rough returns the approximate length of the assignment as JSON, in bytes. It does not count the characters that JSON
// adds to escape others.
func (s *Assignment) Rough() int {
	rough := 0
	for _, w := range slices.Concat(s.Argv, s.Analyse, s.RetryArgs) {
		rough += len(w) + 4
	}
	for name, value := range s.Env {
		rough += len(name) + len(value) + 6
	}
	if in := s.Part.Input; in != nil {
		for _, f := range in.Files {
			rough += len(f) + 4
		}
		rough += 64 * (len(in.Events) + len(in.Lumis))
		if in.More != nil {
			rough += 4096 * (len(in.More.Parents) + len(in.More.Secondary)) // 4096 bytes is the longest LFN
		}
	}
	for _, files := range s.Part.Streams {
		for _, f := range files {
			rough += len(f) + 4
		}
	}
	for _, w := range s.Part.Args {
		rough += len(w) + 4
	}
	for _, g := range s.Given {
		rough += len(g.Link) + len(g.Path) + 48
	}
	return rough
}

// TooLong reports whether an assignment cannot be written because its line would be longer than MaxAssignment.
func (s *Assignment) TooLong() bool {
	if s.Rough() < MaxAssignment/8 { // JSON encodes one byte in at most six bytes
		return false
	}
	line, err := json.Marshal(s)
	return err == nil && len(line) >= MaxAssignment
}

// assignHeader is the first line of an assign file. N is the number of assignments.
type assignHeader struct {
	Version int     `json:"v"`
	Tag     jjm.Tag `json:"tag"`
	N       int     `json:"n"`
}

func assignFile(tag jjm.Tag) string { return BulkDir(tag) + "/assign" }

// WriteAssignment creates the folders of a bulk and writes its assign file. as[i] is the assignment of position i.
func (a *Area) WriteAssignment(tag jjm.Tag, as []Assignment) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	head, body, err := encodeAssignments(tag, as)
	if err != nil {
		return err
	}
	if err := a.makeBulk(tag); err != nil {
		return err
	}
	err = a.replace(assignFile(tag), fileMode, syncNamed, buffered(func(w *bufio.Writer) error {
		if _, err := w.Write(head); err != nil {
			return err
		}
		_, err := w.Write(body)
		return err
	}))
	if err != nil {
		return a.wrap(err, "write %s", assignFile(tag))
	}
	return a.wrap(a.syncDir("bulks"), "sync bulks")
}

// encodeAssignments returns the header and the offset lines as head, and the JSON lines as body.
func encodeAssignments(tag jjm.Tag, as []Assignment) (head, body []byte, err error) {
	head, err = json.Marshal(assignHeader{Version: 1, Tag: tag, N: len(as)})
	if err != nil {
		return nil, nil, wrap(err, "encode assignment header of bulk %s", tag)
	}
	head = append(head, '\n')
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for i := range as {
		start := buf.Len()
		if err := enc.Encode(&as[i]); err != nil {
			return nil, nil, wrap(err, "encode assignment %d of bulk %s", i, tag)
		}
		if buf.Len()-start > MaxAssignment {
			return nil, nil, jjm.Errorf(jjm.Invalid,
				"sandbox: assignment %d of bulk %s (local job %s) is longer than %d bytes: shorten its command line or environment",
				i, tag, as[i].AttemptID().LocalID, MaxAssignment)
		}
		head = fmt.Appendf(head, "%0*d\n", offsetDigits, buf.Len())
	}
	return head, buf.Bytes(), nil
}

// ReadAssignment returns the assignment of one position without reading the other assignments. The error is of kind
// Invalid if the tag or the position is invalid, or if the assign file is damaged.
func (a *Area) ReadAssignment(tag jjm.Tag, pos int32) (Assignment, error) {
	if err := checkTag(tag); err != nil {
		return Assignment{}, err
	}
	line, err := a.assignmentLine(tag, pos)
	if err != nil {
		return Assignment{}, a.wrap(err, "read %s, position %d", assignFile(tag), pos)
	}
	var s Assignment
	if err := json.Unmarshal(line, &s); err != nil {
		return s, jjm.Errorf(jjm.Invalid, "sandbox: decode %s, position %d: %w", assignFile(tag), pos, err)
	}
	return s, nil
}

// assignmentLine returns the JSON line of a position.
func (a *Area) assignmentLine(tag jjm.Tag, pos int32) ([]byte, error) {
	f, _, err := a.openRegular(assignFile(tag))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, size, err := readHeader(f)
	switch {
	case err != nil:
		return nil, err
	case h.Tag != tag:
		return nil, jjm.Errorf(jjm.Invalid, "the file is about bulk %.20q", string(h.Tag))
	case pos < 0 || int(pos) >= h.N:
		return nil, jjm.Errorf(jjm.Invalid, "the bulk has positions 0 to %d", h.N-1)
	}
	from, to, err := readSpan(f, size, int64(pos))
	if err != nil {
		return nil, err
	}
	line := make([]byte, to-from)
	body := size + int64(h.N)*offsetLine
	if _, err := f.ReadAt(line, body+from); err != nil {
		return nil, short(err)
	}
	return line, nil
}

// readHeader reads the header line; size is its length with the newline.
func readHeader(f io.ReaderAt) (h assignHeader, size int64, err error) {
	buf := make([]byte, maxHeader)
	n, err := f.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return h, 0, err
	}
	line, _, found := bytes.Cut(buf[:n], []byte("\n"))
	if !found {
		return h, 0, jjm.Errorf(jjm.Invalid, "no header line")
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return h, 0, jjm.Errorf(jjm.Invalid, "header: %w", err)
	}
	if h.Version != 1 || h.N < 0 {
		return h, 0, jjm.Errorf(jjm.Invalid, "version %d of assign files is unknown", h.Version)
	}
	return h, int64(len(line)) + 1, nil
}

// readSpan returns the offsets at which the JSON line of a position begins and ends, counted from the first JSON line.
func readSpan(f io.ReaderAt, header, pos int64) (from, to int64, err error) {
	first := max(pos-1, 0)
	buf := make([]byte, (pos-first+1)*offsetLine)
	if _, err := f.ReadAt(buf, header+first*offsetLine); err != nil {
		return 0, 0, short(err)
	}
	to, err = strconv.ParseInt(string(buf[len(buf)-offsetLine:len(buf)-1]), 10, 64)
	var wrong error
	if pos > 0 {
		from, wrong = strconv.ParseInt(string(buf[:offsetDigits]), 10, 64)
	}
	if err != nil || wrong != nil || from < 0 || to < from || to-from > MaxAssignment {
		return 0, 0, jjm.Errorf(jjm.Invalid, "bad offsets")
	}
	return from, to, nil
}

// short returns the error that the file is too short if err is io.EOF, and otherwise err.
func short(err error) error {
	if errors.Is(err, io.EOF) {
		return jjm.Errorf(jjm.Invalid, "the file is cut short")
	}
	return err
}
