package glf

import (
	"bytes"
	"path"
	"strconv"
	"strings"
	"time"
)

// blanks separate the words of a line: one or several.
const blanks = " \t\r\v\f"

// Parse reads a GLF. Lines end in LF or CRLF; blank ones are skipped, unknown
// ones ignored and counted; a line longer than MaxLine counts as its first
// MaxLine bytes. NULs count as blanks in data.
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

// add takes in one line that is not blank.
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

// wrapper takes in an INFO record if it is one of the wrapper's two.
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

// parseLine reads one line: a time, a keyword, and the rest.
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

// parseTime reads "2008-03-13T13:00:00Z", also with a blank for the T and
// without the Z. A blank or the end must follow.
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
