package main

import (
	"cmp"
	"fmt"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// retriesText returns how many retries a local job had and how many it may have: "1 of 20 after early failures".
func retriesText(n jjm.Counters, limits jjm.Limits) string {
	var texts []string
	for _, r := range []struct {
		n     int
		most  *int
		after string
	}{{n.Early, limits.Early, "early failures"}, {n.LateHandled, limits.LateHandled, "late failures, asked for"},
		{n.LateUnhandled, limits.LateUnhandled, "late failures"}} {
		switch {
		case r.n == 0:
		case r.most == nil:
			texts = append(texts, fmt.Sprintf("%d after %s", r.n, r.after))
		default:
			texts = append(texts, fmt.Sprintf("%d of %d after %s", min(r.n, *r.most), *r.most, r.after))
		}
	}
	return strings.Join(texts, "; ")
}

// localUsedText returns the resources that the last ended attempt of a local job used: "attempt 1: ran 2 min, CPU 1 min
// 50 s user and 3 s system, 312 MiB resident at most". It returns "" if no attempt has ended.
func localUsedText(d *wire.LocalDetail) string {
	if d.Used == nil {
		return ""
	}
	return fmt.Sprintf("attempt %d: %s", d.UsedBy, usageOfText(d.Used))
}

// usageOfText returns the used resources of one or more attempts as text, or "" if u is nil.
func usageOfText(u *jjm.Usage) string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("ran %s, CPU %s user and %s system, %d MiB resident at most", plain.Milliseconds(u.WallMS),
		plain.Milliseconds(u.UserMS), plain.Milliseconds(u.SysMS), plain.Mebibytes(u.MaxRSSKB))
}

// wastedText returns the CPU time that a local job wasted, and the CPU time of all its ended attempts. It returns "" if
// d does not contain the usage of all attempts.
func wastedText(d *wire.LocalDetail) string {
	if d.UsedByAll == nil {
		return ""
	}
	lost := d.Wasted
	if lost == nil {
		lost = &jjm.Usage{}
	}
	all := d.UsedByAll
	return fmt.Sprintf("CPU %s of %s: attempts that failed, or began again from scratch",
		plain.Milliseconds(lost.UserMS+lost.SysMS), plain.Milliseconds(all.UserMS+all.SysMS))
}

// judgedRows returns the rows about the last ended attempt: the evidence of its end, the verdict, and the rules that
// decided the verdict. It returns no rows if the verdict or the evidence is missing.
func judgedRows(d *wire.LocalDetail) [][2]string {
	if d.Verdict == nil || d.Evidence == nil {
		return nil
	}
	return [][2]string{{"evidence", d.Evidence.Text()}, {"verdict", fmt.Sprintf("attempt %d: %s", d.UsedBy,
		verdictText(d.Verdict))}, {"rule", ruleText(d.Verdict)}}
}

// ruleText returns the names of the rules that decided a verdict, each with its effect, and what each rule that is only
// logged would have decided.
func ruleText(v *jjm.Verdict) string {
	var texts []string
	if v.Rule != "" {
		texts = append(texts, v.Rule)
	}
	if v.Limited != "" {
		texts = append(texts, "no further attempt by "+v.Limited)
	}
	for _, up := range v.StepUps {
		texts = append(texts, up.Do+" by "+up.Rule)
	}
	if v.Attention != "" {
		texts = append(texts, "needs attention by "+v.Attention)
	}
	for _, note := range v.LogOnly {
		texts = append(texts, "only logged: "+note.Rule+" would say "+note.Says)
	}
	return strings.Join(texts, "; ")
}

// printLocal prints a local job. detail may be nil. steps is set if the grid job has several steps. words has the last
// lines that the local job wrote to standard error, by its id.
func (c *cli) printLocal(l jjm.LocalJob, detail *wire.LocalDetail, steps bool, words map[string][]string) error {
	if detail == nil {
		detail = &wire.LocalDetail{}
	}
	_, _ = fmt.Fprintf(c.out, "local job %v: %s\n", l.ID, plain.Printable(stateText(l)))
	exitCode := ""
	if l.Exit >= 0 && l.Ended != 0 {
		exitCode = fmt.Sprint(l.Exit)
	}
	step := ""
	if steps {
		step = jjm.StepName(l.Step)
	}
	held, waits := heldText(l), ""
	if held == "" {
		waits = waitsText(l.Waits)
	}
	rows := [][2]string{
		{"as of", silentText(l.Cluster, detail.Silent)}, {"step", step}, {"work", l.Part.Work()},
		{"words", strings.Join(l.Part.Args, " ")},
		{"attempt", attemptText(&l)},
		{"retries", retriesText(l.Counters, detail.Limits)}, {"retry with", strings.Join(l.RetryArgs,
			" ")}, {"resubmitted", l.Again.Text(detail.MaxAutoResubmits)}, {"not before", plain.Clock(l.NotBefore)},
		{"requests", askedText(detail)},
		{"cluster", l.Cluster}, {"batch job", l.BatchID}, {"held by", held}, {"waits for", waits},
		{"expected start", startsText(l.Waits)}, {"host", l.Host}, {"submitted", plain.Clock(l.Submitted)},
		{"started", plain.Clock(l.Started)},
		{"ended", plain.Clock(l.Ended)}, {"exit", exitCode}, {"progress", phaseText(l.Progress)}, {"message", l.Message},
	}
	rows = append(rows, wordsRows(l.ID.String(), words)...)
	rows = append(rows, judgedRows(detail)...)
	return c.facts(append(rows, [2]string{"used", localUsedText(detail)},
		[2]string{"all attempts", usageOfText(detail.UsedByAll)},
		[2]string{"of it wasted", wastedText(detail)}, [2]string{"work folder", detail.Folder}))
}

// silentText returns from when the state of a local job is known, and since when its cluster has not answered. It
// returns "" if the cluster answers.
func silentText(cluster string, s *wire.Silence) string {
	switch {
	case s == nil:
		return ""
	case s.AsOf == 0:
		return fmt.Sprintf("before the start of the daemon: cluster %s has not answered since %s", cluster,
			plain.Clock(s.Since))
	}
	return fmt.Sprintf("%s, the last listing: cluster %s has not answered since %s", plain.Clock(s.AsOf), cluster,
		plain.Clock(s.Since))
}

// askedText returns the resources that a command requested for a local job after its submission, or "" if there are
// none.
func askedText(d *wire.LocalDetail) string {
	if d.Asked == nil || *d.Asked == (jjm.Resources{}) {
		return ""
	}
	return d.Asked.String() + ", set after the submission"
}

// attemptText returns the number of the current attempt. If this attempt has not been submitted yet, because it waits
// for its time or for a release, the text adds that the host, times, exit code and message belong to the previous
// attempt.
func attemptText(l *jjm.LocalJob) string {
	if l.Phase != jjm.RetryWait && l.Phase != jjm.HeldByPerson || l.Attempt == 0 {
		return fmt.Sprint(l.Attempt)
	}
	return fmt.Sprintf("%d, the next one; host, times, exit and message are of attempt %d", l.Attempt, l.Attempt-1)
}

func stateText(l jjm.LocalJob) string {
	if l.Phase == "" {
		return l.State.String()
	}
	return l.State.String() + "/" + string(l.Phase)
}

func (c *cli) localTable(ls []jjm.LocalJob, steps bool) error {
	rows := [][]string{{"ID", "STATE", "ATTEMPT", "CLUSTER", "BATCH JOB", "HOST", plain.Zoned("SINCE"), "EXIT", "DETAIL"}}
	for _, l := range ls {
		exitCode := "-"
		if l.Exit >= 0 && l.Ended != 0 {
			exitCode = fmt.Sprint(l.Exit)
		}
		rows = append(rows, []string{l.ID.String(), stateText(l), fmt.Sprint(l.Attempt), l.Cluster, l.BatchID, l.Host,
			plain.Stamp(cmp.Or(l.Ended, l.Started, l.Submitted)), exitCode, detailText(l)})
	}
	if steps {
		column(rows, "STEP", func(i int) string { return jjm.StepName(ls[i].Step) })
	}
	return c.table(rows, "CLUSTER", "BATCH JOB", "HOST", "DETAIL")
}

// detailText returns the cell of the column DETAIL for a local job. If the local job is over and has a message, the
// cell is this message. Otherwise the cell says who holds the local job or, if nobody holds it, the reason why it
// waits, its progress and its message. The cell has no further texts, because the column may be cut.
func detailText(l jjm.LocalJob) string {
	if l.Over() && l.Message != "" {
		return l.Message
	}
	if held := heldText(l); held != "" {
		return "held by " + held
	}
	var parts []string
	for _, part := range []string{waitsFor(l.Waits), phaseText(l.Progress), l.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

// waitsFor returns "waits for" and the reason why a batch job waits, or "" if no reason is known. Unlike waitsText it
// leaves out who reported the reason.
func waitsFor(w *jjm.Waiting) string {
	if reason := waitReason(w); reason != "" {
		return "waits for " + reason
	}
	return ""
}
