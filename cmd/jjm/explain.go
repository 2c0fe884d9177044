package main

import (
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
)

// explain shows by which rule an attempt was judged.
type explain struct {
	Attempt *int32 `placeholder:"N" help:"Attempt N, from 0; the last that ended by default."`
	JSON    bool   `name:"json" help:"One JSON object."`
	ID      string `arg:"" name:"ID.N" help:"The local job."`

	place
}

// Help returns the text of --help below the usage.
func (*explain) Help() string {
	return "The verdict is the stored one. The line of each rule shows the outcome of the present rules and limits for " +
		"the stored evidence: the verdict or order of a rule whose conditions all hold, otherwise the first " +
		"condition that does not hold."
}

// Run carries out jjm explain.
func (e *explain) Run(c *cli) error {
	if err := oneLocal("explain", e.ID); err != nil {
		return err
	}
	if e.Attempt != nil && *e.Attempt < 0 {
		return usage("--attempt %d: want the number of an attempt, from 0", *e.Attempt)
	}
	a, err := ask(c, e.place, wire.VerbExplain(), wire.ExplainRequest{One: wire.OneRef(e.ID), Attempt: e.Attempt})
	switch {
	case err != nil:
		return err
	case e.JSON:
		return c.printJSON(a.Explain)
	}
	return c.printExplained(a.Explain)
}

// printExplained prints the evidence and the verdict of an attempt, if it has both, and then a line for each rule.
func (c *cli) printExplained(x *wire.Explained) error {
	_, _ = fmt.Fprintf(c.out, "attempt %d of local job %s\n", x.Attempt.Attempt, plain.Printable(x.Local))
	if x.Attempt.Evidence != nil && x.Attempt.Verdict != nil {
		err := c.facts([][2]string{{"evidence", x.Attempt.Evidence.Text()}, {"verdict", verdictText(x.Attempt.Verdict)},
			{"rule", ruleText(x.Attempt.Verdict)}})
		if err != nil {
			return err
		}
	}
	_ = c.out.WriteByte('\n')
	return c.ruleTable(x.Rules)
}

// ruleTable prints the outcome of each rule.
func (c *cli) ruleTable(all []wire.RuleSays) error {
	rows := [][]string{{"RULE", "FROM", "ORDER", "DECIDES", "SAYS"}}
	for _, r := range all {
		decides, says := "no", r.Says
		switch {
		case r.Decides:
			decides = "yes"
		case r.LogOnly && r.Unmet == "":
			decides = "only logged"
		}
		if r.Unmet != "" {
			says = "nothing: " + r.Unmet
		}
		rows = append(rows, []string{r.Rule, r.Origin, r.Do, decides, says})
	}
	return c.wholeTable(rows, "FROM")
}
