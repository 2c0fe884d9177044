// Package glf reads and writes GBS log files (GLF): the text by which an application on a
// worker reports to its job manager (GBS Programmer Manual, "Communication between Job
// and application").
//
// A GLF holds one record per line,
//
//	<date-time> <keyword> <associated data>
//
// in UTC. The wrapper writes one INFO record before the application starts and another INFO record after the
// application ended; the application appends its own records in between.
//
// The package does no I/O and has no clock. [Parse] accepts any bytes and never fails: lines that it does not
// understand are counted. Package analyse decides the effect of the records on the job.
package glf

import (
	"strconv"
	"strings"
	"time"
)

// MaxLine is the maximum length of a line in bytes, including the newline. Longer lines are cut when they are written
// and when they are read.
const MaxLine = 8 << 10

// MaxFile is the maximum number of bytes of a GLF that readers keep. If the file is longer, readers keep the first
// line, which is the wrapper's start record, and the tail. Parse itself has no limit.
const MaxFile = 1 << 20

// maxBad is the maximum number of unknown lines in Log.BadLines, and maxBadLine the maximum number of bytes of each
// line. The lines are only shown to people.
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

// Known reports whether a keyword is one of the six keywords. Upper and lower case are different.
func Known(keyword string) bool {
	return Terminal(keyword) || keyword == Info || keyword == ReturnFile
}

// Terminal reports whether a keyword decides how the job continues or ends.
func Terminal(keyword string) bool {
	switch keyword {
	case Succeeded, Failed, Retry, Hold:
		return true
	}
	return false
}

// Record is one line of a GLF.
type Record struct {
	// Time is in UTC, to the second.
	Time time.Time
	// Keyword is one of the six keywords.
	Keyword string
	// Data is the rest of the line, without blanks at its ends.
	Data string
}

// Log is the content of a GLF.
type Log struct {
	// Start and End report whether the log has the wrapper's start record and end record. The first start record and the
	// last end record are used, so that an application that writes the same words does not replace the wrapper's records.
	Start, End bool
	// AppExit is the application's exit code in the end record, 128+n for signal n. It has no meaning unless End is set.
	AppExit int
	// StartTime and EndTime are the times of the wrapper's start and end records. First and Last are the times of the
	// first and the last record of any keyword.
	StartTime, EndTime, First, Last time.Time
	// Terminals are the records SUCCEEDED, FAILED, RETRY and HOLD, in order, including records without data.
	Terminals []Record
	// Returns are the absolute paths of RETURN_FILE records. Ignored are the relative paths of such records, which are not
	// copied back.
	Returns, Ignored []string
	// Infos are the INFO records except the wrapper's records.
	Infos []Record
	// BadLines are lines that are not records, at most 1000 lines, each cut to 200 bytes. Bad is the number of all such
	// lines.
	BadLines []string
	Bad      int
	// Lines counts all lines that are not blank.
	Lines int
}

// RunSeconds returns the run time of the attempt in seconds: from the start record to the end record, or if one of
// these records is missing, from the first to the last record. The result is never negative, even if the worker's clock
// was set back.
func (l Log) RunSeconds() int {
	from, to := l.First, l.Last
	if l.Start && l.End {
		from, to = l.StartTime, l.EndTime
	}
	return max(0, int(to.Sub(from)/time.Second))
}

// FormatLine returns one line with its newline. Newlines and NULs in data become blanks, and the line is cut at MaxLine
// bytes. A keyword that is not one of the six keywords makes an INFO record whose data begins with this keyword.
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

// StartData returns the data of the wrapper's INFO record before the application starts:
// the attempt's number, the host and the wrapper's process id.
func StartData(attempt int32, host string, pid int) string {
	return startWords + " attempt=" + strconv.Itoa(int(attempt)) +
		" host=" + host + " pid=" + strconv.Itoa(pid)
}

// EndData returns the data of the wrapper's INFO record after the application ended. exit is the application's exit
// code, 128+n for signal n.
func EndData(exit int) string { return endWords + " exit=" + strconv.Itoa(exit) }

// FailedData returns the data of the FAILED record that the wrapper writes for an application that reports only by its
// exit code.
func FailedData(exit int) string { return "exit=" + strconv.Itoa(exit) }

// cut returns at most the first n bytes of s, without splitting a UTF-8 sequence.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for back := 0; back < 3 && n > 0 && s[n]&0xC0 == 0x80; back++ {
		n--
	}
	return s[:n]
}

// clean replaces newlines, carriage returns and NULs by blanks.
func clean(s string) string {
	if !strings.ContainsAny(s, "\n\r\x00") {
		return s
	}
	return strings.NewReplacer("\n", " ", "\r", " ", "\x00", " ").Replace(s)
}
