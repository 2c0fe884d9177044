package handlers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// The limits of a file of rows, in bytes.
const (
	MaxRowsFile = 64 << 20
	MaxRow      = 64 << 10
)

// ReadRows reads a file of rows through the site: one row on each line, with words separated by blanks. Double quotes
// keep blanks in a word, and within quotes a backslash escapes the next character. Empty lines and lines that start
// with # are ignored. ReadRows returns at most limit+1 rows: the extra row shows the caller that the file exceeds the
// limit. The error is of kind Invalid if the file cannot be read, is too large, or has a bad line.
func (s Site) ReadRows(path string, limit int) (rows [][]string, err error) {
	if s.Open == nil {
		return nil, jjm.Errorf(jjm.Invalid, "%q cannot be read here: write the rows in the job file", path)
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
	lines := bufio.NewScanner(io.LimitReader(f, MaxRowsFile+1))
	lines.Buffer(make([]byte, 0, 4096), MaxRow)
	read := 0
	for n := 1; lines.Scan() && len(rows) <= limit; n++ {
		if read += len(lines.Bytes()) + 1; read > MaxRowsFile {
			return nil, jjm.Errorf(jjm.Invalid, "%q is too large: at most %d bytes", path, MaxRowsFile)
		}
		row, err := splitRow(lines.Bytes())
		if err != nil {
			return nil, jjm.Errorf(jjm.Invalid, "%s:%d: %w", path, n, err)
		}
		if row != nil {
			rows = append(rows, row)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, jjm.Errorf(jjm.Invalid, "%q: a line is longer than %d bytes", path, MaxRow)
	}
	if err := lines.Err(); err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "read %q: %w", path, err)
	}
	return rows, nil
}

// splitRow returns the words of a line, nil if the line has none.
func splitRow(line []byte) ([]string, error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return nil, nil
	}
	if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
		return nil, fmt.Errorf("not text: want UTF-8 without NUL")
	}
	var row []string
	var word strings.Builder
	inWord, quoted := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			quoted, inWord = !quoted, true
		case quoted && c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case !quoted && (c == ' ' || c == '\t'):
			if inWord {
				row = append(row, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("a double quote is never closed")
	}
	if inWord {
		row = append(row, word.String())
	}
	return row, nil
}
