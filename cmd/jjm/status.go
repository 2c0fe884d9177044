package main

import (
	"fmt"
	"strings"
	"time"

	"jjm"
	"jjm/wire"
)

// status shows the detail of jobs.
type status struct {
	JSON bool     `name:"json" help:"One JSON object per line."`
	Refs []string `arg:"" optional:"" name:"ID" help:"Grid jobs or local jobs; none: the site."`

	place
}

// Help is the rest of its help.
func (*status) Help() string {
	return "Each id is answered: of one that is not known, or is another account's, the line is ID error KIND TEXT " +
		"(with --json its lookup has an error), and the exit code is the first such one's."
}

// Run implements the command.
func (s *status) Run(c *cli) error {
	if len(s.Refs) == 0 {
		return s.site(c)
	}
	if err := checkRefs(s.Refs, false); err != nil {
		return err
	}
	a, err := ask(c, s.place, wire.VerbStatus(), wire.StatusRequest{Refs: s.Refs})
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

// print shows the i-th answer. What is wrong with one of several ids is said in
// its place; of one alone it is the command's own error.
func (s *status) print(c *cli, i int, st wire.Status) error {
	if s.JSON {
		return c.printJSON(st)
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
	return c.printStatus(st, s.Refs[i])
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
	_ = c.out.WriteByte('\n')
	if len(jobs.Status) == 0 {
		_, err = c.out.WriteString("no unfinished grid jobs\n")
		return err
	}
	return c.listTable(jobs.Status)
}

// printStatus shows the grid job, or of a reference to local jobs these.
func (c *cli) printStatus(st wire.Status, ref string) error {
	switch {
	case !strings.Contains(ref, "."):
		return c.printGrid(st)
	case len(st.Locals) == 1:
		return c.printLocal(st.Locals[0], len(st.Steps) > 0)
	}
	return c.localTable(st.Locals, len(st.Steps) > 0)
}

// originRows tell where a grid job came from.
func originRows(o *jjm.Origin) [][2]string {
	var rows [][2]string
	for i, f := range o.Fields() {
		rows = append(rows, [2]string{[]string{"from", ""}[min(i, 1)], strings.ReplaceAll(f[0], "_", " ") + " " + f[1]})
	}
	return rows
}

// usageText tells what a grid job used, as far as it is known.
func usageText(u *jjm.Usage) string {
	if u == nil {
		return ""
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	text := fmt.Sprintf("batch job %s on %s", u.Batch, u.Host)
	if u.Ended != 0 {
		text = fmt.Sprintf("wall %v, CPU %v user and %v system, %d MiB at most; first %s", ms(u.WallMS), ms(u.UserMS),
			ms(u.SysMS), u.MaxRSSKB>>10, text)
	}
	return text
}

func (c *cli) printGrid(st wire.Status) error {
	l := st.Lookup
	_, _ = fmt.Fprintf(c.out, "grid job %v: %s\n", l.ID, printable(l.Status))
	gram := l.GRAM.String()
	if l.Code != 0 {
		gram += fmt.Sprintf(", code %d", l.Code)
	}
	exitCode := ""
	if isFinal(l.Status) {
		exitCode = fmt.Sprint(l.Exit)
	}
	rows := [][2]string{
		{"name", st.Name}, {"type", st.Type}, {"owner", st.Owner}, {"key", st.Key}, {"message", l.Message},
		{"local jobs", countsText(&l)}, {"progress", phasesText(st.Phases)}, {"cluster", clustersText(st)},
		{"gatekeeper", gram}, {"master", l.Master}, {"accepted", clock(st.Accepted)}, {"ended", clock(st.Ended)},
		{"exit", exitCode}, {"output", l.Tar}, {"record", st.Record},
		{"handle", string(st.Handle)}, {"used", usageText(l.Usage)},
	}
	for i, s := range st.Steps {
		rows = append(rows, [2]string{[]string{"steps", ""}[min(i, 1)], stepText(s) + stepMore(s)})
	}
	rows = append(rows, originRows(st.Origin)...)
	rows = append(rows, heldRows(st.Holds)...)
	for i, in := range st.Inputs {
		rows = append(rows, [2]string{[]string{"reads", ""}[min(i, 1)],
			in.Dataset + map[bool]string{true: " (open)"}[in.Open] + inputText(in)})
	}
	for i, trouble := range st.Trouble {
		rows = append(rows, [2]string{[]string{"trouble", ""}[min(i, 1)], trouble})
	}
	for i, j := range st.ClusterJobs {
		rows = append(rows, [2]string{[]string{"cluster jobs", ""}[min(i, 1)],
			j.ID + ": " + countsText(&wire.Lookup{Counts: j.Counts})})
	}
	if st.Waits != "" {
		rows = append(rows, [2]string{"waits", st.Waits})
	}
	for i, why := range st.Why {
		rows = append(rows, [2]string{[]string{"why", ""}[min(i, 1)], why})
	}
	return c.facts(rows)
}

// stepText says how far a step is.
func stepText(s wire.Step) string {
	return fmt.Sprintf("%s %d of %d", s.Name, s.Done, s.Counts.Expected)
}

// stepMore says what else is to know of a step.
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

// waitsText says why a batch job waits, and startsText when it is expected to
// start, in the batch system's words.
func waitsText(w *jjm.Waiting) string {
	if w == nil {
		return ""
	}
	s := w.Reason
	if w.Hold != "" {
		s = strings.TrimSpace("hold " + w.Hold + " " + s)
	}
	if s == "" {
		return ""
	}
	return s + saidBy(w)
}

func startsText(w *jjm.Waiting) string {
	if w == nil || w.Starts == 0 {
		return ""
	}
	return clock(w.Starts) + saidBy(w)
}

// saidBy names the command and the time of what the batch system said.
func saidBy(w *jjm.Waiting) string {
	if w.Source == "" {
		return " (at " + clock(w.At) + ")"
	}
	return " (" + w.Source + " at " + clock(w.At) + ")"
}

// countsText says how many local jobs are in which state.
func countsText(l *wire.Lookup) string {
	n := l.Counts
	all := max(n.Expected, n.Total)
	switch {
	case all == 0 && isFinal(l.Status):
		return "none made"
	case all == 0:
		return "not known yet"
	}
	s := fmt.Sprint(all)
	if n.Total < n.Expected {
		s += fmt.Sprintf(", %d made", n.Total)
	}
	for _, p := range []struct {
		n    int
		word string
	}{{n.Completed, "completed"}, {n.Completing, "completing"}, {n.Running, "running"}, {n.Submitted, "submitted"},
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

// printLocal shows a local job; steps says that its grid job has several.
func (c *cli) printLocal(l jjm.LocalJob, steps bool) error {
	_, _ = fmt.Fprintf(c.out, "local job %v: %s\n", l.ID, printable(stateText(l)))
	exitCode := ""
	if l.Exit >= 0 && l.Ended != 0 {
		exitCode = fmt.Sprint(l.Exit)
	}
	counters := ""
	if l.Counters != (jjm.Counters{}) {
		counters = fmt.Sprintf("%d early, %d late handled, %d late unhandled", l.Counters.Early, l.Counters.LateHandled,
			l.Counters.LateUnhandled)
	}
	step := ""
	if steps {
		step = jjm.StepName(l.Step)
	}
	held, waits := heldText(l), ""
	if held == "" {
		waits = waitsText(l.Waits)
	}
	return c.facts([][2]string{
		{"step", step}, {"work", partText(l.Part)}, {"words", strings.Join(l.Part.Args, " ")},
		{"attempt", fmt.Sprint(l.Attempt)},
		{"failures", counters}, {"retry with", strings.Join(l.RetryArgs, " ")}, {"not before", clock(l.NotBefore)},
		{"cluster", l.Cluster}, {"batch job", l.BatchID}, {"held by", held}, {"waits for", waits},
		{"expected start", startsText(l.Waits)}, {"host", l.Host}, {"submitted", clock(l.Submitted)},
		{"started", clock(l.Started)},
		{"ended", clock(l.Ended)}, {"exit", exitCode}, {"progress", phaseText(l.Progress)}, {"message", l.Message},
	})
}

func stateText(l jjm.LocalJob) string {
	if l.Phase == "" {
		return l.State.String()
	}
	return l.State.String() + "/" + string(l.Phase)
}

func (c *cli) localTable(ls []jjm.LocalJob, steps bool) error {
	rows := [][]string{{"ID", "STATE", "ATTEMPT", "CLUSTER", "BATCH JOB", "HOST", "SUBMITTED", "STARTED", "ENDED", "EXIT",
		"PROGRESS", "MESSAGE"}}
	for _, l := range ls {
		exitCode := "-"
		if l.Exit >= 0 && l.Ended != 0 {
			exitCode = fmt.Sprint(l.Exit)
		}
		message := l.Message
		if held := heldText(l); held != "" {
			message = "held by " + held
		}
		rows = append(rows, []string{l.ID.String(), stateText(l), fmt.Sprint(l.Attempt), l.Cluster, l.BatchID, l.Host,
			clock(l.Submitted),
			clock(l.Started), clock(l.Ended), exitCode, phaseText(l.Progress), message})
	}
	if steps {
		column(rows, "STEP", func(i int) string { return jjm.StepName(ls[i].Step) })
	}
	return c.table(rows)
}

// isFinal reports whether a grid job of this status is over. A word of a newer
// daemon is not.
func isFinal(status string) bool {
	var s jjm.GridStatus
	return s.UnmarshalText([]byte(status)) == nil && s.Final()
}
