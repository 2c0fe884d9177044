package pbs

import (
	"strconv"
	"strings"
	"time"
)

// raw is one job of a qstat output: the attributes that jjm reads, as text.
type raw struct {
	id                           string
	name, owner, state           string
	substate, exit               string
	ctime, stime, end, mtime     string
	history                      string // time at which the job entered the history
	host, comment, holds, starts string
	runs, indices                string
	member                       string // set only in a member's own record
	rerunnable                   string // "False" if reruns are forbidden
	cpu, mem                     string
	// damaged is set if the text of the job could not be read completely.
	damaged bool
}

// field returns a pointer to the field of r that stores an attribute of a group, or nil if jjm does not read the
// attribute. It recognizes the names of both dialects.
func (r *raw) field(group string, key []byte) *string {
	switch group {
	case "resources_used":
		switch string(key) {
		case "cput":
			return &r.cpu
		case "mem":
			return &r.mem
		}
		return nil
	case "estimated":
		if string(key) == "start_time" {
			return &r.starts
		}
		return nil
	case "":
	default:
		return nil
	}
	switch string(key) {
	case "Job_Id":
		return &r.id
	case "Job_Name":
		return &r.name
	case "Job_Owner":
		return &r.owner
	case "job_state":
		return &r.state
	case "substate":
		return &r.substate
	case "Exit_status", "exit_status":
		return &r.exit
	case "ctime":
		return &r.ctime
	case "stime", "start_time":
		return &r.stime
	case "obittime", "comp_time":
		return &r.end
	case "mtime":
		return &r.mtime
	case "history_timestamp":
		return &r.history
	case "exec_host":
		return &r.host
	case "comment":
		return &r.comment
	case "Hold_Types":
		return &r.holds
	case "run_count", "start_count":
		return &r.runs
	case "array_indices_submitted", "job_array_request":
		return &r.indices
	case "Rerunable":
		return &r.rerunnable
	case "array_index", "array_id":
		return &r.member
	}
	return nil
}

// jobID is a parsed identifier: 25, 25[], 25[3], each with or without the server's name.
type jobID struct {
	seq   string
	array bool // whether the id is 25[] or 25[3]
	index int32
	whole bool // whether the id is 25[]
}

// parseID parses an identifier; ok is false if the text is not one.
func parseID(s string) (id jobID, ok bool) {
	s, _, _ = strings.Cut(s, ".")
	seq, rest, array := strings.Cut(s, "[")
	if seq == "" || strings.Trim(seq, "0123456789") != "" {
		return id, false
	}
	id = jobID{seq: seq, array: array, index: -1}
	if !array {
		return id, true
	}
	inner, closed := strings.CutSuffix(rest, "]")
	if !closed {
		return id, false
	}
	if inner == "" {
		id.whole = true
		return id, true
	}
	n, err := strconv.ParseUint(inner, 10, 31)
	id.index = int32(n)
	return id, err == nil
}

// String returns the id in the form of jjm's reports, without the server's name.
func (id jobID) String() string {
	switch {
	case id.whole:
		return id.seq + "[]"
	case id.array:
		return id.seq + "[" + strconv.Itoa(int(id.index)) + "]"
	}
	return id.seq
}

// accountOf returns the account in an owner such as "jjmuser@pbshost".
func accountOf(owner string) string {
	u, _, _ := strings.Cut(owner, "@")
	return u
}

// parseTime parses a time: the text of asctime(3) in a zone, or seconds since 1970. It returns the zero time for any
// other text.
func parseTime(s string, zone *time.Location) time.Time {
	if s == "" {
		return time.Time{}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 {
		return time.Unix(n, 0)
	}
	t, err := time.ParseInLocation("Mon Jan _2 15:04:05 2006", s, zone)
	if err != nil {
		return time.Time{}
	}
	return t
}

// parseDuration parses "00:05:13" or a number of seconds.
func parseDuration(s string) time.Duration {
	var n int64
	for part := range strings.SplitSeq(s, ":") {
		k, err := strconv.ParseInt(part, 10, 32)
		if err != nil || k < 0 || n > 1<<24 { // 1<<24 s is half a year; minutes and hours are multiplied later
			return 0
		}
		n = n*60 + k
	}
	return time.Duration(n) * time.Second
}

// kilobytes parses a size such as 7192kb, 16gb, 100b or 20mw (words of 8 bytes), and returns KiB.
func kilobytes(s string) int64 {
	s = strings.ToLower(s)
	digits := strings.TrimRight(s, "kmgtpbw")
	n, err := strconv.ParseInt(digits, 10, 50)
	if err != nil || n < 0 {
		return 0
	}
	unit := s[len(digits):]
	if strings.HasSuffix(unit, "w") {
		n *= 8
	}
	switch strings.TrimRight(unit, "bw") {
	case "":
		return n >> 10
	case "m":
		n <<= 10
	case "g":
		n <<= 20
	case "t":
		n <<= 30
	case "p":
		n <<= 40
	}
	return max(n, 0)
}

// countIndices returns the number of members in "0-99", "0-9:3" or "1,3,5-7%2"; 0 if the text cannot be parsed.
func countIndices(s string) int {
	s, _, _ = strings.Cut(s, "%")
	n := 0
	for part := range strings.SplitSeq(s, ",") {
		part, step, stepped := strings.Cut(part, ":")
		first, last, ranged := strings.Cut(part, "-")
		a, err := strconv.ParseUint(first, 10, 31)
		if err != nil {
			return 0
		}
		b, by := a, uint64(1)
		if ranged {
			if b, err = strconv.ParseUint(last, 10, 31); err != nil || b < a {
				return 0
			}
		}
		if stepped {
			if by, err = strconv.ParseUint(step, 10, 31); err != nil || by == 0 {
				return 0
			}
		}
		n += int((b-a)/by) + 1
	}
	return n
}
