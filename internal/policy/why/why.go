// Package why finds the cause for the state of each unfinished local job: what the local job waits for, or what is
// being done with it. The list of causes is complete: every unfinished local job has exactly one of them.
package why

import (
	"cmp"
	"fmt"
	"slices"

	"jjm/internal/jjm"
)

// Code names a cause.
type Code string

// The causes of local jobs; docs/WORDS.md explains them.
const (
	Killing       Code = "killing"
	HeldByApp     Code = "held-by-application"
	HeldByBatch   Code = "held-by-batch-system"
	HeldByPerson  Code = "held-by-operator"
	BackOff       Code = "back-off"
	Paused        Code = "paused"
	DiskLow       Code = "disk-low"
	WorkFull      Code = "work-full"
	Maintenance   Code = "maintenance"
	Silent        Code = "silent"
	NoCluster     Code = "no-cluster"
	Limit         Code = "limit"
	SubmitFailing Code = "submission-fails"
	Ceiling       Code = "command-ceiling"
	Next          Code = "next"
	ClusterGone   Code = "cluster-gone"
	Unknown       Code = "unknown"
	Doubtful      Code = "doubtful"
	Submitting    Code = "submitting"
	Stuck         Code = "stuck"
	Queued        Code = "queued"
	Starting      Code = "starting"
	Running       Code = "running"
	Suspended     Code = "suspended"
	Merging       Code = "merging"
	Collecting    Code = "collecting"
)

// Codes returns all causes of local jobs.
func Codes() []Code {
	return []Code{Killing, HeldByApp, HeldByBatch, HeldByPerson, BackOff, Paused, DiskLow, WorkFull, Maintenance, Silent,
		NoCluster, Limit, SubmitFailing, Ceiling, Next, ClusterGone, Unknown, Doubtful, Submitting, Stuck, Queued,
		Starting, Running, Suspended, Merging, Collecting}
}

// Cause is the cause for the state of a local job or a grid job.
type Cause struct {
	Code Code
	// Text is the evidence, for people, such as an order with its person, or a reason in the batch system's words.
	Text string
	// Since is the time since which the cause has held, 0 if that is not known.
	Since jjm.Time
	// Until is when the cause ends by itself, 0 if it does not end by itself or the time is unknown.
	Until jjm.Time
	// Remedy is advice to a person, "" if nothing needs to be done.
	Remedy string
}

// Facts are the known facts about an unfinished local job and its surroundings.
type Facts struct {
	Local *jjm.LocalJob
	Now   jjm.Time
	// Unsent is set if the local job waits for its first or next submission. Then Kept is the cause that prevents the
	// submission; Kept has no code if nothing prevents the submission.
	Unsent bool
	Kept   Cause
	// Refused is the cause why the submission has not succeeded yet and will be tried again. It has no code if no
	// submission was refused. Handed is when the bulk of the local job was made, 0 if there is none.
	Refused Cause
	Handed  jjm.Time
	// Hangs is advice about the submission of the local job, set if the submission has run for long.
	Hangs string
	// Gone is set if the configuration no longer has the cluster of the local job.
	Gone bool
	// Silent has a text, a time and a remedy if the cluster of the local job answers no listing. Missing is the time since
	// which the local job has been missing from the listings, 0 if it is not missing.
	Silent  Cause
	Missing jjm.Time
	// Names are the names of the local job in the batch system, for remedies.
	Names Names
	// Excluded are the exclusions of hosts of the cluster on which administrators let no job start.
	Excluded []jjm.Exclusion
	// Unjudged has a text and a time if an error prevents the verdict on the ended attempt of the local job.
	Unjudged Cause
	// CancelErr has the error of the last cancel of a local job that is to be killed, the time of the first error in a
	// row, and the remedy.
	CancelErr Cause
}

// Of returns the cause for the state of a local job.
func Of(f Facts) Cause {
	l := f.Local
	switch {
	case l.Kill:
		return killing(f)
	case l.IsHeld():
		return held(l)
	case f.Unsent:
		return unsent(f)
	case l.Holding.Keeps() && l.State < jjm.Running:
		return Cause{Code: HeldByPerson, Text: l.Holding.Why + "; it is being taken back from cluster " + l.Cluster,
			Remedy: "jjm release " + l.ID.String()}
	case l.IsMerging():
		return Cause{Code: Merging, Text: "its work is done; its outputs wait to be merged", Since: l.Ended}
	case f.Gone:
		return Cause{Code: ClusterGone, Text: "cluster " + l.Cluster + " has left the configuration",
			Remedy: "put its [[cluster]] back and start the daemon again"}
	case f.Unjudged.Text != "":
		return Cause{Code: Collecting, Text: f.Unjudged.Text, Since: f.Unjudged.Since, Remedy: unjudged}
	case f.Refused.Code != "":
		return limited(f.Refused)
	case f.Silent.Text != "":
		return Cause{Code: Unknown, Since: f.Silent.Since, Remedy: f.Silent.Remedy,
			Text: "cluster " + l.Cluster + " answers no listing, and the local job goes on meanwhile: " + f.Silent.Text}
	case f.Missing != 0:
		return Cause{Code: Unknown, Text: "the last listing of cluster " + l.Cluster + " did not have it", Since: f.Missing,
			Remedy: "jjm looks in the accounting and decides then; ask the batch system about job " + l.BatchID}
	}
	return inBatch(f)
}

// unjudged is the advice about an attempt on which an error prevents the verdict.
const unjudged = "jjm tries again by itself; an administrator sees the reason in the log of the daemon"

// killing returns the cause of a local job for which a kill was requested.
func killing(f Facts) Cause {
	c := Cause{Code: Killing, Text: "it ends as soon as its batch system no longer has it", Since: since(f.Local)}
	if f.Local.Failing != "" {
		c.Text += "; then it is failed: " + f.Local.Failing
	}
	c.Text += "; nothing to do: jjm repeats the cancel by itself until then"
	switch {
	case f.Unjudged.Text != "":
		c.Text, c.Since, c.Remedy = f.Unjudged.Text, f.Unjudged.Since, unjudged
	case f.Gone:
		c.Remedy = "cluster " + f.Local.Cluster + " has left the configuration: put its [[cluster]] back and start the " +
			"daemon again"
	case f.Silent.Text != "":
		c.Text = "cluster " + f.Local.Cluster + " answers no listing, so nobody knows whether it has ended: " +
			f.Silent.Text
		c.Remedy = f.Silent.Remedy
	case f.CancelErr.Text != "":
		c.Text = "its cancel has failed since " + f.CancelErr.Since.Local() + ": " + f.CancelErr.Text +
			"; jjm repeats it by itself"
		c.Remedy = f.CancelErr.Remedy
	}
	return c
}

// held returns the cause of a held local job.
func held(l *jjm.LocalJob) Cause {
	h := l.Holding
	c := Cause{Code: HeldByApp, Text: h.Text, Since: h.Since, Remedy: "jjm release " + l.ID.String()}
	switch h.By {
	case jjm.HeldBatchSystem:
		c.Code = HeldByBatch
		c.Text = cmp.Or(h.Text, h.Code, "the batch system does not say why")
		c.Remedy = "remove its cause, then jjm release " + l.ID.String()
	case jjm.HeldOperator:
		c.Code = HeldByPerson
	}
	return c
}

// unsent returns the cause of a local job that waits for its first or next submission.
func unsent(f Facts) Cause {
	l := f.Local
	switch {
	case l.NotBefore > f.Now:
		return Cause{Code: BackOff, Since: l.Ended, Until: l.NotBefore,
			Text: "tried again after: " + cmp.Or(l.Message, "a failure") +
				"; nothing to do: jjm submits it again by itself at that time"}
	case f.Kept.Code == Limit:
		f.Kept.Since = max(f.Kept.Since, since(l))
		return limited(f.Kept)
	case f.Kept.Code != "":
		return f.Kept
	}
	return Cause{Code: Next, Text: "it is submitted with one of the next bulks", Since: since(l)}
}

// limited returns a cause with the addition that it ends by itself, if it is a limit for which there is no remedy.
func limited(c Cause) Cause {
	if c.Code == Limit && c.Remedy == "" {
		c.Text += "; nothing to do: jjm submits it by itself as other local jobs end"
	}
	return c
}

// since returns the time since which a local job has been in its state and phase, without its back-off, or since which
// it is to be killed. It returns 0 if that is not known.
func since(l *jjm.LocalJob) jjm.Time {
	if l.Since == 0 || l.Kill {
		return l.Since
	}
	return max(l.Since, l.NotBefore)
}

// inBatch returns the cause of a local job that a batch system has, or may have.
func inBatch(f Facts) Cause {
	l := f.Local
	switch {
	case l.State == jjm.Submitting && l.Phase == jjm.Doubtful:
		return Cause{Code: Doubtful, Text: "the answer to its submission was lost; jjm searches cluster " + l.Cluster +
			" for it, and submits it again only when it is proven not to be there; nothing to do: jjm repeats the search by " +
			"itself",
			Since: cmp.Or(since(l), f.Handed)}
	case l.State == jjm.New || l.State == jjm.Submitting:
		return Cause{Code: Submitting, Text: "cluster " + cmp.Or(l.Cluster, "of its choice") + " is being given it",
			Since: f.Handed, Remedy: f.Hangs}
	case l.State == jjm.Submitted && l.Phase == jjm.Starting:
		return Cause{Code: Starting, Text: "the batch system is starting it", Since: since(l)}
	case l.State == jjm.Submitted:
		return besideExcluded(queued(l, f.Names), l, f.Excluded)
	case l.State == jjm.Running && l.Suspended != 0:
		return Cause{Code: Suspended, Text: "cluster " + l.Cluster + " has suspended it", Since: l.Suspended,
			Remedy: "if the cluster makes room for more urgent jobs, it continues the job by itself; if a person suspended " +
				"batch job " + l.BatchID + ", a person must resume it there"}
	case l.State == jjm.Running:
		return Cause{Code: Running, Text: runs(l), Since: l.Started}
	}
	return Cause{Code: Collecting, Text: "its attempt is over; jjm gathers the evidence of how", Since: l.Ended}
}

// runs returns a text about the host and the progress of a running local job.
func runs(l *jjm.LocalJob) string {
	text := "it runs on " + cmp.Or(l.Host, "a host of cluster "+l.Cluster)
	if p := l.Progress; p.Phase != "" {
		text += fmt.Sprintf(", %s %d", p.Phase, p.Done)
		if p.Total > 0 {
			text += fmt.Sprintf(" of %d", p.Total)
		}
	}
	return text
}

// queued returns the cause of a local job that waits in a batch system.
func queued(l *jjm.LocalJob, n Names) Cause {
	c := Cause{Code: Queued, Text: "it waits in cluster " + l.Cluster + ", which does not say why", Since: l.Submitted}
	if l.Waits == nil {
		return c
	}
	c.Until = l.Waits.Starts
	if l.Waits.Reason == "" {
		return c
	}
	c.Text = fmt.Sprintf("%s (%s)", l.Waits.Reason, cmp.Or(l.Waits.Source, l.Cluster))
	remedy, clears := adviceOn(l.Waits.Reason, n)
	if c.Remedy = remedy; !clears {
		c.Code = Stuck
	}
	return c
}

// besideExcluded adds to a queued local job's cause the number of excluded hosts of the cluster. If no host fits the
// local job, it also adds the first order, and the commands that submit the local job without it.
func besideExcluded(c Cause, l *jjm.LocalJob, hosts []jjm.Exclusion) Cause {
	if len(hosts) == 0 {
		return c
	}
	c.Text += fmt.Sprintf("; cluster %s has %s: jjm exclude --list", l.Cluster, jjm.Count(len(hosts), "excluded host"))
	if l.Waits == nil || !fitsNone(l.Waits.Reason) {
		return c
	}
	c.Text += "; that may be why: " + hosts[0].String()
	remedy := fmt.Sprintf("if it fits only excluded hosts, an administrator runs jjm include HOST; then jjm hold %s and "+
		"jjm release %[1]s submit it again with that host", l.ID)
	if c.Remedy != "" {
		remedy += "; else: " + c.Remedy
	}
	c.Remedy = remedy
	return c
}

// Group counts the local jobs that have the same cause with the same text.
type Group struct {
	Cause
	Jobs int
	// First is the first local job that was added. Since is the earliest Since of the local jobs, Until their earliest
	// Until.
	First jjm.LocalID
}

// Groups collects causes. The zero value is empty.
type Groups struct {
	at  map[[2]string]int
	all []Group
}

// Add counts a local job.
func (gs *Groups) Add(id jjm.LocalID, c Cause) { gs.add(id, c, 1) }

// add counts a number of local jobs, of which id is the first, and c has the earliest times.
func (gs *Groups) add(id jjm.LocalID, c Cause, jobs int) {
	key := [2]string{string(c.Code), keyOf(c)}
	n, known := gs.at[key]
	if !known {
		if gs.at == nil {
			gs.at = map[[2]string]int{}
		}
		gs.at[key] = len(gs.all)
		gs.all = append(gs.all, Group{Cause: c, Jobs: jobs, First: id})
		return
	}
	g := &gs.all[n]
	g.Jobs += jobs
	g.Since, g.Until = earlier(g.Since, c.Since), earlier(g.Until, c.Until)
}

// keyOf returns the text that local jobs of one group have in common, in addition to the code. All running local jobs
// are one group, although the texts of their causes name different hosts.
func keyOf(c Cause) string {
	if c.Code == Running {
		return ""
	}
	return c.Text
}

// earlier returns the earlier of two times; 0 means unknown.
func earlier(a, b jjm.Time) jjm.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// All returns at most n groups. The groups that need a person come first, then the groups with the most local jobs.
// left is the number of local jobs in the groups that are left out.
func (gs *Groups) All(n int) (all []Group, left int) {
	all = slices.Clone(gs.all)
	for i := range all {
		if all[i].Code == Running && all[i].Jobs > 1 {
			all[i].Text = "they run"
		}
	}
	slices.SortStableFunc(all, func(a, b Group) int {
		if need := needs(b) - needs(a); need != 0 {
			return need
		}
		return cmp.Compare(b.Jobs, a.Jobs)
	})
	if len(all) <= n {
		return all, 0
	}
	for _, g := range all[n:] {
		left += g.Jobs
	}
	return all[:n], left
}

// needs returns 1 if a person should do something about the group, else 0.
func needs(g Group) int {
	if g.Remedy != "" {
		return 1
	}
	return 0
}
