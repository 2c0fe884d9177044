// Package glf reads and writes GBS log files (GLF): the text by which an
// application on a worker talks back to its job manager (GBS Programmer
// Manual, "Communication between Job and application").
//
// A GLF holds one record per line,
//
//	<date-time> <keyword> <associated data>
//
// in UTC. The wrapper puts one INFO record before the application starts and
// one after it ended; the application appends its own in between.
//
// The package is pure: it does no I/O and knows no clock. [Parse] accepts any
// bytes at all and never fails: what it does not understand is counted. What
// the records mean for the job is for package analyse to say.
package glf

import (
	"strconv"
	"strings"
	"time"
)

// MaxLine is the longest line, in bytes, its newline included: what is longer
// is cut, on writing and on reading alike.
const MaxLine = 8 << 10

// MaxFile is how much of a GLF is worth reading, in bytes; of a longer one
// readers keep the first line, where the wrapper's start record is, and the
// tail. Parse itself has no limit.
const MaxFile = 1 << 20

// maxBad is how many unknown lines Log.BadLines keeps, and maxBadLine how much
// of each: they are for people.
const (
	maxBad     = 1000
	maxBadLine = 200
)

// The keywords of records.
const (
	Succeeded  = "SUCCEEDED"
	Failed     = "FAILED"
	Retry      = "RETRY"
	Hold       = "HOLD"
	Info       = "INFO"
	ReturnFile = "RETURN_FILE"
)

// Known reports whether a keyword is one of the six; case counts.
func Known(keyword string) bool {
	return Terminal(keyword) || keyword == Info || keyword == ReturnFile
}

// Terminal reports whether a keyword decides what becomes of the job.
func Terminal(keyword string) bool {
	switch keyword {
	case Succeeded, Failed, Retry, Hold:
		return true
	}
	return false
}

// Record is one line.
type Record struct {
	// Time is in UTC, to the second.
	Time time.Time
	// Keyword is one of the six.
	Keyword string
	// Data is the rest of the line, blanks at its ends removed.
	Data string
}

// Log is what a GLF says.
type Log struct {
	// Start and End tell whether the wrapper's two records are there: the
	// first start and the last end, so that an application which writes the
	// same words does not displace the wrapper's.
	Start, End bool
	// AppExit is the application's exit code as the end record tells it
	// (128+n for signal n); meaningless unless End.
	AppExit int
	// StartTime and EndTime are the times of those two records; First and Last
	// of the first and last record of any keyword.
	StartTime, EndTime, First, Last time.Time
	// Terminals are the records of SUCCEEDED, FAILED, RETRY and HOLD, in
	// order, those without data included.
	Terminals []Record
	// Returns are the absolute names of RETURN_FILE records; Ignored the
	// others, which are not copied back.
	Returns, Ignored []string
	// Infos are the INFO records, the wrapper's own excepted.
	Infos []Record
	// BadLines are lines that are no records: at most 1000, each shortened.
	// Bad counts them all.
	BadLines []string
	Bad      int
	// Lines counts all lines that are not blank.
	Lines int
}

// RunSeconds is how long the attempt ran: from start to end record, or, without
// both, from the first to the last record of any kind. It is never negative,
// whatever the clock of the worker did.
func (l Log) RunSeconds() int {
	from, to := l.First, l.Last
	if l.Start && l.End {
		from, to = l.StartTime, l.EndTime
	}
	return max(0, int(to.Sub(from)/time.Second))
}

// FormatLine makes one line, its newline included. Newlines and NULs in data
// become blanks, and the line is cut at MaxLine bytes. The keyword must be one
// of the six; any other makes an INFO record whose data begins with it.
func FormatLine(t time.Time, keyword, data string) string {
	if !Known(keyword) {
		keyword, data = Info, keyword+" "+data
	}
	line := t.UTC().Format("2006-01-02T15:04:05Z") + " " + keyword
	if data = strings.Trim(clean(data), blanks); data != "" {
		line += " " + data
	}
	return cut(line, MaxLine-1) + "\n"
}

const (
	startWords = "job wrapper start"
	endWords   = "job wrapper end"
)

// StartData is the data of the wrapper's INFO record before the application
// starts: the attempt's number, the host and the wrapper's process id.
func StartData(attempt int32, host string, pid int) string {
	return startWords + " attempt=" + strconv.Itoa(int(attempt)) +
		" host=" + host + " pid=" + strconv.Itoa(pid)
}

// EndData is the data of the wrapper's INFO record after the application
// ended; exit is its exit code, 128+n for signal n.
func EndData(exit int) string { return endWords + " exit=" + strconv.Itoa(exit) }

// cut shortens s to at most n bytes without splitting a UTF-8 sequence.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for back := 0; back < 3 && n > 0 && s[n]&0xC0 == 0x80; back++ {
		n--
	}
	return s[:n]
}

// clean replaces what would end a line or a C string by blanks.
func clean(s string) string {
	if !strings.ContainsAny(s, "\n\r\x00") {
		return s
	}
	return strings.NewReplacer("\n", " ", "\r", " ", "\x00", " ").Replace(s)
}
