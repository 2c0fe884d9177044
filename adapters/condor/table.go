package condor

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// record is one job in the output of condor_q or condor_history. Times are in seconds since 1970; 0 means not defined.
type record struct {
	jobID
	tag                               jjm.Tag
	owner                             string
	status                            int
	queued, started, vacated, entered int64
	bySignal                          bool
	exit, signal                      int
	starts                            int
	hold, holdSub, lastHold           int // -1 if not defined
	overMemory                        bool
	cpu                               float64
	rssKB                             int64
	// host is the machine to which the job is attached now; lastHost is the machine of its last run.
	host, lastHost string
	// text is the reason why the job is held, pending or removed.
	text string
}

// The values of JobStatus.
const (
	idle         = 1
	running      = 2
	removed      = 3
	completed    = 4
	held         = 5
	transferring = 6 // transferring output; counts as running
	suspended    = 7
)

// parseTable parses the answer to a command of tableArgs. It ignores lines without the marks, such as a banner. It
// returns an error for an answer without the heading or without its end.
func parseTable(out []byte) (records []record, unread []adapters.Unread, err error) {
	headed := false
	if len(out) > 0 && out[len(out)-1] != '\n' {
		return nil, nil, fmt.Errorf("cut off after %.200q", out[max(0, len(out)-200):])
	}
	rest := string(out)
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		if !strings.Contains(line, markBegin) && !strings.Contains(line, markEnd) {
			continue
		}
		fields := strings.Split(line, "\t")
		if !headed {
			if !isHeading(fields) {
				return nil, nil, fmt.Errorf("a job before the heading: %.200q", line)
			}
			headed = true
			continue
		}
		r, err := parseRecord(fields)
		switch {
		case err != nil && rest == "" && !strings.Contains(line, markEnd):
			return nil, nil, fmt.Errorf("cut off in %.300q", line)
		case err != nil:
			unread = append(unread, unreadRecord(fields, fmt.Sprintf("%v in %.300q", err, line)))
		default:
			records = append(records, r)
		}
	}
	if !headed {
		return nil, nil, fmt.Errorf("no heading in the answer %.200q", bytes.TrimSpace(out))
	}
	return records, unread, nil
}

// unreadRecord returns the Unread for a record that cannot be parsed, with its tag and the id of its bulk if these can
// be parsed.
func unreadRecord(fields []string, text string) adapters.Unread {
	const clusterAt, tagAt = 1, 5 // indices of columns
	u := adapters.Unread{Index: -1, Text: text}
	if len(fields) != len(columns) {
		return u
	}
	if tag := jjm.Tag(unquote(fields[tagAt])); tag.Valid() {
		u.Tag = tag
	}
	if n, err := strconv.ParseUint(strings.TrimSpace(fields[clusterAt]), 10, 63); err == nil {
		u.ID = strconv.FormatUint(n, 10)
	}
	return u
}

func isHeading(fields []string) bool {
	if len(fields) != len(columns) {
		return false
	}
	for i, f := range fields {
		if strings.TrimSpace(f) != columns[i] {
			return false
		}
	}
	return true
}

// parseRecord parses one job. Its free text may contain tabs.
func parseRecord(fields []string) (record, error) {
	n := len(columns)
	if len(fields) < n || fields[0] != markBegin || strings.TrimSpace(fields[len(fields)-1]) != markEnd {
		return record{}, fmt.Errorf("%d fields, want %d between %s and %s", len(fields), n, markBegin, markEnd)
	}
	p := &fieldReader{fields: fields[1 : n-2]}
	r := record{jobID: jobID{cluster: p.required(), proc: int32(p.required())}, status: int(p.required())}
	r.owner, r.tag = p.text(), jjm.Tag(p.text())
	r.queued, r.started, r.vacated, r.entered = p.number(0), p.number(0), p.number(0), p.number(0)
	r.bySignal = p.next() == "true"
	r.exit, r.signal, r.starts = int(p.number(0)), int(p.number(0)), int(p.number(0))
	r.hold, r.holdSub, r.lastHold = int(p.number(-1)), int(p.number(-1)), int(p.number(-1))
	r.overMemory = p.next() == "true"
	r.cpu = p.real() + p.real()
	r.rssKB = p.number(0)
	r.host, r.lastHost = machine(p.text()), machine(p.text())
	r.text = strings.TrimSpace(unquote(strings.Join(fields[n-2:len(fields)-1], "\t")))
	switch {
	case p.err != nil:
		return record{}, p.err
	case r.cluster < 0 || r.proc < 0:
		return record{}, fmt.Errorf("job %v", r.jobID)
	case r.status < idle || r.status > suspended:
		return record{}, fmt.Errorf("JobStatus %d", r.status)
	}
	return r, nil
}

// fieldReader reads fields one by one and keeps the first error.
type fieldReader struct {
	fields []string
	err    error
}

func (p *fieldReader) next() string {
	f := strings.TrimRight(p.fields[0], " ")
	p.fields = p.fields[1:]
	return f
}

// required returns a whole number. It sets err if the field has none.
func (p *fieldReader) required() int64 {
	f := p.next()
	n, err := strconv.ParseInt(f, 10, 32)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("%.40q: want a number", f)
	}
	return n
}

// number returns a whole number, or the argument none if the field is not defined. Some attributes are real numbers in
// some versions.
func (p *fieldReader) number(none int64) int64 {
	f := p.next()
	if f == "undefined" || f == "error" {
		return none
	}
	if n, err := strconv.ParseInt(f, 10, 64); err == nil {
		return n
	}
	v, err := strconv.ParseFloat(f, 64)
	if err != nil || math.IsNaN(v) || math.Abs(v) > 1<<53 {
		if p.err == nil {
			p.err = fmt.Errorf("%.40q: want a number", f)
		}
		return none
	}
	return int64(v)
}

// real reads a number of seconds. It returns 0 for any other text.
func (p *fieldReader) real() float64 {
	v, err := strconv.ParseFloat(p.next(), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1<<40 {
		return 0
	}
	return v
}

func (p *fieldReader) text() string { return unquote(p.next()) }

// unquote returns the text of a printed string, or "" if f is not a string. Only quotes are escaped, because HTCondor
// prints strings in the old syntax of ClassAds.
func unquote(f string) string {
	f = strings.TrimRight(f, " ")
	if len(f) < 2 || f[0] != '"' || f[len(f)-1] != '"' {
		return ""
	}
	return strings.ToValidUTF8(strings.ReplaceAll(f[1:len(f)-1], `\"`, `"`), "?")
}

// machine returns the host of a slot: "slot1_4@host" -> "host".
func machine(slot string) string {
	if _, host, ok := strings.Cut(slot, "@"); ok {
		return host
	}
	return slot
}
