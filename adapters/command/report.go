package command

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// job is a report together with the id of the job's bulk. Its Index is -1 if the line of the listing names only the
// bulk.
type job struct {
	jjm.Report
	bulk string
}

// rule changes the state of a job depending on the job's reason and exit code.
type rule struct {
	when    string // state in the batch system's words; "" for any state of an ended job
	reason  *regexp.Regexp
	exit    *exits
	becomes jjm.BatchState
}

// tagLike matches the form of jjm's own tags: "j" and 14 more characters (see jjm.NewTag).
var tagLike = regexp.MustCompile(`^j[a-z0-9]{14}$`)

// answer is the parsed output of a query: jobs, and unreadable records that may belong to jobs of jjm.
type answer struct {
	jobs   []job
	unread []adapters.Unread
}

func (a *answer) add(b answer) {
	a.jobs, a.unread = append(a.jobs, b.jobs...), append(a.unread, b.unread...)
}

// read parses the output of a query. It returns an error if the output does not end with a newline or lacks the header
// of the description, because the output may then have been cut.
func (d *Description) read(q *query, text string, now time.Time) (answer, error) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return answer{}, errors.New("the output ends within a line")
	}
	if q.header != nil {
		rest, found := withoutHeader(text, q.header)
		if !found {
			return answer{}, fmt.Errorf("no line of the output is the header %s", q.header)
		}
		text = rest
	}
	return d.jobs(q, text, now)
}

// withoutHeader returns the text without the first line that matches the header. found is false if no line matches.
// Lines before the header stay in the text, so the caller must be able to parse them.
func withoutHeader(text string, header *regexp.Regexp) (rest string, found bool) {
	at := 0
	for line := range strings.Lines(text) {
		if header.MatchString(strings.TrimRight(line, " \t\r\n")) {
			return text[:at] + text[at+len(line):], true
		}
		at += len(line)
	}
	return text, false
}

// jobs parses an output. It omits jobs that cannot belong to jjm. It returns an error if no line has the form in the
// description, because the description is then wrong.
func (d *Description) jobs(q *query, text string, now time.Time) (out answer, err error) {
	rows, odd, err := q.format.rows(text)
	if err != nil {
		return answer{}, err
	}
	if len(rows) == 0 && len(odd) > 0 {
		return answer{}, errors.New(odd[0])
	}
	for _, line := range odd {
		out.unread = append(out.unread, d.unread(line))
	}
	for _, r := range rows {
		whole := r[fieldIndex] != "" && slices.Contains(d.none, r[fieldIndex])
		for i, text := range r {
			if slices.Contains(d.none, text) {
				r[i] = ""
			}
		}
		tag, ok := d.tag(r[fieldName])
		if !ok || whole && !q.mayLackIndex {
			continue // the record of a whole array is not a job
		}
		switch j, ours, err := d.job(q, r, tag, now); {
		case err != nil:
			out.unread = append(out.unread, adapters.Unread{Tag: tag, ID: r[fieldBulk], Index: -1,
				Text: fmt.Sprintf("job %.80s%.80s of %s: %v", r[fieldJob], r[fieldBulk], tag, err)})
		case ours:
			out.jobs = append(out.jobs, j)
		}
	}
	return out, nil
}

// tagWithin matches a text in a line that may be a tag of jjm.
var tagWithin = regexp.MustCompile(`\bj[a-z0-9]{14}\b`)

// unread returns the Unread for a line that does not have the form in the description, with the tag that the line
// contains.
func (d *Description) unread(line string) adapters.Unread {
	return adapters.Unread{Tag: jjm.Tag(tagWithin.FindString(line)), Index: -1, Text: line}
}

// tag returns the tag in the name of a job.
func (d *Description) tag(name string) (jjm.Tag, bool) {
	m := d.name.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	tag := jjm.Tag(m[1])
	return tag, tag.Valid()
}

// job converts a row into a report. ours is false for a job of another program whose name looks like a tag by chance.
func (d *Description) job(q *query, r row, tag jjm.Tag, now time.Time) (j job, ours bool, err error) {
	j.Tag, j.Source = tag, q.source
	id := r[fieldJob]
	if id == "" && r[fieldBulk] != "" {
		id = d.ids.write(r[fieldBulk], r[fieldIndex])
	}
	bulk, index, err := d.ids.read(id)
	if err != nil {
		if bulk != "" && q.mayLackIndex {
			j.bulk, j.ID, j.Index = bulk, id, -1
			return j, true, nil
		}
		if tagLike.MatchString(string(tag)) {
			return job{}, false, err
		}
		return job{}, false, nil
	}
	j.bulk, j.ID, j.Index = bulk, id, index
	j.Reason, j.Hold, j.Host = r[fieldReason], r[fieldHold], r[fieldHost]
	if err := d.numbers(&j, q, r, now); err != nil {
		return job{}, false, err
	}
	d.state(&j, r[fieldState])
	d.normalize(&j, q)
	return j, true, nil
}

// numbers sets the times, the exit code and the resource usage of a job from its row.
func (d *Description) numbers(j *job, q *query, r row, now time.Time) (err error) {
	for _, t := range []struct {
		field field
		to    *jjm.Time
	}{{fieldSubmitted, &j.Submitted}, {fieldStarted, &j.Started}, {fieldEnded, &j.Ended}, {fieldStarts, &j.Starts}} {
		if *t.to, err = d.times.parse(r[t.field], now); err != nil {
			return fmt.Errorf("%s: %w", fieldNames()[t.field], err)
		}
	}
	if j.Exit, j.Signal, err = q.exit.parse(r[fieldExit]); err != nil {
		return err
	}
	if text := r[fieldSignal]; text != "" {
		if j.Signal, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("signal %.40q is not a number", text)
		}
	}
	if text := r[fieldRestarts]; text != "" {
		if j.Restarts, err = strconv.Atoi(text); err != nil || j.Restarts < 0 {
			return fmt.Errorf("restarts %.40q is not a number of 0 or more", text)
		}
	}
	// Resource usage is only shown to people, so unreadable values are omitted.
	j.CPUms, j.RSSKB = parseCPU(r[fieldCPU]), parseRSS(r[fieldRSS])
	return nil
}

// state sets the batch state of a job from a text of the listing. The description maps whole texts and first words
// ("CANCELLED by 1000") to states; the whole text is tried first. If the description has neither, the state is
// BatchUnknown, and the reason contains the text.
func (d *Description) state(j *job, text string) {
	first, _, _ := strings.Cut(text, " ")
	state, known := d.states[text]
	if !known {
		state, known = d.states[first]
	}
	if !known {
		j.State, j.Reason = jjm.BatchUnknown, fmt.Sprintf("the description has no state %.60q", text)
		return
	}
	j.State = state
	for _, r := range d.rules {
		if (r.when == "" && state.Ended() || r.when != "" && (r.when == text || r.when == first)) &&
			(r.reason == nil || r.reason.MatchString(j.Reason)) && (r.exit == nil || r.exit.has(j.Exit)) {
			j.State = r.becomes
			return
		}
	}
}

// normalize corrects the parts of a report that contradict each other, such as a successful state with an exit code.
func (d *Description) normalize(j *job, q *query) {
	if j.State == jjm.BatchEndedOK && (j.Exit != 0 || j.Signal != 0) {
		j.State = jjm.BatchEndedFailed
	}
	if !j.State.Ended() {
		j.Exit, j.Signal, j.Ended = 0, 0, 0
	}
	if j.State == jjm.BatchQueued || j.State == jjm.BatchHold {
		if j.Starts == 0 {
			j.Starts = j.Started // batch systems show the expected start in the start column
		}
		j.Started, j.Host = 0, ""
	} else {
		j.Starts = 0
	}
	if j.State.Ended() && j.Host == "" && slices.Contains(q.format.fields(), fieldHost) {
		j.Started = 0 // a job without a host never ran
	}
	if j.State != jjm.BatchHold {
		j.Hold = ""
	}
}

// exitForm is the form in which a batch system reports the exit status of a job.
type exitForm string

// The forms of an exit status.
const (
	exitPlain exitForm = "code"        // 3
	exitWait  exitForm = "wait"        // as in wait(2): 768 for exit 3, 9 for signal 9
	exitPair  exitForm = "code:signal" // 3:0
	exitShell exitForm = "shell"       // as in sh(1): 137 for signal 9
)

func exitForms() []string {
	return []string{string(exitPlain), string(exitWait), string(exitPair), string(exitShell)}
}

// maxSignal is the last signal of Linux (signal(7)). Batch systems use greater numbers with their own meanings, such as
// Slurm's 125 for "out of memory".
const maxSignal = 64

func (f exitForm) parse(text string) (code, signal int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	first, second, paired := strings.Cut(text, ":")
	n, err1 := strconv.ParseInt(first, 10, 32)
	m, err2 := int64(0), error(nil)
	if f == exitPair {
		m, err2 = strconv.ParseInt(second, 10, 32)
	}
	if err1 != nil || err2 != nil || paired != (f == exitPair) || n < 0 || m < 0 {
		return 0, 0, fmt.Errorf("exit status %.40q is not of the form %q", text, string(f))
	}
	code = int(n)
	switch {
	case f == exitPair:
		signal = int(m)
	case f == exitWait:
		code, signal = int(n>>8)&0xff, int(n&0x7f)
	case f == exitShell && n > 128 && n <= 128+maxSignal:
		code, signal = 0, int(n-128)
	}
	if signal > maxSignal {
		signal = 0
	}
	return code, signal, nil
}

var firstNumber = regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)?`)

// parseCPU parses "12.5 second(s)", seconds, or [days-][hours:]minutes:seconds, and returns milliseconds; 0 for any
// other text.
func parseCPU(text string) int64 {
	text, _, _ = strings.Cut(text, " ")
	days, rest, dashed := strings.Cut(text, "-")
	if !dashed {
		days, rest = "0", text
	}
	seconds := 0.0
	for part := range strings.SplitSeq(rest, ":") {
		n, err := strconv.ParseFloat(firstNumber.FindString(part), 64)
		if err != nil {
			return 0
		}
		seconds = seconds*60 + n
	}
	d, err := strconv.ParseFloat(days, 64)
	if err != nil || d < 0 {
		return 0
	}
	if ms := 1000 * (seconds + 86400*d); ms < math.MaxInt64/2 {
		return int64(math.Round(ms))
	}
	return 0
}

// parseRSS parses "3256K", "12.3 Mbytes", "1G", or a number of KiB, and returns KiB; 0 for any other text.
func parseRSS(text string) int64 {
	number := firstNumber.FindString(text)
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	unit := strings.ToUpper(strings.TrimSpace(text[len(number):]) + "K")[:1]
	factor, known := map[string]float64{"B": 1.0 / 1024, "K": 1, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30}[unit]
	if kb := n * factor; known && kb < math.MaxInt64/2 {
		return int64(kb)
	}
	return 0
}
