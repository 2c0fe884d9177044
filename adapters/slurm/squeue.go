package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// squeueFields are the columns that squeue prints (squeue(1), option -O). The name comes near the end, between marks of
// its own, because the names of other users' jobs may contain anything, even newlines. If this version of Slurm does
// not know a field, it drops the column and reports that on standard error. If there are no jobs, the line with the
// names of the columns still shows that squeue answered.
const squeueFields = "JobID:.|,ArrayJobID:.|,ArrayTaskID:.|,State:.|,exit_code:.|,RestartCnt:.|," +
	"SubmitTime:.|,StartTime:.|,EndTime:.|,BatchHost:.|,Name:.|n|,Reason:.|r|"

// squeueLead is the number of fields before the name.
const squeueLead = 10

// row is one of our jobs in the output of squeue.
type row struct {
	tag    jjm.Tag
	array  string
	index  int32 // -1 for a job outside of arrays, or for an array's jobs without own records
	state  jjm.BatchState
	status int // wait status as in wait(2)
	// split is set if the job has left the record of its array and has a separate id.
	split              bool
	restarts           int
	submit, start, end jjm.Time
	host, reason       string
	word               string // text of the state if jjm does not know that state, otherwise ""
}

func jobID(array string, index int32) string { return array + "_" + strconv.Itoa(int(index)) }

// parseSqueue parses the output of squeue with squeueFields. It omits jobs whose name is not a tag. unread are the
// records that cannot be parsed. parseSqueue returns an error if the beginning or the end of the output is missing.
func parseSqueue(text string) (rows []row, unread []adapters.Unread, err error) {
	head, text, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(head, "JOBID|") || strings.Count(head, "|") != strings.Count(squeueFields, "|") ||
		!strings.HasSuffix(head, "|NAME|n|REASON|r|") {
		return nil, nil, fmt.Errorf("the output begins with %.200q, not with the names of the columns", head)
	}
	for n := 1; text != ""; n++ {
		record, rest, whole := strings.Cut(text, "|r|\n")
		if !whole {
			return nil, nil, fmt.Errorf("record %d: %.80q has no end", n, text)
		}
		text = rest
		r, ours, err := parseRecord(record)
		before, damaged, last, joined := split(record)
		// A line end after too few fields is not part of a job's name: the text after it is a separate record.
		if joined && (err != nil || !ours && (damaged.tag.Valid() || strings.Count(before, "|") < squeueLead)) {
			r, ours, err = last, true, nil
			unread = append(unread, damaged.unread(n, before, noRecord(before)))
		}
		switch {
		case err != nil:
			unread = append(unread, r.unread(n, record, err.Error()))
		case ours:
			rows = append(rows, r)
		}
	}
	return rows, unread, nil
}

// unread describes the n-th record of an output as unreadable. why is the reason.
func (r row) unread(n int, record, why string) adapters.Unread {
	return adapters.Unread{Tag: r.tag, ID: r.array, Index: -1,
		Text: fmt.Sprintf("squeue: record %d: %.200q: %s", n, record, why)}
}

// noRecord returns what is wrong with a text that comes before a record: either it is a record that lost its end, or,
// if it does not begin like a record, it is not a record.
func noRecord(text string) string {
	if id, _, fields := strings.Cut(text, "|"); fields && id != "" && id[0] >= '0' && id[0] <= '9' {
		return "it has no end"
	}
	return "it is no record, but stands between records"
}

// split searches the text between two ends of records for a record of a job of jjm, and returns it as last. before is
// the text in front of that record: either a record that lost its end, or a line that is not a record. damaged holds
// the readable fields of before. joined is false if the text has no such record.
func split(text string) (before string, damaged, last row, joined bool) {
	for at := strings.Index(text, "\n"); at >= 0; {
		if last, ours, err := parseRecord(text[at+1:]); ours && err == nil {
			damaged, _, _ := parseRecord(text[:at])
			return text[:at], damaged, last, true
		}
		next := strings.Index(text[at+1:], "\n")
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return "", row{}, row{}, false
}

// parseRecord parses one record; ours is false if its job does not belong to jjm. After an error, r has the fields that
// could be read.
func parseRecord(record string) (r row, ours bool, err error) {
	f := strings.SplitN(record, "|", squeueLead+1)
	if len(f) <= squeueLead {
		return row{}, false, fmt.Errorf("%d fields: want %d", len(f), squeueLead+2)
	}
	mark := strings.LastIndex(f[squeueLead], "|n|")
	if mark < 0 {
		return row{}, false, fmt.Errorf("the name has no end")
	}
	r.tag, r.reason = jjm.Tag(f[squeueLead][:mark]), f[squeueLead][mark+len("|n|"):]
	if !r.tag.Valid() {
		return row{}, false, nil
	}
	if !digits(f[0]) {
		return r, false, fmt.Errorf("job id %.40q", f[0])
	}
	err = r.read(f)
	return r, err == nil, err
}

// read sets the fields in front of the name.
func (r *row) read(f []string) error {
	var known bool
	if r.state, known = stateOf(f[3]); !known {
		r.word = f[3]
	}
	if !digits(f[1]) {
		return fmt.Errorf("array id %.40q", f[1])
	}
	r.array, r.index, r.split = f[1], -1, f[0] != f[1]
	if f[2] != "N/A" {
		n, err := strconv.ParseUint(f[2], 10, 31)
		if err != nil {
			return fmt.Errorf("array index %.40q", f[2])
		}
		r.index = int32(n)
	}
	var err1, err2 error
	r.status, err1 = strconv.Atoi(f[4])
	r.restarts, err2 = strconv.Atoi(f[5])
	if err1 != nil || err2 != nil || r.restarts < 0 {
		return fmt.Errorf("exit code %.40q, restarts %.40q", f[4], f[5])
	}
	for i, t := range []*jjm.Time{&r.submit, &r.start, &r.end} {
		var err error
		if *t, err = parseTime(f[6+i]); err != nil {
			return err
		}
	}
	r.host = emptyIf(f[9], "n/a")
	return nil
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// parseTime parses a time in seconds since 1970, which SLURM_TIME_FORMAT=%s requests, or in local time, which Slurm
// prints without that variable. It returns 0 for the words that mean no time.
func parseTime(s string) (jjm.Time, error) {
	switch s {
	case "", "N/A", "n/a", "NONE", "None", "Unknown":
		return 0, nil
	}
	if n, err := strconv.ParseInt(s, 10, 40); err == nil && n >= 0 {
		return jjm.Time(n * 1000), nil
	}
	t, err := time.ParseInLocation("2006-01-02T15:04:05", s, time.Local)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return 0, fmt.Errorf("time %.40q", s)
	}
	return jjm.At(t), nil
}
