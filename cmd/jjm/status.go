package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
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

// Run carries out jjm status.
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

// print prints the status of the i-th reference. If its Lookup has an error and the command line has several
// references, print prints the error; with a single reference it prints nothing, because main prints the error that
// ends the command. With --json, print prints the status in all cases.
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
		_, err := fmt.Fprintf(c.out, "%s error %s %s\n", field(s.Refs[i]), e.Kind, plain.Printable(e.Text))
		return err
	}
	return c.printStatus(st, s.Refs[i], words)
}

// site prints the clusters and the newest 20 grid jobs that are not over, for jjm status without arguments.
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

// printStatus prints the status of a reference: the grid job, the details of a local job, or a table of several local
// jobs. words are the last lines that local jobs wrote to standard error, by id (see lastWords).
func (c *cli) printStatus(st wire.Status, ref string, words map[string][]string) error {
	switch {
	case !strings.Contains(ref, "."):
		return c.printGrid(st, words)
	case len(st.Locals) == 1:
		return c.printLocal(st.Locals[0], st.Detail, len(st.Steps) > 0, words)
	}
	return c.localTable(st.Locals, len(st.Steps) > 0)
}

// originRows returns a row for each field of the origin of a grid job, such as its gatekeeper and the subject of the
// user's certificate. Only the first row has the title "from".
func originRows(o *jjm.Origin) [][2]string {
	var rows [][2]string
	for i, f := range o.Fields() {
		rows = append(rows, [2]string{[]string{"from", ""}[min(i, 1)], strings.ReplaceAll(f[0], "_", " ") + " " + f[1]})
	}
	return rows
}

// usageText returns the resources that a grid job used, and the batch job and host of its first local job. If the usage
// has no time of the end, it returns only the batch job and the host.
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
	return fmt.Sprintf("wall %s, CPU %s user and %s system, %d MiB at most%s", plain.Milliseconds(u.WallMS), plain.Milliseconds(u.UserMS),
		plain.Milliseconds(u.SysMS), plain.Mebibytes(u.MaxRSSKB), text)
}

// printGrid prints a grid job. words are the last lines that the example of each cause wrote to standard error.
func (c *cli) printGrid(st wire.Status, words map[string][]string) error {
	l := st.Lookup
	_, _ = fmt.Fprintln(c.out, hanging(plain.Printable(fmt.Sprintf("grid job %v: %s", l.ID, endText(&l)))))
	message := l.Message
	if plain.Final(l.Status) {
		message = "" // it is printed above
	}
	gram := l.GRAM.String()
	if l.Code != 0 {
		gram += fmt.Sprintf(", code %d", l.Code)
	}
	exitCode := ""
	if plain.Final(l.Status) {
		exitCode = fmt.Sprint(l.Exit)
	}
	rows := [][2]string{
		{"name", st.Name}, {"type", st.Type}, {"model", st.Model}, {"owner", st.Owner}, {"key", st.Key}, {"message", message},
		{"after", plain.After(&st)}, {"local jobs", jobsText(st, time.Now())}, {"progress", phasesText(st.Phases)},
		{"cluster", plain.Clusters(st)},
		{"gatekeeper", gram}, {"master", l.Master}, {"accepted", plain.Clock(st.Accepted)}, {"ended", plain.Clock(st.Ended)},
		{"expected end", plain.ExpectedEnd(st.ExpectedEnd, time.Now())},
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
	rows = append(rows, lostRows(&st)...)
	rows = append(rows, [2]string{"do", againText(&st)}, [2]string{"recovered by", plain.IDs(st.RecoveredBy)})
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
			j.ID + ": " + plain.Counts(&wire.Lookup{Counts: j.Counts})})
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

// againText returns the command with which people run the failed, killed or unsubmitted local jobs of a grid job. It
// returns "" if the grid job is not over, if it has no such local job, if another grid job does their work, or if the
// grid job merges: a grid job that merges is not reopened for failed local jobs. If the grid job could not be prepared,
// the command makes a new grid job, or submits the kept grid job again.
func againText(st *wire.Status) string {
	n := &st.Lookup.Counts
	switch {
	case st.Kept:
		return fmt.Sprintf("jjm submit %s submits it again, once the cause is mended", st.Lookup.ID)
	case unprepared(st) && st.Reopening == nil:
		return fmt.Sprintf("jjm copy %s makes a new grid job of its job file, once the cause is mended", st.Lookup.ID)
	case !plain.Final(st.Lookup.Status) || len(st.RecoveredBy) > 0 || len(st.Steps) > 0 || n.Failed+n.Killed+n.New == 0:
		return ""
	case ownLost(st.LostInputs):
		return fmt.Sprintf("once the lost inputs are back, jjm resubmit %s runs again what failed", st.Lookup.ID)
	case n.New > 0 && n.Failed == 0: // of a grid job that is over
		return fmt.Sprintf("jjm resubmit %s submits what was never submitted, once the cause is mended", st.Lookup.ID)
	case n.New > 0:
		return fmt.Sprintf("jjm resubmit %s runs again what failed, and submits what was never submitted", st.Lookup.ID)
	case n.Failed == 0:
		return fmt.Sprintf("jjm resubmit %s --all runs again what was killed", st.Lookup.ID)
	}
	return fmt.Sprintf("jjm resubmit %s runs again what failed: in the same grid job, with one tar of all", st.Lookup.ID)
}

// unprepared reports whether a grid job could not be prepared: it ended, or is kept.
func unprepared(st *wire.Status) bool {
	return st.Kept || st.Lookup.Status == jjm.Broken.String() && st.Lookup.Counts.Total == 0
}

// generationRows returns a row for the end of each past generation of a grid job, and a row for a generation that is
// about to begin.
func generationRows(st wire.Status) (rows [][2]string) {
	for i, e := range st.Endings {
		text := fmt.Sprintf("%d: %s", e.Generation, e.Status)
		if e.Message != "" {
			text += ": " + e.Message
		}
		text += fmt.Sprintf("; ended %s, reopened %s by %s: %s", plain.Clock(e.Ended), plain.Clock(e.Reopened), e.By, e.Why)
		rows = append(rows, [2]string{[]string{"generations", ""}[min(i, 1)], text})
	}
	if r := st.Reopening; r != nil {
		rows = append(rows, [2]string{"reopening", fmt.Sprintf("generation %d is about to begin, asked for %s by %s: %s",
			r.Generation, plain.Clock(r.Since), r.By, r.Why)})
	}
	return rows
}

// stepText returns the name of a step, and how many of its expected local jobs are done.
func stepText(s wire.Step) string {
	return fmt.Sprintf("%s %d of %d", s.Name, s.Done, s.Counts.Expected)
}

// stepMore returns how many local jobs of a step are in other states than done, and whether the step may get more local
// jobs. It is the continuation of stepText.
func stepMore(s wire.Step) string {
	text := ""
	for _, p := range []struct {
		n    int
		word string
	}{{s.Merging, "waiting to be merged"}, {s.Counts.Running, "running"}, {s.Counts.Held, "held"},
		{s.Counts.Failed, "failed"},
		{s.Counts.Killed, "killed"}, {s.Counts.GivenBack, "given back"}} {
		if p.n > 0 {
			text += fmt.Sprintf(", %d %s", p.n, p.word)
		}
	}
	if !s.Closed {
		text += "; more to come"
	}
	return text
}

// waitsText returns the reason why a batch job waits, in the batch system's words, with the command that reported the
// reason and the time of the report. It returns "" if no reason is known.
func waitsText(w *jjm.Waiting) string {
	if reason := waitReason(w); reason != "" {
		return reason + saidBy(w)
	}
	return ""
}

// waitReason returns the reason why a batch job waits, in the batch system's words, or "" if no reason is known. Output
// shows it after "waits for".
func waitReason(w *jjm.Waiting) string {
	if w == nil {
		return ""
	}
	s := strings.TrimPrefix(w.Reason, "waiting for ") // the output already says "waits for"
	if w.Hold != "" {
		s = strings.TrimSpace("hold " + w.Hold + " " + s)
	}
	return s
}

// startsText returns when a batch job is expected to start, with the command that reported this and the time of the
// report. It returns "" if no start is known.
func startsText(w *jjm.Waiting) string {
	if w == nil || w.Starts == 0 {
		return ""
	}
	return plain.Clock(w.Starts) + saidBy(w)
}

// saidBy returns the command that reported the wait of a batch job and the time of the report, in parentheses.
func saidBy(w *jjm.Waiting) string {
	if w.Source == "" {
		return " (at " + plain.Clock(w.At) + ")"
	}
	return " (" + w.Source + " at " + plain.Clock(w.At) + ")"
}

// jobsText returns how many local jobs are in each state, as plain.Counts does. It counts the local jobs in state
// submitting that wait for another attempt separately, with the time of the next attempt.
func jobsText(st wire.Status, now time.Time) string {
	l, n := st.Lookup, st.NextAttempts
	if n == nil || n.Jobs > l.Counts.Submitting {
		return plain.Counts(&l)
	}
	l.Counts.Submitting -= n.Jobs
	return plain.Counts(&l) + ", " + nextText(n, now)
}

// nextText returns how many local jobs wait for another attempt, and the time of the next attempt.
func nextText(n *wire.NextAttempts, now time.Time) string {
	if n.Jobs == 1 {
		return "1 waits for another attempt at " + plain.StampAt(n.First, now)
	}
	return fmt.Sprintf("%d wait for another attempt, the next at %s", n.Jobs, plain.StampAt(n.First, now))
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
