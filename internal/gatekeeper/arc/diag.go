package arc

import (
	"fmt"
	"strings"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Diag returns the text of a job's .diag file. A-REX reads the exit code from this file, and A-REX's accounting reads
// the other lines.
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
			fmt.Fprintf(&b, "LRMSStartTime=%s\n", ldapTime(u.Started))
		}
		if u.Ended != 0 {
			fmt.Fprintf(&b, "LRMSEndTime=%s\n", ldapTime(u.Ended))
		}
	}
	if l.Message != "" {
		fmt.Fprintf(&b, "LRMSMessage=%s\n", line(l.Message))
	}
	fmt.Fprintf(&b, "exitcode=%d\n", exit)
	return b.String()
}

// Exit returns the exit code for A-REX, and the reason if it is not 0. A job that was
// killed counts as failed even if its exit code is 0.
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

// Done returns the text of a job's .lrms_done file.
func Done(code int, message string) string {
	if message == "" {
		return fmt.Sprintf("%d\n", code)
	}
	return fmt.Sprintf("%d %s\n", code, message)
}

// seconds formats milliseconds as seconds.
func seconds(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }

// ldapTime returns a time in the format of LDAP: 20060102150405Z.
func ldapTime(t jjm.Time) string { return t.Time().Truncate(time.Second).Format("20060102150405Z") }

// line replaces control characters, so that the text is one line.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
