package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"jjm/internal/api/gate/client"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// status shows the details of jobs.
type status struct {
	JSON bool     `name:"json" help:"One JSON object per line."`
	Refs []string `arg:"" optional:"" name:"ID" help:"Grid jobs or local jobs: 12, 12.3, 12.3-7, 12.*, name:GLOB; without ids and filters, the site."`

	filters
	place
}

// Help returns the text of --help below the usage.
func (*status) Help() string {
	return "For an id that is unknown, or that belongs to another account, the line is ID error KIND TEXT (with --json " +
		"its lookup has an error). The first such id determines the exit code.\n\n" +
		"Filters select among the ids or, without any, among all your jobs (an administrator's: all jobs): whole " +
		"grid jobs or, with a filter of local jobs, the matching local jobs, in one table for each grid job. If " +
		"nothing matches, a message says so, and the exit code is 0. jjm status 17 --job-state failed --exit 3 " +
		"shows the local jobs of 17 that failed with exit code 3. docs/SELECTION.md has all filters."
}

// Run carries out the command.
func (s *status) Run(c *cli) error {
	where, err := s.where(s.place)
	switch {
	case err != nil:
		return err
	case where.Any():
		return s.selected(c, where)
	case len(s.Refs) == 0:
		return s.site(c)
	}
	if s.Refs, err = s.named(c, "status", s.Refs, false, true); err != nil {
		return err
	}
	a, err := ask(c, s.place, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(s.Refs...)})
	if client.IsUnreachable(err) {
		a.Status, err = s.offline(c, "status", err).status(s.Refs)
	}
	if err != nil {
		return err
	}
	if len(a.Status) != len(s.Refs) {
		return jjm.Errorf(jjm.Internal, "status: %d answers for %d ids", len(a.Status), len(s.Refs))
	}
	var first error
	for i, st := range a.Status {
		if st.Lookup.Error != nil && first == nil {
			first = st.Lookup.Error.Err()
		}
		if err := s.print(c, i, st); err != nil {
			return err
		}
	}
	return first
}

// selected shows the jobs that filters select, among the ids if there are any.
func (s *status) selected(c *cli, where selection.Filters) error {
	list, err := patterns(s.Refs, false)
	if err != nil {
		return err
	}
	found, err := s.find(c, list, where)
	if client.IsUnreachable(err) {
		found, err = s.offline(c, "status", err).fitting(list, where)
	}
	if err != nil {
		return err
	}
	found = byGridJob(found)
	if len(found) == 0 {
		c.say("jjm status: %s", nothingFits(list, where))
	}
	s.Refs = nil
	for _, st := range found {
		s.Refs = append(s.Refs, shownAs(st))
	}
	for i, st := range found {
		if err := s.print(c, i, st); err != nil {
			return err
		}
	}
	return nil
}

// find asks the daemon for the jobs that filters select.
func (s *status) find(c *cli, list selection.List, where selection.Filters) (found []wire.Status, err error) {
	a, err := ask(c, s.place, wire.VerbSelect(), wire.SelectRequest{Refs: list.Words(), Where: where,
		For: selection.ToShow})
	if err != nil {
		return nil, err
	}
	for _, refs := range inChunks(a.Select.Refs) {
		a, err := ask(c, s.place, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(refs...)})
		if err != nil {
			return nil, err
		}
		found = append(found, a.Status...)
	}
	// A grid job that was removed since it was found is left out.
	return slices.DeleteFunc(found, func(st wire.Status) bool { return st.Lookup.Error != nil }), nil
}

// byGridJob joins the answers that have local jobs of the same grid job. Each answer has each of its local jobs once,
// by ascending ids.
func byGridJob(all []wire.Status) []wire.Status {
	var out []wire.Status
	at := map[jjm.GridID]int{}
	for _, st := range all {
		i, joined := at[st.Lookup.ID]
		if len(st.Locals) == 0 || !joined {
			at[st.Lookup.ID] = len(out)
			out = append(out, st)
			continue
		}
		out[i].Locals = append(out[i].Locals, st.Locals...)
		slices.SortStableFunc(out[i].Locals, func(a, b jjm.LocalJob) int { return cmp.Compare(a.ID.N, b.ID.N) })
		out[i].Locals = slices.CompactFunc(out[i].Locals, func(a, b jjm.LocalJob) bool { return a.ID == b.ID })
		if len(out[i].Locals) > 1 {
			out[i].Detail = nil
		}
	}
	return out
}

// shownAs returns the id by which a message names an answer: "12", or "12.*" if the answer has local jobs.
func shownAs(st wire.Status) string {
	if len(st.Locals) == 0 {
		return st.Lookup.ID.String()
	}
	return st.Lookup.ID.String() + ".*"
}

// nothingFits returns the message that the filters select nothing. It names the jobs of the command line, if any.
func nothingFits(list selection.List, where selection.Filters) string {
	text := "no grid job fits the filters"
	if where.OfLocals() || slices.ContainsFunc(list, func(p selection.Pattern) bool { return p.Ref.Locals }) {
		text = "no local job fits the filters"
	}
	if len(list) > 0 {
		text += ", of " + strings.Join(list.Words(), " ")
	}
	return text
}

// print prints the i-th answer. If one of several ids failed, its error is printed in its
// place; if a single id failed, it is the error of the command.
func (s *status) print(c *cli, i int, st wire.Status) error {
	words := lastWords(s.client(c), spoken(st))
	if s.JSON {
		return c.printJSON(struct {
			wire.Status
			Stderr map[string][]string `json:"stderr,omitempty"`
		}{st, words})
	}
	if i > 0 {
		_ = c.out.WriteByte('\n')
	}
	if e := st.Lookup.Error; e != nil {
		if len(s.Refs) == 1 {
			return nil
		}
		_, err := fmt.Fprintf(c.out, "%s error %s %s\n", field(s.Refs[i]), e.Kind, printable(e.Text))
		return err
	}
	return c.printStatus(st, s.Refs[i], words)
}

// site shows the clusters and the jobs that are not finished.
func (s *status) site(c *cli) error {
	clusters, err := ask(c, s.place, wire.VerbClusters(), wire.ClustersRequest{})
	if err != nil {
		return err
	}
	jobs, err := ask(c, s.place, wire.VerbList(), wire.ListRequest{List: &wire.List{Limit: 20}})
	if err != nil {
		return err
	}
	if s.JSON {
		return c.printJSON(struct {
			OK       bool           `json:"ok"`
			Status   []wire.Status  `json:"status,omitempty"`
			Clusters []wire.Cluster `json:"clusters,omitempty"`
		}{true, jobs.Status, clusters.Clusters})
	}
	if err := c.clusterTable(clusters.Clusters); err != nil {
		return err
	}
	if err := c.clusterTrouble(clusters.Clusters); err != nil {
		return err
	}
	_ = c.out.WriteByte('\n')
	if len(jobs.Status) == 0 {
		_, err = c.out.WriteString("no unfinished grid jobs\n")
		return err
	}
	return c.listTable(jobs.Status)
}

// printStatus prints the grid job or, for a reference to local jobs, the local jobs.
func (c *cli) printStatus(st wire.Status, ref string, words map[string][]string) error {
	switch {
	case !strings.Contains(ref, "."):
		return c.printGrid(st, words)
	case len(st.Locals) == 1:
		return c.printLocal(st.Locals[0], st.Detail, len(st.Steps) > 0, words)
	}
	return c.localTable(st.Locals, len(st.Steps) > 0)
}

// originRows returns a row for each field of a grid job's origin. Only the first row has the title "from".
func originRows(o *jjm.Origin) [][2]string {
	var rows [][2]string
	for i, f := range o.Fields() {
		rows = append(rows, [2]string{[]string{"from", ""}[min(i, 1)], strings.ReplaceAll(f[0], "_", " ") + " " + f[1]})
	}
	return rows
}

// usageText returns the resource usage of a grid job with its first batch job and host. Without a time of the end, it
// returns only the batch job and the host.
func usageText(u *jjm.Usage) string {
	if u == nil {
		return ""
	}
	text := ""
	if u.Batch != "" {
		text = "batch job " + u.Batch
	}
	if u.Host != "" {
		text = strings.TrimSpace(text + " on " + u.Host)
	}
	if u.Ended == 0 {
		return text
	}
	if text != "" {
		text = "; first " + text
	}
	return fmt.Sprintf("wall %s, CPU %s user and %s system, %d MiB at most%s", milliseconds(u.WallMS), milliseconds(u.UserMS),
		milliseconds(u.SysMS), mebibytes(u.MaxRSSKB), text)
}

// mebibytes rounds up, so that a small use of memory is not shown as none.
func mebibytes(kb int64) int64 { return (kb + 1023) >> 10 }

// printGrid shows a grid job; words are the last lines of the examples of its causes.
func (c *cli) printGrid(st wire.Status, words map[string][]string) error {
	l := st.Lookup
	_, _ = fmt.Fprintln(c.out, hanging(printable(fmt.Sprintf("grid job %v: %s", l.ID, endText(&l)))))
	message := l.Message
	if isFinal(l.Status) {
		message = "" // it is printed above
	}
	gram := l.GRAM.String()
	if l.Code != 0 {
		gram += fmt.Sprintf(", code %d", l.Code)
	}
	exitCode := ""
	if isFinal(l.Status) {
		exitCode = fmt.Sprint(l.Exit)
	}
	rows := [][2]string{
		{"name", st.Name}, {"type", st.Type}, {"model", st.Model}, {"owner", st.Owner}, {"key", st.Key}, {"message", message},
		{"after", afterText(&st)}, {"local jobs", jobsText(st, time.Now())}, {"progress", phasesText(st.Phases)},
		{"cluster", clustersText(st)},
		{"gatekeeper", gram}, {"master", l.Master}, {"accepted", clock(st.Accepted)}, {"ended", clock(st.Ended)},
		{"expected end", expectedText(st.ExpectedEnd, time.Now())},
		{"proven", st.Proof.Text()}, {"exit", exitCode}, {"output", l.Tar}, {"record", st.Record},
		{"handle", string(st.Handle)}, {"used", usageText(l.Usage)},
	}
	rows = append(rows, generationRows(st)...)
	for i, s := range st.Steps {
		rows = append(rows, [2]string{[]string{"steps", ""}[min(i, 1)], stepText(s) + stepMore(s)})
	}
	rows = append(rows, originRows(st.Origin)...)
	rows = append(rows, heldRows(st.Holds)...)
	rows = append(rows, causeRows(st.Causes, words)...)
	rows = append(rows, [2]string{"recovered by", idsText(st.RecoveredBy)})
	for i, in := range st.Inputs {
		rows = append(rows, [2]string{[]string{"reads", ""}[min(i, 1)],
			in.Dataset + map[bool]string{true: " (open)"}[in.Open] + inputText(in)})
	}
	untold := slices.DeleteFunc(slices.Clone(st.Trouble), func(s string) bool { return strings.Contains(message, s) })
	for i, trouble := range untold {
		rows = append(rows, [2]string{[]string{"trouble", ""}[min(i, 1)], trouble})
	}
	for i, w := range st.Warnings {
		rows = append(rows, [2]string{[]string{"warning", ""}[min(i, 1)], w.Line})
	}
	for i, j := range st.ClusterJobs {
		rows = append(rows, [2]string{[]string{"cluster jobs", ""}[min(i, 1)],
			j.ID + ": " + countsText(&wire.Lookup{Counts: j.Counts})})
	}
	if st.Waits != "" {
		rows = append(rows, [2]string{"waits", st.Waits})
	}
	if st.WaitsFor != "" {
		rows = append(rows, [2]string{"waits for", strings.TrimPrefix(st.WaitsFor, "waiting for ")})
	}
	for i, why := range st.Why {
		rows = append(rows, [2]string{[]string{"why", ""}[min(i, 1)], why})
	}
	return c.facts(rows)
}

// generationRows returns the rows about the past generations of a grid job, and about a generation that is about to
// begin.
func generationRows(st wire.Status) (rows [][2]string) {
	for i, e := range st.Endings {
		text := fmt.Sprintf("%d: %s", e.Generation, e.Status)
		if e.Message != "" {
			text += ": " + e.Message
		}
		text += fmt.Sprintf("; ended %s, reopened %s by %s: %s", clock(e.Ended), clock(e.Reopened), e.By, e.Why)
		rows = append(rows, [2]string{[]string{"generations", ""}[min(i, 1)], text})
	}
	if r := st.Reopening; r != nil {
		rows = append(rows, [2]string{"reopening", fmt.Sprintf("generation %d is about to begin, asked for %s by %s: %s",
			r.Generation, clock(r.Since), r.By, r.Why)})
	}
	return rows
}

// stepText returns the name of a step with its counts of done and expected local jobs.
func stepText(s wire.Step) string {
	return fmt.Sprintf("%s %d of %d", s.Name, s.Done, s.Counts.Expected)
}

// stepMore returns the counts of a step's local jobs that are not done, and whether the step may get more local jobs.
func stepMore(s wire.Step) string {
	text := ""
	for _, p := range []struct {
		n    int
		word string
	}{{s.Merging, "waiting to be merged"}, {s.Counts.Running, "running"}, {s.Counts.Held, "held"},
		{s.Counts.Failed, "failed"},
		{s.Counts.Killed, "killed"}, {s.Counts.GivenBack, "done again by others"}} {
		if p.n > 0 {
			text += fmt.Sprintf(", %d %s", p.n, p.word)
		}
	}
	if !s.Closed {
		text += "; more to come"
	}
	return text
}

// clustersText names the clusters that a grid job may use, best first.
func clustersText(st wire.Status) string {
	if len(st.Clusters) < 2 {
		return st.Cluster
	}
	return strings.Join(st.Clusters, ", ")
}

// waitsText returns why a batch job waits, in the batch system's words, with the source of the report. It returns "" if
// the reason is not known.
func waitsText(w *jjm.Waiting) string {
	if reason := waitReason(w); reason != "" {
		return reason + saidBy(w)
	}
	return ""
}

// waitReason returns the reason why a batch job waits, or "" if it is not known. The text fits behind "waits for".
func waitReason(w *jjm.Waiting) string {
	if w == nil {
		return ""
	}
	s := strings.TrimPrefix(w.Reason, "waiting for ") // the text before it has these words
	if w.Hold != "" {
		s = strings.TrimSpace("hold " + w.Hold + " " + s)
	}
	return s
}

// startsText returns when a batch job is expected to start, with the source of the report, or "" if that is not known.
func startsText(w *jjm.Waiting) string {
	if w == nil || w.Starts == 0 {
		return ""
	}
	return clock(w.Starts) + saidBy(w)
}

// saidBy returns the command that reported the wait, and the time of its report.
func saidBy(w *jjm.Waiting) string {
	if w.Source == "" {
		return " (at " + clock(w.At) + ")"
	}
	return " (" + w.Source + " at " + clock(w.At) + ")"
}

// jobsText returns the text of countsText, but the local jobs in state submitting that wait for another attempt are
// counted separately, with the time of the next attempt.
func jobsText(st wire.Status, now time.Time) string {
	l, n := st.Lookup, st.NextAttempts
	if n == nil || n.Jobs > l.Counts.Submitting {
		return countsText(&l)
	}
	l.Counts.Submitting -= n.Jobs
	text := fmt.Sprintf(", %d wait for another attempt, the next at ", n.Jobs)
	if n.Jobs == 1 {
		text = ", 1 waits for another attempt at "
	}
	return countsText(&l) + text + stampAt(n.First, now)
}

// countsText returns how many local jobs are in each state.
func countsText(l *wire.Lookup) string {
	n := l.Counts
	all := max(n.Expected, n.Total)
	switch {
	case all == 0 && isFinal(l.Status):
		return "none made"
	case all == 0:
		return "the number of local jobs is not known yet"
	}
	s := fmt.Sprintf("%d of %d done", n.Completed, all)
	if n.Total < n.Expected {
		s += fmt.Sprintf(", %d made so far", n.Total)
	}
	for _, p := range []struct {
		n    int
		word string
	}{{n.Completing, "completing"}, {n.Running, "running"}, {n.Submitted, "submitted"},
		{n.Submitting, "submitting"}, {n.New, "new"}, {n.Held, "held"}, {n.Failed, "failed"}, {n.Killed, "killed"}} {
		if p.n > 0 {
			s += fmt.Sprintf(", %d %s", p.n, p.word)
		}
	}
	return s
}

func phasesText(ps []jjm.Progress) string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = phaseText(p)
	}
	return strings.Join(texts, ", ")
}

func phaseText(p jjm.Progress) string {
	switch {
	case p.Phase == "":
		return ""
	case p.Total > 0:
		return fmt.Sprintf("%s %d of %d", p.Phase, p.Done, p.Total)
	case p.Done > 0:
		return fmt.Sprintf("%s %d", p.Phase, p.Done)
	}
	return p.Phase
}

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

// localUsedText returns the resource usage of an attempt: "attempt 1: ran 2 min, CPU 1 min 50 s user and 3 s system,
// 312 MiB resident at most". It returns "" if the usage is not known.
func localUsedText(d *wire.LocalDetail) string {
	if d.Used == nil {
		return ""
	}
	return fmt.Sprintf("attempt %d: %s", d.UsedBy, usageOfText(d.Used))
}

// usageOfText returns the resource usage of one or more attempts, or "" if it is not known.
func usageOfText(u *jjm.Usage) string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("ran %s, CPU %s user and %s system, %d MiB resident at most", milliseconds(u.WallMS),
		milliseconds(u.UserMS), milliseconds(u.SysMS), mebibytes(u.MaxRSSKB))
}

// wastedText returns the CPU time that was wasted, and the CPU time of all attempts. It returns "" if the answer does
// not have the usage of all attempts.
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
		milliseconds(lost.UserMS+lost.SysMS), milliseconds(all.UserMS+all.SysMS))
}

// judgedRows returns the rows about how the last attempt that ended was judged, none if there is no verdict or no
// evidence.
func judgedRows(d *wire.LocalDetail) [][2]string {
	if d.Verdict == nil || d.Evidence == nil {
		return nil
	}
	return [][2]string{{"evidence", d.Evidence.Text()}, {"verdict", fmt.Sprintf("attempt %d: %s", d.UsedBy,
		verdictText(d.Verdict))}, {"rule", ruleText(d.Verdict)}}
}

// ruleText returns the names of the rules that decided, each with its effect, and the answers of the rules that are
// only logged.
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

// printLocal prints a local job. detail may be nil; steps is set if its grid job has several steps; words are the
// last lines of its standard error.
func (c *cli) printLocal(l jjm.LocalJob, detail *wire.LocalDetail, steps bool, words map[string][]string) error {
	if detail == nil {
		detail = &wire.LocalDetail{}
	}
	_, _ = fmt.Fprintf(c.out, "local job %v: %s\n", l.ID, printable(stateText(l)))
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
		{"step", step}, {"work", l.Part.Work()}, {"words", strings.Join(l.Part.Args, " ")},
		{"attempt", attemptText(&l)},
		{"retries", retriesText(l.Counters, detail.Limits)}, {"retry with", strings.Join(l.RetryArgs,
			" ")}, {"not before", clock(l.NotBefore)},
		{"requests", askedText(detail)},
		{"cluster", l.Cluster}, {"batch job", l.BatchID}, {"held by", held}, {"waits for", waits},
		{"expected start", startsText(l.Waits)}, {"host", l.Host}, {"submitted", clock(l.Submitted)},
		{"started", clock(l.Started)},
		{"ended", clock(l.Ended)}, {"exit", exitCode}, {"progress", phaseText(l.Progress)}, {"message", l.Message},
	}
	rows = append(rows, wordsRows(l.ID.String(), words)...)
	rows = append(rows, judgedRows(detail)...)
	return c.facts(append(rows, [2]string{"used", localUsedText(detail)},
		[2]string{"all attempts", usageOfText(detail.UsedByAll)},
		[2]string{"of it wasted", wastedText(detail)}, [2]string{"work folder", detail.Folder}))
}

// askedText returns the resources that a local job requests, or "" if it was not resubmitted with other resources.
func askedText(d *wire.LocalDetail) string {
	if d.Asked == nil {
		return ""
	}
	return d.Asked.String() + ", since it was resubmitted"
}

// attemptText returns the number of the attempt. While the next attempt waits for its time, the text adds that the
// facts shown belong to the previous attempt.
func attemptText(l *jjm.LocalJob) string {
	if l.Phase != jjm.RetryWait || l.Attempt == 0 {
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
	rows := [][]string{{"ID", "STATE", "ATTEMPT", "CLUSTER", "BATCH JOB", "HOST", zoned("SINCE"), "EXIT", "DETAIL"}}
	for _, l := range ls {
		exitCode := "-"
		if l.Exit >= 0 && l.Ended != 0 {
			exitCode = fmt.Sprint(l.Exit)
		}
		rows = append(rows, []string{l.ID.String(), stateText(l), fmt.Sprint(l.Attempt), l.Cluster, l.BatchID, l.Host,
			stamp(cmp.Or(l.Ended, l.Started, l.Submitted)), exitCode, detailText(l)})
	}
	if steps {
		column(rows, "STEP", func(i int) string { return jjm.StepName(ls[i].Step) })
	}
	return c.table(rows, "CLUSTER", "BATCH JOB", "HOST", "DETAIL")
}

// detailText returns the cell DETAIL of a local job: its message if it has ended with one, else who holds it, else the
// reason why it waits, its progress and its message. There is never more, because the column is cut.
func detailText(l jjm.LocalJob) string {
	if l.State.Final() && l.Message != "" {
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

// waitsFor returns the reason why a batch job waits, without the source of the report, or "" if it is not known.
func waitsFor(w *jjm.Waiting) string {
	if reason := waitReason(w); reason != "" {
		return "waits for " + reason
	}
	return ""
}

// isFinal reports whether a status means that the grid job is over. It is false for an
// unknown word of a newer daemon.
func isFinal(status string) bool {
	var s jjm.GridStatus
	return s.UnmarshalText([]byte(status)) == nil && s.Final()
}
