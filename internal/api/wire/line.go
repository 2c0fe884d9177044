package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"jjm/internal/jjm"
)

// MaxAnswer is the longest answer line that a client accepts, in bytes. The status of 100 000 local jobs takes about 50
// MB.
const MaxAnswer = 256 << 20

// ReadLine reads one line from r and returns it without its newline. If grow is not nil, ReadLine calls it before the
// line takes more memory, with the number of further bytes. If grow returns an error, ReadLine returns this error.
//
//	what r holds                   | error
//	a line of at most max bytes    | none
//	a longer line                  | kind Invalid, returned before the rest is read
//	text without a newline         | kind Invalid, wraps [io.ErrUnexpectedEOF]
//	nothing                        | [io.EOF] itself
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

// Line returns v as one line of JSON, with the newline.
func Line(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, jjm.Errorf(jjm.Internal, "encode a line: %w", err)
	}
	return b.Bytes(), nil
}
