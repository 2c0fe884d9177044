package analyse

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
)

// maxText is the greatest length of a verdict's text in bytes. The text is stored with every local job and shown on one
// line.
const maxText = 1000

// tidy returns s as one printable line of at most maxText bytes. s may contain any bytes that jobs wrote.
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

// ran returns the run time and the host of the attempt as far as they are known: " after 5 min 1 s on wn7". It prefers
// the time that the wrapper measured, which is also shown as usage, because the times in a log have no fractions of a
// second.
func (c *attempt) ran() string {
	if !c.started {
		return " before it started"
	}
	s, took := "", time.Duration(c.seconds())*time.Second
	if r := c.in.Evidence.Result; r != nil && r.WallMS > 0 {
		took = time.Duration(r.WallMS) * time.Millisecond
	}
	if took > 0 {
		s = " after " + jjm.HowLong(took)
	}
	if h := c.host(); h != "" {
		s += " on " + h
	}
	return s
}

// host returns the batch system's name of the host, because administrators exclude hosts by this name. If the batch
// system named no host, it returns the host's own name, which the wrapper noted.
func (c *attempt) host() string {
	ev := &c.in.Evidence
	return cmp.Or(ev.Batch.Host, c.in.Host, ev.OwnHost())
}

// reason returns the batch system's own text as a last clause, or "".
func (c *attempt) reason() string {
	if r := c.in.Evidence.Batch.Reason; r != "" {
		return ": " + r
	}
	return ""
}

// batchSays returns the batch system's state with exit code or signal: "FAILED, exit 91".
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

// exitCode returns "exit code 139 (SIGSEGV, it used memory that is not its own) after 5 min on wn7: TEXT", with the
// text of a FAILED record.
func (c *attempt) exitCode() string {
	exit, signal := c.log.AppExit, 0
	if r := c.in.Evidence.Result; r != nil {
		exit, signal = r.Exit, r.Signal
	}
	s := fmt.Sprintf("exit code %d", exit)
	switch {
	case signal != 0:
		s += " (" + jjm.SignalText(signal) + ")"
	case shellSignal(exit) != "":
		s += " (as shells say: " + shellSignal(exit) + ")"
	case exit == 126:
		s += " (the command could not be executed)"
	case exit == 127:
		s += " (the command was not found)"
	}
	s += c.ran()
	for _, t := range c.log.Terminals {
		// Under exit, the wrapper itself writes "FAILED exit=<n>", which adds nothing to the exit code.
		if t.Keyword == glf.Failed && !strings.HasPrefix(t.Data, "exit=") && t.Data != "" {
			return s + ": " + t.Data
		}
	}
	return s
}

// noKeyword is the text about an application that wrote none of SUCCEEDED, FAILED, RETRY and HOLD. It names the
// remedy for a command that does not know of the log.
const noKeyword = `no keyword in the log: did the command call $GBS_LOG? If it never does, set result = "exit" in ` +
	`the job file`

// defect returns the reason, for people, why a log has no valid result.
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
	case c.wordless():
		return noKeyword + "; exit code 0" + c.ran()
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

// missing returns the output files that the SUCCEEDED record lists and that do not exist (decision R24). "-" stands for
// no files.
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

// named reports whether one of the names denotes the file. The paths may be absolute, or relative to the job's or the
// attempt's directory; therefore one path may be the end of the other.
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

// maxPattern is the greatest number of bytes shown of a pattern of outputs.
const maxPattern = 200

// outputNotices returns notices about the patterns of outputs for which no file was collected, and about the outputs
// that were left out.
func (c *attempt) outputNotices() (all []jjm.Notice) {
	for _, u := range c.unmet() {
		if u.Left == "" {
			all = append(all, jjm.Notice{Kind: jjm.NoOutput, Text: "output " + u.Pattern + ": " + u.Why})
		}
	}
	for _, l := range c.leftOut() {
		all = append(all, jjm.Notice{Kind: jjm.LeftOutput, Text: fmt.Sprintf("outputs left out (%s)", l.Reason)})
	}
	return all
}

// leftOut returns the outputs that the attempt left out, except outputs that the job file allows to leave out.
func (c *attempt) leftOut() jjm.LeftList {
	if c.in.Evidence.Result == nil {
		return nil
	}
	return c.in.Evidence.Result.LeftOut().Unasked()
}

// unmet returns the unmet patterns of outputs. It makes their texts fit on a line, because the job's account can write
// any text into a result.
func (c *attempt) unmet() (all []jjm.Unmet) {
	if c.in.Evidence.Result == nil {
		return nil
	}
	for _, u := range c.in.Evidence.Result.Unmet {
		all = append(all, jjm.Unmet{Pattern: tidy(clip(u.Pattern)), Why: tidy(clip(u.Why)), Required: u.Required,
			Left: u.Left, Patterns: u.Patterns})
	}
	return all
}

// required returns the unmet patterns that must have a file.
func (c *attempt) required() []jjm.Unmet {
	return slices.DeleteFunc(c.unmet(), func(u jjm.Unmet) bool { return !u.Required })
}

// requiredAbsent returns a text that names the missing required outputs.
func (c *attempt) requiredAbsent() string {
	s := "a required output is not there: "
	all := c.required()
	if len(all) > 1 {
		s = fmt.Sprintf("%d required outputs are not there: ", len(all))
	}
	for i, u := range all {
		if i == 3 {
			s += ", ..."
			break
		}
		if i > 0 {
			s += ", "
		}
		s += u.Pattern + " (" + u.Why + ")"
	}
	return s + "; exit code 0" + c.ran()
}

func clip(s string) string {
	if len(s) > maxPattern {
		return strings.ToValidUTF8(s[:maxPattern], "") + "..."
	}
	return s
}

// lacking returns the outputs that were left out and the patterns for which no file was collected, as a last clause.
func (c *attempt) lacking() string {
	left := c.leftOut().String()
	if left != "" {
		left = "; " + left
	}
	all := slices.DeleteFunc(c.unmet(), func(u jjm.Unmet) bool { return u.Left != "" })
	if len(all) == 0 {
		return left
	}
	s := left + "; no output for "
	for i, u := range all {
		if i == 3 {
			return s + ", ..."
		}
		if i > 0 {
			s += ", "
		}
		s += u.Pattern
	}
	return s
}

// retryText returns the number of the next retry and the limit: "; retry 2 of 20 (early)".
func (t table) retryText(o Outcome) string {
	switch o.Class {
	case Early:
		return fmt.Sprintf("; retry %d of %d (early)", o.Counters.Early, *t.lim.Early)
	case LateHandled:
		return fmt.Sprintf("; retry %d of %d (late, asked for)", o.Counters.LateHandled, *t.lim.LateHandled)
	}
	return fmt.Sprintf("; retry %d of %d (late)", o.Counters.LateUnhandled, *t.lim.LateUnhandled)
}

// limitText returns a text about the retry limit that was reached: "; retry limit reached: 20 of 20 after early
// failures".
func (t table) limitText(o Outcome) string {
	limit, after := *t.lim.LateUnhandled, "late failures"
	switch o.Class {
	case Early:
		limit, after = *t.lim.Early, "early failures"
	case LateHandled:
		limit, after = *t.lim.LateHandled, "late failures, asked for"
	}
	if limit == 0 {
		return "; no retries after " + after + " (their limit is 0)"
	}
	return fmt.Sprintf("; retry limit reached: %d of %d after %s", limit, limit, after)
}

// shellSignal returns the meaning of an exit code of 128 + n, with which shells report that signal n ended a command;
// "" for other codes.
func shellSignal(exit int) string {
	text := jjm.SignalText(exit - 128)
	if exit <= 128 || strings.HasPrefix(text, "signal ") {
		return ""
	}
	return text
}
