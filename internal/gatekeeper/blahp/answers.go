package blahp

import (
	"fmt"
	"strings"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper"
	"jjm/internal/jjm"
)

// The states of a job that jjm returns, in HTCondor's numbers (JobStatus). It never returns 3 (removed), because
// HTCondor puts a job on hold if it did not remove the job itself. It never returns 5 (held), because HTCondor then
// cancels the batch job.
const (
	Idle      = 1
	Running   = 2
	Completed = 4
)

// MaxAd is the maximum length of an ad that blahpd accepts, in bytes.
const MaxAd = 1023

// Submitted returns the answer to a submission that was accepted.
func Submitted(h jjm.Handle, now time.Time) string {
	return "BLAHP_JOBID_PREFIXjjm/" + now.UTC().Format("20060102") + "/" + string(h) + "\n"
}

// ParseID parses the id of a job: jjm/YYYYMMDD/HANDLE or YYYYMMDD/HANDLE. ok is false if the id has another form.
func ParseID(s string) (h jjm.Handle, ok bool) {
	return jjm.ParseHandle(s[strings.LastIndexByte(s, '/')+1:])
}

// JobStatus returns the state of a grid job in HTCondor's numbers. A suspended or held grid job is Idle. A grid job
// that is over is Completed, also if it failed or was killed.
func JobStatus(l wire.Lookup) int {
	switch {
	case gatekeeper.Final(l):
		return Completed
	case l.GRAM == jjm.GRAMActive:
		return Running
	}
	return Idle
}

// Status returns the line that answers a status request: an ad with the state of the job and, if the job is over, its
// exit code and resources. Without its newline the line has at most MaxAd bytes; the exit reason is cut if necessary.
func Status(h jjm.Handle, status int, l wire.Lookup) string {
	var b strings.Builder
	fmt.Fprintf(&b, `[BatchJobId=%q;JobStatus=%d;`, string(h), status)
	if u := l.Usage; u != nil {
		if u.Host != "" && len(u.Host) < 256 {
			fmt.Fprintf(&b, `WorkerNode=%s;`, quote(u.Host))
		}
		if status == Completed {
			fmt.Fprintf(&b, `RemoteWallClockTime=%s;RemoteUserCpu=%s;RemoteSysCpu=%s;`, seconds(u.WallMS), seconds(u.UserMS),
				seconds(u.SysMS))
			if u.Processors > 0 {
				fmt.Fprintf(&b, `CpusProvisioned=%d;`, u.Processors)
			}
		}
	}
	if status == Completed {
		fmt.Fprintf(&b, `ExitCode=%d;%s`, l.Exit, bySignal(l))
		if left := MaxAd - b.Len() - len(`0ExitReason="";]`); l.Message != "" && left > 0 {
			fmt.Fprintf(&b, `ExitReason=%s;`, quoteWithin(l.Message, left))
		}
	}
	b.WriteByte(']')
	return "0" + b.String() + "\n"
}

// bySignal returns the attributes that describe whether a signal ended the job. If signal n ended the job, its exit
// code is 128+n. A job that itself exits with 137 was not ended by a signal.
func bySignal(l wire.Lookup) string {
	if u := l.Usage; u != nil && u.Signal > 0 && l.Exit == 128+u.Signal {
		return fmt.Sprintf(`ExitBySignal=true;ExitSignal=%d;`, u.Signal)
	}
	return `ExitBySignal=false;`
}

// seconds formats milliseconds as a real number of seconds.
func seconds(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }

// ErrorLine returns the line that answers a status request if the state of the job is unknown because of an error.
func ErrorLine(err error) string {
	text := line(err.Error())
	if len(text) > 800 {
		text = text[:800] + "..."
	}
	return "1ERROR: " + text + "\n"
}

// quote returns a ClassAd string.
func quote(s string) string { return quoteWithin(s, 1<<20) }

// quoteWithin returns a ClassAd string with at most max bytes between its quotes.
func quoteWithin(s string, max int) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range line(s) {
		piece := string(r)
		if r == '"' || r == '\\' {
			piece = `\` + piece
		}
		if b.Len()-1+len(piece) > max {
			break
		}
		b.WriteString(piece)
	}
	b.WriteByte('"')
	return b.String()
}

// line replaces control characters, so that the text is one line.
func line(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case r < ' ', r == 0x7f, r == '\ufffd':
			return '?'
		}
		return r
	}, s))
}

// Controlled returns the answer to cancel, hold and resume for the i-th of n jobs. A nil error means success.
func Controlled(i, n int, err error) string {
	prefix := ""
	if n > 1 {
		prefix = fmt.Sprintf(".%d", i)
	}
	if err == nil {
		return prefix + " 0 No\\ error\n"
	}
	text := strings.NewReplacer(`\`, `\\`, " ", `\ `).Replace(line(err.Error()))
	return prefix + " 1 " + text + "\n"
}
