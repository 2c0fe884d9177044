package pbs

import (
	"bytes"
	"strings"

	"jjm/internal/jjm"
)

// parseJSON parses the output of "qstat -f -F json". Texts that users put into jobs can make the output invalid JSON:
// values that look like numbers, such as +5, .5 or nan, are not quoted, and backslashes are not escaped. parseJSON
// therefore reads the output line by line: PBS writes one member on each line, and newlines inside values as \n. An
// unreadable line damages only its job; the lines around jobs must be valid.
//
// Lines before the first "{" are ignored, because they are a banner of the site.
func parseJSON(text []byte) ([]raw, error) {
	p := jsonParser{}
	for line := range bytes.Lines(text) {
		if err := p.line(bytes.TrimSpace(line)); err != nil {
			return nil, err
		}
	}
	switch {
	case !p.begun:
		return nil, jjm.Errorf(jjm.Busy, "no JSON in %.100q", text)
	case !p.ended:
		return nil, jjm.Errorf(jjm.Busy, "the JSON is cut after %d jobs", len(p.jobs))
	case !p.headed:
		return nil, jjm.Errorf(jjm.Busy, "the JSON does not say which server it is from: %.100q", text)
	}
	return p.jobs, nil
}

// The levels of nesting that the parser distinguishes: the outermost object, Jobs, a job, and a group of a job.
const (
	inside = iota + 1
	inJobs
	inJob
	inGroup
)

// jsonParser is the state of parseJSON between two lines. begun is set after the first "{", ended after the last "}",
// and headed if the output named its server. depth is the level of nesting, and group the name of the group that the
// parser is in.
type jsonParser struct {
	begun, ended, headed bool
	depth                int
	jobs                 []raw
	group                string
	other                bool // whether the parser is in a member of the outermost object other than Jobs
}

// line parses one line. An unreadable line within a job marks the job as damaged; anywhere else it is an error of kind
// Busy.
func (p *jsonParser) line(l []byte) error {
	switch {
	case len(l) == 0:
		return nil
	case !p.begun:
		p.begun = string(l) == "{"
		p.depth = inside
		return nil
	case p.ended:
		return jjm.Errorf(jjm.Busy, "text after the JSON: %.100q", l)
	case l[0] == '}' || l[0] == ']':
		return p.leave(l)
	}
	key, value, ok := member(l)
	if !ok {
		if p.depth >= inJob {
			p.damage()
			return nil
		}
		return jjm.Errorf(jjm.Busy, "not JSON: %.100q", l)
	}
	if len(value) == 1 && (value[0] == '{' || value[0] == '[') {
		p.enter(key)
		return nil
	}
	p.value(key, value)
	return nil
}

// leave handles a line that ends an object.
func (p *jsonParser) leave(l []byte) error {
	if rest := bytes.TrimRight(l[1:], ","); len(rest) > 0 {
		if p.depth >= inJob {
			p.damage()
			return nil
		}
		return jjm.Errorf(jjm.Busy, "not JSON: %.100q", l)
	}
	p.depth--
	p.ended = p.depth == 0
	p.other = p.other && p.depth > inside
	return nil
}

// enter handles a line that begins an object with the given name.
func (p *jsonParser) enter(key []byte) {
	p.depth++
	switch p.depth {
	case inJobs:
		p.other = string(key) != "Jobs"
	case inJob:
		if !p.other {
			p.jobs = append(p.jobs, raw{id: string(key)})
		}
	case inGroup:
		p.group = string(key)
	}
}

// value stores a value in the latest job, if jjm reads its attribute.
func (p *jsonParser) value(key, value []byte) {
	group := ""
	switch {
	case p.depth == inside:
		p.headed = p.headed || string(key) == "pbs_server"
		return
	case p.other || p.depth < inJob || len(p.jobs) == 0:
		return
	case p.depth > inGroup:
		return
	case p.depth == inGroup:
		group = p.group
	}
	job := &p.jobs[len(p.jobs)-1]
	if into := job.field(group, key); into != nil {
		*into = unquote(value)
	}
}

// damage marks the latest job as damaged.
func (p *jsonParser) damage() {
	if len(p.jobs) > 0 {
		p.jobs[len(p.jobs)-1].damaged = true
	}
}

// member splits "key":value, and removes the comma after the value.
func member(l []byte) (key, value []byte, ok bool) {
	if l[0] != '"' {
		return nil, nil, false
	}
	end := bytes.Index(l, []byte(`":`))
	if end < 1 {
		return nil, nil, false
	}
	value = bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(l[end+2:]), []byte(",")))
	if len(value) == 0 {
		return nil, nil, false
	}
	if value[0] == '"' && (len(value) == 1 || value[len(value)-1] != '"') {
		return nil, nil, false
	}
	return l[1:end], value, true
}

var escapes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t", `\/`, "/")

// unquote returns the text of a value, whether it is quoted or not.
func unquote(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return string(v)
	}
	s := string(v[1 : len(v)-1])
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	return escapes.Replace(s)
}
