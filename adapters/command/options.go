package command

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"jjm/internal/jjm"
)

// option is a field of a request together with the option of the submit command that passes the field on.
type option struct {
	// key is the name of the option in descriptions, field its name in job files, name its name in templates.
	key, field, name string
	// value returns the text of the option for a request; "" if the request does not set the field.
	value func(s submit, r jjm.Request) string
}

// requestOptions returns the options in their order on a command line.
func requestOptions() []option {
	return []option{
		{"queue", "request.queue", "QUEUE", func(_ submit, r jjm.Request) string { return r.Queue }},
		{"account", "request.account", "ACCOUNT", func(_ submit, r jjm.Request) string { return r.Account }},
		{"project", "request.project", "PROJECT", func(_ submit, r jjm.Request) string { return r.Project }},
		{"qos", "request.qos", "QOS", func(_ submit, r jjm.Request) string { return r.QOS }},
		{"cores", "request.cores", "CORES", func(_ submit, r jjm.Request) string { return positive(int64(r.Cores)) }},
		{"memory", "request.memory_mb", "MEMORY", func(s submit, r jjm.Request) string { return s.memoryOf(r) }},
		{"walltime", "request.walltime", "WALLTIME", func(s submit, r jjm.Request) string {
			return s.walltime.write(time.Duration(r.Walltime))
		}},
		{"gpus", "request.gpus", "GPUS", func(_ submit, r jjm.Request) string { return positive(int64(r.GPUs)) }},
		{"scratch", "request.scratch_mb", "SCRATCH", func(s submit, r jjm.Request) string {
			return positive(s.scratch.ofMiB(r.ScratchMB))
		}},
		// No job file asks for it: submitValues sets the value.
		{nameExclude, "", "EXCLUDE", func(submit, jjm.Request) string { return "" }},
	}
}

// nameExclude is the key of the option that keeps jobs off hosts.
const nameExclude = "exclude"

func optionKeys() (keys []string) {
	for _, o := range requestOptions() {
		keys = append(keys, o.key)
	}
	return keys
}

func optionNames() (names []string) {
	for _, o := range requestOptions() {
		names = append(names, o.name)
	}
	return names
}

func positive(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func number(n int) string { return strconv.Itoa(n) }

// optionValues returns the values of a request by template name.
func (s submit) optionValues(r jjm.Request) map[string]string {
	all := map[string]string{}
	for _, o := range requestOptions() {
		all[o.name] = o.value(s, r)
	}
	return all
}

// optionWords returns the words that replace %__OPTIONS__ in the command.
func (s submit) optionWords(v values) []string {
	words := []string{}
	for _, o := range requestOptions() {
		if v.words[o.name] == "" {
			continue
		}
		for _, t := range s.options[o.key] {
			words = append(words, t.fill(v, ""))
		}
	}
	return words
}

// check returns the problems of a request: fields for which the description has no option, and values that are not
// plain (see isPlainValue). A request of one core needs no option, because every job has at least one core.
func (s submit) check(r jjm.Request) error {
	var ps jjm.Problems
	for _, o := range requestOptions() {
		value := o.value(s, r)
		switch {
		case value == "" || o.key == "cores" && r.Cores == 1:
		case len(s.options[o.key]) == 0 && !s.command.has(o.name):
			ps = append(ps, jjm.Problem{Field: o.field,
				Text: fmt.Sprintf("%q: the description of this cluster has no option for it", value)})
		case !isPlainValue(value):
			ps = append(ps, jjm.Problem{Field: o.field,
				Text: fmt.Sprintf("%.60q: want a word that does not begin with - and has no blanks", value)})
		}
	}
	return ps.Err()
}

// isPlainValue reports whether a command reads a value as one word and not as an option: the value is not empty, does
// not begin with "-", is at most 200 bytes long, and has no blanks or control characters.
func isPlainValue(s string) bool {
	return s != "" && s[0] != '-' && len(s) <= 200 &&
		strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) < 0
}

// unit is a unit of memory or disk space, in bytes.
type unit int64

// units returns the units that a description may name.
func units() map[string]unit {
	return map[string]unit{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1e3, "MB": 1e6, "GB": 1e9}
}

func (c *checker) unit(field, text string) unit {
	if text == "" {
		text = "MiB"
	}
	u, known := units()[text]
	if !known {
		c.bad(field, "%.40q: %s", text, suggest(text, []string{"B", "KiB", "MiB", "GiB", "kB", "MB", "GB"}))
		return 1 << 20
	}
	return u
}

// ofMiB converts n MiB into this unit. It rounds up, so that a job gets at least the requested size.
func (u unit) ofMiB(n int64) int64 {
	if n <= 0 {
		return 0
	}
	const most = 1 << 42 // in MiB; more bytes would not fit into an int64
	bytes := min(n, most) << 20
	return (bytes-1)/int64(u) + 1
}

func (s submit) memoryOf(r jjm.Request) string {
	mb := r.MemoryMB
	if s.perCore && r.Cores > 1 {
		mb = (mb + int64(r.Cores) - 1) / int64(r.Cores)
	}
	return positive(s.memory.ofMiB(mb))
}

// walltimeForm is the form in which a batch system takes a walltime.
type walltimeForm string

// The forms of a walltime.
const (
	inSeconds     walltimeForm = "seconds"
	inMinutes     walltimeForm = "minutes"
	hoursMinutes  walltimeForm = "hours:minutes"
	hoursToSecond walltimeForm = "hours:minutes:seconds"
)

func (c *checker) walltime(text string) walltimeForm {
	known := []string{string(inSeconds), string(inMinutes), string(hoursMinutes), string(hoursToSecond)}
	if text == "" {
		return inSeconds
	}
	for _, k := range known {
		if k == text {
			return walltimeForm(text)
		}
	}
	c.bad("submit.walltime", "%.40q: %s", text, suggest(text, known))
	return inSeconds
}

// write returns d in this form, rounded up; "" if d is 0.
func (f walltimeForm) write(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	seconds := int64((d-1)/time.Second) + 1
	minutes := (seconds-1)/60 + 1
	switch f {
	case inMinutes:
		return strconv.FormatInt(minutes, 10)
	case hoursMinutes:
		return fmt.Sprintf("%d:%02d", minutes/60, minutes%60)
	case hoursToSecond:
		return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	return strconv.FormatInt(seconds, 10)
}
