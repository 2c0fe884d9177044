package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"jjm"
)

// MaxAnswer is the longest answer line a client accepts, in bytes: the status
// of 100 000 local jobs is some 50 MB.
const MaxAnswer = 256 << 20

// ReadLine reads one line from r, without its newline. A line of more than max
// bytes is an error of kind Invalid, found without reading further; input that
// ends before the newline is one that wraps [io.ErrUnexpectedEOF], and no input
// at all is plain [io.EOF]. Before the line is held in more memory, grow is
// asked for that many bytes; its error ends the reading. grow may be nil.
func ReadLine(r *bufio.Reader, max int, grow func(bytes int) error) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(bytes.TrimSuffix(part, []byte("\n"))) > max {
			return nil, jjm.Errorf(jjm.Invalid, "line longer than %d bytes", max)
		}
		if grow != nil {
			if gerr := grow(len(part)); gerr != nil {
				return nil, gerr
			}
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, jjm.Errorf(jjm.Invalid, "line of %d bytes without its newline: %w", len(line), io.ErrUnexpectedEOF)
		default:
			return nil, err
		}
	}
}

// Line returns v as one line of JSON, newline included.
func Line(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, jjm.Errorf(jjm.Internal, "encode %T: %w", v, err)
	}
	return b.Bytes(), nil
}
