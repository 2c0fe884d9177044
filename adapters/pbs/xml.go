package pbs

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// parseXML parses the output of Torque's "qstat -x". An empty output means that there are no jobs.
func parseXML(text []byte) ([]raw, error) {
	if i := bytes.Index(text, []byte("<Data>")); i > 0 && bytes.IndexByte(text[:i], '<') < 0 {
		text = text[i:] // skip a banner of the site
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	d := xml.NewDecoder(bytes.NewReader(printable(text)))
	var jobs []raw
	var path []string
	closed := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && closed {
			return jobs, nil
		}
		if err != nil {
			return nil, jjm.Errorf(jjm.Busy, "the XML is damaged or cut after %d jobs: %w", len(jobs), err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			path = append(path, t.Name.Local)
			if len(path) == 1 && (closed || path[0] != "Data") {
				return nil, jjm.Errorf(jjm.Busy, "not a list of jobs: <%s>", path[0])
			}
			if len(path) == 2 && path[1] == "Job" {
				jobs = append(jobs, raw{})
			}
		case xml.EndElement:
			path = path[:len(path)-1]
			closed = closed || len(path) == 0
		case xml.CharData:
			if len(path) == 0 && len(bytes.TrimSpace(t)) > 0 {
				return nil, jjm.Errorf(jjm.Busy, "text after the XML: %.100q", t)
			}
			text := xmlField(jobs, path)
			if text != nil {
				*text += string(t)
			}
		}
	}
}

// xmlField returns a pointer to the field for the text at a path.
func xmlField(jobs []raw, path []string) *string {
	if len(jobs) == 0 || len(path) < 3 || len(path) > 4 || path[1] != "Job" {
		return nil
	}
	job := &jobs[len(jobs)-1]
	if len(path) == 4 {
		return job.field(path[2], []byte(path[3]))
	}
	return job.field("", []byte(path[2]))
}

// printable replaces characters that users put into jobs and that XML does not allow.
func printable(text []byte) []byte {
	bad := func(r rune) bool {
		return r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	}
	if utf8.Valid(text) && bytes.IndexFunc(text, bad) < 0 {
		return text
	}
	return bytes.Map(func(r rune) rune {
		if bad(r) {
			return '?'
		}
		return r
	}, text)
}
