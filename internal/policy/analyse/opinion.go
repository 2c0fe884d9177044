package analyse

import (
	"fmt"
	"strings"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
)

// opinionCounts reports whether the job type's opinion decides; see Attempt.
func (c *attempt) opinionCounts() bool {
	op, r := c.in.Opinion, c.in.Evidence.Result
	if op == nil || r == nil || r.Error != "" || c.in.KillIntent {
		return false
	}
	switch c.batch {
	case jjm.BatchCancelled, jjm.BatchOOM, jjm.BatchTimeout, jjm.BatchAborted:
		return false
	}
	return op.Action != jjm.Complete || len(c.missing()) == 0 && len(c.required()) == 0
}

// asOpined returns the verdict of an opinion that counts. After an invalid opinion, the local job fails: the job type
// has an error, and another attempt would not help.
func (c *attempt) asOpined() jjm.Verdict {
	op := c.in.Opinion
	text := fmt.Sprintf("the job type says %s: %s%s", op.Action, op.Text, c.ran())
	switch op.Action {
	case jjm.Complete:
		return c.plain(LevelType, jjm.Complete, "", text)
	case jjm.Fail:
		return c.plain(LevelType, jjm.Fail, jjm.ByApp, text)
	case jjm.Retry, jjm.Hold:
		if why := badArgs(op.RetryArgs); why != "" {
			return c.plain(LevelType, jjm.Fail, jjm.ByApp, text+"; but "+why)
		}
		return c.again(op, text)
	}
	return c.plain(LevelType, jjm.Fail, jjm.ByApp, fmt.Sprintf("the job type says %.40q: want %s, %s, %s or %s", op.Action,
		jjm.Complete, jjm.Retry, jjm.Hold, jjm.Fail))
}

// again returns the verdict of an opinion of retry or hold, which counts as requested by the application.
func (c *attempt) again(op *jjm.Opinion, text string) jjm.Verdict {
	o := c.table.count(LevelType, c.table.class(c.seconds(), LateHandled))
	o.Handled = true
	if !o.ByLimit {
		o.Status = Hold
		if op.Action == jjm.Retry {
			o.Status = Retry
		}
		if op.Action == jjm.Retry && op.RetryArgs != nil {
			o.RetryArgs = op.RetryArgs
		}
	}
	return c.verdict(o, jjm.ByApp, text)
}

// maxArgs bounds retry arguments, in bytes, because they are stored with every local job.
const maxArgs = 4 << 10

// badArgs returns the reason why retry arguments cannot be used, "" if they can be used.
func badArgs(args []string) string {
	n := 0
	for _, a := range args {
		if strings.ContainsAny(a, "\x00\n\r") {
			return fmt.Sprintf("its retry argument %.40q has more than one line", a)
		}
		n += len(a) + 1
	}
	if n > maxArgs {
		return fmt.Sprintf("its retry arguments have %d bytes, beginning with %.40q: %d are the most", n, glf.JoinArgs(args),
			maxArgs)
	}
	return ""
}
