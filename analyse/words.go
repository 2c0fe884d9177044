package analyse

import (
	"fmt"
	"path"
	"strings"
	"syscall"
	"time"
	"unicode"

	"jjm"
	"jjm/glf"
)

// maxText is the longest text of a verdict in bytes: it is stored with every
// local job, and shown on one line.
const maxText = 1000

// tidy makes text fit for a line: what jobs wrote may hold anything.
func tidy(s string) string {
	if len(s) > 4*maxText {
		s = s[:4*maxText]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar, !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText-3], "") + "..."
}

// ran says how long and where, as far as known: " after 5m1s on wn7".
func (c *attempt) ran() string {
	if !c.started {
		return " before it started"
	}
	s := ""
	if c.log.Start || c.in.Evidence.Result != nil {
		s = " after " + (time.Duration(c.seconds()) * time.Second).String()
	}
	if h := c.host(); h != "" {
		s += " on " + h
	}
	return s
}

func (c *attempt) host() string {
	ev := &c.in.Evidence
	switch {
	case ev.Result != nil && ev.Result.Claim.Host != "":
		return ev.Result.Claim.Host
	case ev.Claim != nil && ev.Claim.Holder != jjm.HolderDaemon && ev.Claim.Host != "":
		return ev.Claim.Host
	}
	return ev.Batch.Host
}

// reason is the batch system's own text, as a last clause.
func (c *attempt) reason() string {
	if r := c.in.Evidence.Batch.Reason; r != "" {
		return ": " + r
	}
	return ""
}

// batchSays is the batch system's word with its figures: "FAILED, exit 91".
func (c *attempt) batchSays() string {
	b := &c.in.Evidence.Batch
	s := b.State.String()
	switch {
	case b.Signal != 0:
		s += fmt.Sprintf(", signal %d", b.Signal)
	case b.Exit != 0:
		s += fmt.Sprintf(", exit %d", b.Exit)
	}
	return s
}

func (c *attempt) cancelled() string {
	return "cancelled in the batch system by someone else" + c.ran() + c.reason()
}

func (c *attempt) neverStarted() string {
	s := "never started: "
	switch {
	case c.in.Lost && !c.batch.Ended():
		return s + "the batch system lost it while it waited"
	case c.batch == jjm.BatchAborted:
		s += "the batch system aborted it"
	default:
		s += "its batch job ended " + c.batchSays()
	}
	if h := c.in.Evidence.Batch.Host; h != "" {
		s += " on " + h
	}
	return s + c.reason()
}

func (c *attempt) overLimit() string {
	ev := &c.in.Evidence
	s := "time limit exceeded"
	if c.batch == jjm.BatchOOM {
		s = "memory limit exceeded"
		rss := ev.Batch.RSSKB
		if ev.Result != nil {
			rss = max(rss, ev.Result.RSSKB)
		}
		if rss > 0 {
			s += fmt.Sprintf(" (peak %d MiB)", (rss+1023)/1024)
		}
	}
	s += c.ran()
	if r := ev.Result; r != nil {
		s += fmt.Sprintf(", exit code %d", r.Exit)
		if said, ok := Said(c.log); ok {
			s += " and " + said.Keyword + " notwithstanding"
		}
		if r.Error != "" {
			s += "; wrapper: " + r.Error
		}
	}
	return s + c.reason()
}

func (c *attempt) aborted() string {
	s := "aborted by the batch system" + c.ran()
	if r := c.in.Evidence.Result; r != nil {
		s += fmt.Sprintf(", exit code %d", r.Exit)
	}
	return s + c.reason()
}

func (c *attempt) lost() string {
	s := "the batch system lost it: neither its listings nor its accounting show it, its wrapper left no result"
	if cl := c.in.Evidence.Claim; cl != nil && cl.Time != 0 {
		s += fmt.Sprintf(" since it started on %s at %s", cl.Host, cl.Time)
	}
	return s
}

func (c *attempt) noResult() string {
	s := "its wrapper left no result" + c.ran() + "; the batch system says " + c.batchSays() + c.reason()
	if c.log.End {
		s += fmt.Sprintf("; the application had ended with exit code %d", c.log.AppExit)
	}
	return s
}

// exitCode is "exit code 137 (signal 9) after 5m1s on wn7: what FAILED said".
func (c *attempt) exitCode() string {
	exit, signal := c.log.AppExit, 0
	if r := c.in.Evidence.Result; r != nil {
		exit, signal = r.Exit, r.Signal
	}
	s := fmt.Sprintf("exit code %d", exit)
	switch {
	case signal != 0:
		s += fmt.Sprintf(" (signal %d%s)", signal, ofCPU(signal))
	case exit == 126:
		s += " (the command could not be executed)"
	case exit == 127:
		s += " (the command was not found)"
	}
	s += c.ran()
	for _, t := range c.log.Terminals {
		// Under exit the wrapper itself writes "FAILED exit=<n>".
		if t.Keyword == glf.Failed && !strings.HasPrefix(t.Data, "exit=") && t.Data != "" {
			return s + ": " + t.Data
		}
	}
	return s
}

// defect says why a log has no valid result.
func (c *attempt) defect(level string) string {
	says := "; the batch system says " + c.batchSays() + c.reason()
	switch level {
	case LevelBatch:
		return "its wrapper claimed it and left no start record in the log" + says
	case LevelWorker:
		return "its wrapper stopped without an end record" + c.ran() + says
	}
	if c.log.AppExit != 0 {
		return c.exitCode()
	}
	ts := c.log.Terminals
	switch {
	case len(ts) == 0:
		return "exit code 0" + c.ran() + ", but none of SUCCEEDED, FAILED, RETRY, HOLD in the log"
	case len(ts) == 1:
		return "exit code 0" + c.ran() + ", but " + ts[0].Keyword + " without data in the log"
	}
	return fmt.Sprintf("exit code 0%s, but %d of SUCCEEDED, FAILED, RETRY, HOLD in the log (first %s, last %s)",
		c.ran(), len(ts), ts[0].Keyword, ts[len(ts)-1].Keyword)
}

func (c *attempt) unverified() string {
	return "application says SUCCEEDED" + c.ran() +
		", but its wrapper left no result, so the outputs were not collected; " +
		"the batch system says " + c.batchSays() + c.reason()
}

// missing lists the files that SUCCEEDED names and that are not there
// (decision R24); "-" names none.
func (c *attempt) missing() []jjm.Output {
	r := c.in.Evidence.Result
	said, ok := Said(c.log)
	if r == nil || !ok || said.Keyword != glf.Succeeded {
		return nil
	}
	var names []string
	for _, w := range glf.SplitArgs(said.Data) {
		if w != "-" {
			names = append(names, path.Clean(w))
		}
	}
	var out []jjm.Output
	for _, o := range r.Outputs {
		if o.Absent != "" && named(names, path.Clean(o.Name)) {
			out = append(out, o)
		}
	}
	return out
}

// named reports whether one of the names means the file: the same path, or one
// of the two being the end of the other, since either may be written from the
// job's directory, from the attempt's, or absolute.
func named(names []string, file string) bool {
	for _, n := range names {
		if n == file || strings.HasSuffix(file, "/"+n) || strings.HasSuffix(n, "/"+file) {
			return true
		}
	}
	return false
}

func (c *attempt) absent() string {
	missing := c.missing()
	s := fmt.Sprintf("application says SUCCEEDED%s, but %d of the files it names are missing: ", c.ran(), len(missing))
	for i, o := range missing {
		if i == 3 {
			return s + ", ..."
		}
		if i > 0 {
			s += ", "
		}
		s += o.Name + " (" + o.Absent + ")"
	}
	return s
}

// retryText says which retry of how many comes next: "; retry 2 of 20 (early)".
func (t table) retryText(o Outcome) string {
	switch o.Class {
	case Early:
		return fmt.Sprintf("; retry %d of %d (early)", o.Counters.Early, *t.lim.Early)
	case LateHandled:
		return fmt.Sprintf("; retry %d of %d (late, asked for)", o.Counters.LateHandled, *t.lim.LateHandled)
	}
	return fmt.Sprintf("; retry %d of %d (late)", o.Counters.LateUnhandled, *t.lim.LateUnhandled)
}

// ofCPU words the signal of who used up the processor time that it may use
// (setrlimit(2), RLIMIT_CPU).
func ofCPU(signal int) string {
	if signal == int(syscall.SIGXCPU) {
		return ": it used up its processor time"
	}
	return ""
}
