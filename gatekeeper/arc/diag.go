package arc

import (
	"fmt"
	"strings"
	"time"

	"jjm"
	"jjm/wire"
)

// Diag is the text of a job's .diag file, from which A-REX takes the exit code
// and its accounting the rest.
func Diag(l wire.Lookup, exit int) string {
	var b strings.Builder
	if u := l.Usage; u != nil {
		if u.Host != "" {
			fmt.Fprintf(&b, "nodename=%s\n", line(u.Host))
		}
		fmt.Fprintf(&b, "WallTime=%ss\nProcessors=%d\nUserTime=%ss\nKernelTime=%ss\n",
			seconds(u.WallMS), max(u.Processors, 1), seconds(u.UserMS), seconds(u.SysMS))
		if u.MaxRSSKB > 0 {
			fmt.Fprintf(&b, "AverageTotalMemory=%[1]dkB\nMaxResidentMemory=%[1]dkB\n", u.MaxRSSKB)
		}
		if u.Started != 0 {
			fmt.Fprintf(&b, "LRMSStartTime=%s\n", mds(u.Started))
		}
		if u.Ended != 0 {
			fmt.Fprintf(&b, "LRMSEndTime=%s\n", mds(u.Ended))
		}
	}
	if l.Message != "" {
		fmt.Fprintf(&b, "LRMSMessage=%s\n", line(l.Message))
	}
	fmt.Fprintf(&b, "exitcode=%d\n", exit)
	return b.String()
}

// Exit is the exit code that A-REX is told, and what went wrong; "" if nothing
// did. A job that was killed has not done what it should.
func Exit(l wire.Lookup) (code int, message string) {
	switch {
	case l.Error != nil:
		return 1, line(l.Error.Text)
	case l.Status == jjm.Aborted.String(), l.GRAM == jjm.GRAMFailed, l.Exit != 0:
		message = line(l.Message)
		if message == "" {
			message = l.Status
		}
		return max(l.Exit, 1), message
	}
	return 0, ""
}

// Done is the text of a job's .lrms_done file.
func Done(code int, message string) string {
	if message == "" {
		return fmt.Sprintf("%d\n", code)
	}
	return fmt.Sprintf("%d %s\n", code, message)
}

// seconds writes milliseconds as seconds.
func seconds(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }

// mds writes a time as LDAP has it: 20060102150405Z.
func mds(t jjm.Time) string { return t.Time().Truncate(time.Second).Format("20060102150405Z") }

// line makes one line of a text.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
