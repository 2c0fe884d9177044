package glf

import (
	"bytes"
	"path"
	"strconv"
	"strings"
	"time"
)

// blanks are the characters that separate words.
const blanks = " \t\r\v\f"

// Parse reads a GLF. Lines end in LF or CRLF. Blank lines are skipped, unknown lines are counted, and lines are cut
// after MaxLine bytes. NULs in data become blanks.
func Parse(text []byte) Log {
	var l Log
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		if len(line) > MaxLine-1 {
			line = line[:MaxLine-1]
		}
		if len(bytes.Trim(line, blanks)) > 0 {
			l.add(string(line))
		}
	}
	return l
}

// add adds a line that is not blank to the log.
func (l *Log) add(line string) {
	l.Lines++
	r, ok := parseLine(line)
	if !ok {
		l.Bad++
		if len(l.BadLines) < maxBad {
			l.BadLines = append(l.BadLines, cut(strings.Trim(line, blanks), maxBadLine))
		}
		return
	}
	if l.First.IsZero() {
		l.First = r.Time
	}
	l.Last = r.Time
	switch {
	case Terminal(r.Keyword):
		l.Terminals = append(l.Terminals, r)
	case r.Keyword == ReturnFile && path.IsAbs(r.Data):
		l.Returns = append(l.Returns, r.Data)
	case r.Keyword == ReturnFile:
		l.Ignored = append(l.Ignored, r.Data)
	case !l.wrapper(r):
		l.Infos = append(l.Infos, r)
	}
}

// wrapper adds an INFO record to the log if it is the wrapper's start or end record, and returns true. Otherwise it
// returns false.
func (l *Log) wrapper(r Record) bool {
	words := strings.Fields(r.Data)
	if len(words) < 3 {
		return false
	}
	switch strings.Join(words[:3], " ") {
	case startWords:
		if !l.Start {
			l.Start, l.StartTime = true, r.Time
		}
		return true
	case endWords:
		for _, w := range words[3:] {
			exit, isExit := strings.CutPrefix(w, "exit=")
			if n, err := strconv.Atoi(exit); isExit && err == nil {
				l.End, l.EndTime, l.AppExit = true, r.Time, n
				return true
			}
		}
	}
	return false
}

// parseLine parses a line: a time, a keyword, and the rest. It returns false if the line is not a
// record.
func parseLine(line string) (Record, bool) {
	t, rest, ok := parseTime(strings.TrimLeft(line, blanks))
	if !ok {
		return Record{}, false
	}
	rest = strings.TrimLeft(rest, blanks)
	keyword, data := rest, ""
	if i := strings.IndexAny(rest, blanks); i >= 0 {
		keyword, data = rest[:i], rest[i:]
	}
	if !Known(keyword) {
		return Record{}, false
	}
	return Record{Time: t, Keyword: keyword, Data: strings.Trim(clean(data), blanks)}, true
}

// parseTime parses a time such as "2008-03-13T13:00:00Z" at the beginning of s. A blank instead of the T, and a missing
// Z, are accepted. A blank or the end of s must follow the time.
func parseTime(s string) (t time.Time, rest string, ok bool) {
	const form = "2006-01-02T15:04:05"
	if len(s) < len(form) || s[10] != 'T' && s[10] != ' ' && s[10] != '\t' {
		return t, "", false
	}
	t, err := time.Parse(form, s[:10]+"T"+s[11:len(form)])
	if err != nil {
		return time.Time{}, "", false
	}
	rest = strings.TrimPrefix(s[len(form):], "Z")
	if rest != "" && !strings.ContainsRune(blanks, rune(rest[0])) {
		return time.Time{}, "", false
	}
	return t, rest, true
}
