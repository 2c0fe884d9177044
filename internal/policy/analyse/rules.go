package analyse

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
	"jjm/internal/policy/analyse/rule"
)

// facts returns the facts that conditions of rules can use. Level and Verdict are not known yet.
func (c *attempt) facts() rule.Facts {
	ev := &c.in.Evidence
	f := rule.Facts{Result: jjm.ResultExit, Batch: c.batch, Exit: -1, Text: c.saidByAll(), Type: c.in.Type,
		Cluster: c.in.Cluster, Params: map[string]string{}, Is: map[string]bool{
			rule.IsOpinion: c.opinionCounts(), rule.IsAsked: c.asked(), rule.IsSuccess: c.success(),
			rule.IsKilled: c.in.KillIntent, rule.IsStarted: c.started, rule.IsResult: ev.Result != nil,
			rule.IsError: ev.Result != nil && ev.Result.Error != "", rule.IsEnded: c.batch.Ended(),
			rule.IsRequired: c.succeeded() && len(c.required()) > 0,
		}}
	if c.glfMode {
		f.Result = jjm.ResultGLF
	}
	switch {
	case ev.Result != nil:
		f.Exit = ev.Result.Exit
	case c.log.End:
		f.Exit = c.log.AppExit
	}
	for name, value := range c.in.Params {
		switch value.(type) {
		case string, bool, int64, float64:
			f.Params[name] = fmt.Sprint(value)
		}
	}
	return f
}

// saidByAll returns the texts of batch system, wrapper, application and job type, each on a line.
func (c *attempt) saidByAll() string {
	ev := &c.in.Evidence
	lines := []string{ev.Batch.Reason}
	if ev.Result != nil {
		lines = append(lines, ev.Result.Error)
	}
	for _, t := range c.log.Terminals {
		lines = append(lines, t.Data)
	}
	if c.in.Opinion != nil {
		lines = append(lines, c.in.Opinion.Text)
	}
	return strings.Join(lines, "\n")
}

// carryOut returns the verdict of the matching rule r, with the rule's name. Unless jjm ships the rule, the text also
// names the rule's origin. If r is nil, no rule matched, and the local job fails.
func (c *attempt) carryOut(r *rule.Rule) jjm.Verdict {
	if r == nil {
		return c.plain(LevelApplication, jjm.Fail, jjm.ByApp, "no rule says what to do: "+c.diagnosis())
	}
	v := c.ordered(r)
	v.Rule = r.Name
	if r.Origin != rule.Shipped {
		v.Text = tidy(v.Text + fmt.Sprintf("; by rule %s of %s", r.Name, originText(r.Origin)))
	}
	return v
}

// originText returns the name of an origin for people: "the site", "type mc".
func originText(origin string) string {
	if origin == rule.Site {
		return "the site"
	}
	return origin
}

// ordered returns the verdict that a rule orders, without the rule's name. The rule sets level and blame. By default,
// an attempt that never started has level BATCH and its failure is blamed on the batch system; any other attempt has
// level APPLICATION and its failure is blamed on the application.
func (c *attempt) ordered(r *rule.Rule) jjm.Verdict {
	level, phase := r.At, jjm.ByApp
	if level == "" {
		level = LevelApplication
		if !c.started {
			level = LevelBatch
		}
	}
	if r.Blame == rule.BlameBatch || r.Blame == "" && !c.started {
		phase = jjm.ByLoss
	}
	switch r.Do {
	case rule.ByOpinion:
		return c.asOpined()
	case rule.AsSaid:
		return c.asSaid()
	case rule.ByLog:
		return c.byLog()
	case rule.Cancel:
		return c.plain(LevelIntent, jjm.Cancel, jjm.ByPerson, "killed on request"+c.ran())
	case rule.Hold:
		held := jjm.HeldByApp
		if r.Blame == rule.BlameBatch {
			held = jjm.HeldByBatch
		}
		return c.plain(level, jjm.Hold, held, c.diagnosis())
	case rule.Retry:
		class := r.Class
		if class == "" {
			class = c.byTime()
		}
		return c.unhandled(level, class, phase, c.diagnosis())
	}
	return c.plain(level, jjm.Fail, phase, c.diagnosis())
}

// diagnosis returns a text about the failure of an attempt, from its evidence only.
func (c *attempt) diagnosis() string {
	ev := &c.in.Evidence
	switch {
	case c.batch == jjm.BatchCancelled && !c.in.KillIntent:
		return c.cancelled()
	case !c.started:
		return c.neverStarted()
	case c.batch == jjm.BatchOOM || c.batch == jjm.BatchTimeout:
		return c.overLimit()
	case ev.Result != nil && ev.Result.Error != "":
		return "wrapper: " + ev.Result.Error + c.ran()
	case c.batch == jjm.BatchAborted:
		return c.aborted()
	case ev.Result == nil && !c.batch.Ended():
		return c.lost()
	case !c.glfMode && ev.Result == nil:
		return c.noResult()
	case c.succeeded() && len(c.required()) > 0:
		return c.requiredAbsent()
	}
	return c.exitCode()
}

// note adds to the verdict the rules that only log (log_only) and would otherwise have decided, each with the verdict
// that it would have returned.
func (c *attempt) note(v *jjm.Verdict, noted []*rule.Rule) {
	for _, r := range noted {
		v.LogOnly = append(v.LogOnly, jjm.RuleNote{Rule: r.Name, Says: saysOf(c.carryOut(r))})
	}
}

// saysOf returns a short text of a verdict: "retry (GRID, LATE_UNHANDLED)".
func saysOf(v jjm.Verdict) string {
	by := v.Level
	if v.Class != "" {
		by += ", " + v.Class
	}
	return fmt.Sprintf("%s (%s)", v.Action, by)
}

// obey adds the further orders of rules (more memory, fewer attempts, attention) to a verdict of retry, hold or fail.
// It also adds notes of the rules that only log. Other verdicts are not changed.
func (c *attempt) obey(v *jjm.Verdict, f *rule.Facts) {
	switch v.Action {
	case jjm.Retry, jjm.Hold, jjm.Fail:
	default:
		return
	}
	f.Level, f.Verdict = v.Level, v.Action
	decide, noted := c.in.Rules.Orders(f)
	for _, r := range decide {
		c.obeyOne(v, r)
	}
	for _, r := range noted {
		v.LogOnly = append(v.LogOnly, jjm.RuleNote{Rule: r.Name, Says: r.Do})
	}
}

func (c *attempt) obeyOne(v *jjm.Verdict, r *rule.Rule) {
	switch r.Kind() {
	case rule.KindRetry:
		c.limitRetry(v, r)
	case rule.KindAttention:
		v.Attention = r.Name
	default:
		v.StepUps = append(v.StepUps, jjm.StepUp{Rule: r.Name, Do: r.Do, Factor: r.Factor})
	}
}

// limitRetry turns a retry into a failure if rule r allows no further attempt. All failed attempts of the local job
// count, including this attempt.
func (c *attempt) limitRetry(v *jjm.Verdict, r *rule.Rule) {
	most := max(r.MaxAttempts, 1)
	if r.Do == rule.NoRetry {
		most = 1
	}
	made := v.Counters.Early + v.Counters.LateHandled + v.Counters.LateUnhandled
	if v.Action != jjm.Retry || made < most {
		return
	}
	v.Action, v.Phase, v.RetryArgs, v.Limited = jjm.Fail, jjm.ByLimit, c.in.RetryArgs, r.Name
	v.Text = tidy(c.diagnosisOf(v) + fmt.Sprintf("; rule %s allows %s", r.Name, jjm.Count(most, "attempt")))
}

// diagnosisOf returns the text of a retry without the announcement of the next attempt, which retryText appended as
// "; retry N of M".
func (c *attempt) diagnosisOf(v *jjm.Verdict) string {
	text, _, _ := strings.Cut(v.Text, "; retry ")
	return text
}
