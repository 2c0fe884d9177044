package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// sacctFields are the columns that sacct prints (sacct(1), option -o) when it is called with -P. The name is the last
// column, because it may contain the delimiter. If there are no jobs, the line with the names of the columns still
// shows that sacct answered.
const sacctFields = "JobID,JobIDRaw,State,ExitCode,Submit,Start,End,TotalCPU,MaxRSS,NodeList,User,JobName"

const sacctColumns = 12

// record is a job, or a step of a job, in the output of sacct.
type record struct {
	tag     jjm.Tag // tag of a job; "" for a step, whose name is not the tag
	array   string  // id of the array, or of a job outside of any array
	indices []int32 // indices in the array; none for a job outside of any array
	step    string  // name of a step such as "batch" or "0"; "" for the job itself
	state   jjm.BatchState
	// exit is the exit code modulo 128: sacct subtracts 128 from greater codes, so 137 is shown as 9 and 128 as 0.
	exit, signal       int
	submit, start, end jjm.Time
	cpuMS, rssKB       int64
	host               string
}

// parseSacct parses the output of sacct. It skips lines that do not begin like a record, because a job's name may
// contain newlines. unread are the records that cannot be parsed. parseSacct returns an error if the beginning or the
// end of the output is missing.
func parseSacct(text string) (out []record, unread []adapters.Unread, err error) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return nil, nil, fmt.Errorf("the last line is cut: %.80q", text[max(0, len(text)-80):])
	}
	text, found := strings.CutPrefix(text, strings.ReplaceAll(sacctFields, ",", "|")+"\n")
	if !found {
		return nil, nil, fmt.Errorf("the output begins with %.200q, not with the names of the columns", text)
	}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", sacctColumns)
		if len(f) < sacctColumns {
			if u, is := shortRecord(f); is {
				unread = append(unread, u)
			}
			continue
		}
		switch r, ours, err := readRecord(f); {
		case err != nil && r.step == "":
			unread = append(unread, adapters.Unread{Tag: r.tag, ID: r.array, Index: -1,
				Text: fmt.Sprintf("sacct: line %.200q: %v", line, err)})
		case ours:
			out = append(out, r)
		}
	}
	return out, unread, nil
}

// shortRecord returns an Unread for a job record that has too few fields. It returns is = false if the line is not the
// record of a job.
func shortRecord(f []string) (u adapters.Unread, is bool) {
	array, _, err := parseJobID(f[0])
	if err != nil || len(f) < 2 {
		return u, false
	}
	u = adapters.Unread{ID: array, Index: -1,
		Text: fmt.Sprintf("sacct: line %.200q: %d fields, want %d", strings.Join(f, "|"), len(f), sacctColumns)}
	if tag := jjm.Tag(f[len(f)-1]); tag.Valid() {
		u.Tag = tag
	}
	return u, true
}

// readRecord parses the fields of one line. ours is false if the line is about a job of another program.
func readRecord(f []string) (r record, ours bool, err error) {
	r.tag = jjm.Tag(f[11])
	id, step, isStep := strings.Cut(f[0], ".")
	if isStep {
		r.tag, r.step = "", step
	} else if !r.tag.Valid() {
		return r, false, nil
	}
	if r.array, r.indices, err = parseJobID(id); err != nil {
		return r, false, err
	}
	word, _, _ := strings.Cut(f[2], " ") // "CANCELLED by 61001"
	var known bool
	if r.state, known = stateOf(strings.TrimSuffix(word, "+")); !known {
		return r, false, fmt.Errorf("unknown job state %.40q", f[2])
	}
	if r.exit, r.signal, err = parseExit(f[3]); err != nil {
		return r, false, err
	}
	for i, t := range []*jjm.Time{&r.submit, &r.start, &r.end} {
		if *t, err = parseTime(f[4+i]); err != nil {
			return r, false, err
		}
	}
	r.cpuMS, r.rssKB = parseCPU(f[7]), parseSize(f[8])
	r.host = emptyIf(f[9], "None assigned")
	return r, true, nil
}

// maxIndices is the largest number of indices that a job id may contain; a short text can stand for very many indices.
const maxIndices = 1 << 22

// parseJobID parses "42", "42_7", and "42_[0-2,5,10-20:2%4]", which stands for all jobs of an array that have no
// records of their own.
func parseJobID(s string) (array string, indices []int32, err error) {
	bad := func() (string, []int32, error) { return "", nil, fmt.Errorf("job id %.40q", s) }
	array, rest, isArray := strings.Cut(s, "_")
	if !digits(array) {
		return bad()
	}
	if !isArray {
		return array, nil, nil
	}
	if rest, found := strings.CutPrefix(rest, "["); found {
		rest, _, _ = strings.Cut(strings.TrimSuffix(rest, "]"), "%")
		for part := range strings.SplitSeq(rest, ",") {
			span, step, stepped := strings.Cut(part, ":")
			by, err := strconv.ParseUint(step, 10, 31)
			if !stepped {
				by, err = 1, nil
			}
			first, last, ok := parseRange(span)
			if !ok || err != nil || by == 0 || len(indices)+int(last-first) > maxIndices {
				return bad()
			}
			for i := int64(first); i <= int64(last); i += int64(by) {
				indices = append(indices, int32(i))
			}
		}
		return array, indices, nil
	}
	n, last, ok := parseRange(rest)
	if !ok || n != last {
		return bad()
	}
	return array, []int32{n}, nil
}

// parseRange parses "5" or "0-2".
func parseRange(s string) (first, last int32, ok bool) {
	a, b, ranged := strings.Cut(s, "-")
	if !ranged {
		b = a
	}
	x, err1 := strconv.ParseUint(a, 10, 31)
	y, err2 := strconv.ParseUint(b, 10, 31)
	return int32(x), int32(y), err1 == nil && err2 == nil && x <= y
}

func parseExit(s string) (exit, signal int, err error) {
	if s == "" {
		return 0, 0, nil // sacct prints no exit code for steps of a failed node
	}
	a, b, found := strings.Cut(s, ":")
	x, err1 := strconv.ParseUint(a, 10, 8)
	y, err2 := strconv.ParseUint(b, 10, 8)
	if !found || err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("exit code %.40q", s)
	}
	return int(x), int(y), nil
}

// parseCPU parses [DAYS-[HOURS:]]MINUTES:SECONDS[.MS] and returns milliseconds. It returns 0 for any other text.
func parseCPU(s string) int64 {
	days, rest, found := strings.Cut(s, "-")
	if !found {
		days, rest = "0", s
	}
	d, err := strconv.ParseUint(days, 10, 20)
	if err != nil {
		return 0
	}
	total := time.Duration(d) * 24 * time.Hour
	parts := strings.Split(rest, ":")
	unit := time.Second
	for i := len(parts) - 1; i >= 0 && len(parts) <= 3; i-- {
		n, err := strconv.ParseFloat(parts[i], 64)
		if err != nil || n < 0 || n > 1e6 {
			return 0
		}
		total += time.Duration(n * float64(unit))
		unit *= 60
	}
	return total.Milliseconds()
}

// parseSize parses a size such as "3268K" and returns KiB. A number without a unit is in bytes.
func parseSize(s string) int64 {
	units := map[byte]float64{'K': 1, 'M': 1 << 10, 'G': 1 << 20, 'T': 1 << 30}
	if s == "" {
		return 0
	}
	unit, has := units[s[len(s)-1]]
	if has {
		s = s[:len(s)-1]
	} else {
		unit = 1.0 / 1024
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n < 0 || n*unit > 1e15 || n != n {
		return 0
	}
	return int64(n * unit)
}

// reports returns a report for each ended job of a record.
func (r record) reports() []jjm.Report {
	if r.step != "" || !r.state.Ended() {
		return nil
	}
	base := jjm.Report{
		Tag: r.tag, State: r.state, Host: r.host, Source: "sacct", Submitted: r.submit, Ended: r.end, CPUms: r.cpuMS,
		RSSKB: r.rssKB,
	}
	if r.host != "" {
		base.Started = r.start
	}
	switch {
	case r.state != jjm.BatchEndedFailed:
	case r.signal != 0:
		base.Exit, base.Signal = 128+r.signal, r.signal
	case r.exit == 0:
		base.Exit = 128 // sacct shows 0 for this failure
	default:
		base.Exit = r.exit
		base.Reason = fmt.Sprintf("exit %d or %d: sacct shows it modulo 128", r.exit, r.exit+128)
	}
	out := make([]jjm.Report, len(r.indices))
	for i, n := range r.indices {
		out[i] = base
		out[i].Index, out[i].ID = n, jobID(r.array, n)
	}
	return out
}
