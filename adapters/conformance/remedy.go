package conformance

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// cause is what made a check fail. It is causeProperty, or a failure that happened before the check could examine its
// property. The cause selects the remedy for the admin, because after such a failure the check's own remedy would be
// misleading.
type cause uint8

const (
	causeProperty cause = iota // the batch system lacks the property that the check examines
	causeProbe                 // the batch system did not report its limits
	causeSubmit                // the batch system accepted no job
	causeDoubt                 // it is unknown whether the batch system accepted the jobs
	causeList                  // the listing failed
	causeUnlisted              // no listing shows the jobs
	causeWaiting               // the jobs waited for too long
	causeCancel                // a cancelled job still runs
)

// serversAnswer is the remedy if the batch system does not answer at all.
const serversAnswer = "see that the batch system's servers answer from this machine, and that bin and env of the cluster " +
	"are right"

// causeRemedies returns the remedy for each cause, except for the property itself.
func causeRemedies() map[cause]string {
	return map[cause]string{
		causeProbe: serversAnswer,
		causeSubmit: "the batch system accepted no job, for the reason above: see that this account may submit there " +
			"(--queue, --account and --project say where), and that bin and env of the cluster are right",
		causeDoubt: "it is not known whether the batch system took the job: the output of the command that submits is " +
			"shown above; run it by hand as this account, and see that it prints the id of each job that it takes",
		causeList: "the command that lists jobs did not answer as it should, see above: run it by hand as this account",
		causeUnlisted: "the jobs were submitted and no listing shows them: run the command that lists jobs by hand as this " +
			"account; it must show the jobs of every state and queue, also those that ended lately",
		causeWaiting: "the jobs still waited in the queue when the time was over: try again with a longer --patience, or " +
			"with another --queue; if it starts none at all, submit one by hand as this account",
		causeCancel: "the command that cancels jobs ends nothing, or not all of a job: run it by hand on a job that runs, " +
			"as this account; its processes must be gone on the worker",
	}
}

// because records the cause of a later failure of the check, if a recorder runs the check.
func (s *suite) because(c cause) {
	if r, ok := s.TB.(*recorder); ok {
		r.mu.Lock()
		r.cause = c
		r.mu.Unlock()
	}
}

// refusal returns the cause that belongs to the error of a submission.
func refusal(err error) cause {
	if jjm.KindOf(err) == jjm.Ambiguous {
		return causeDoubt
	}
	return causeSubmit
}

// remedy returns what an admin should do about a failed check on a site.
func (c Check) remedy(site *Site, because cause) string {
	var texts []string
	add := func(text string) {
		if text != "" {
			texts = append(texts, text)
		}
	}
	if because == causeProperty {
		add(c.Remedy)
		add(c.kinds[site.Kind])
	}
	if because == causeWaiting && !site.started.Load() {
		add("the batch system accepts jobs and starts none of them")
	}
	add(causeRemedies()[because])
	if because == causeWaiting {
		add(site.submits())
	}
	if part := c.partFor(because); site.Description != "" && part != "" {
		add(fmt.Sprintf("compare what the commands print with %s in %s", part, site.Description))
	}
	if len(texts) == 0 {
		add(fmt.Sprintf("no setting of a site is known to cause this: tell the authors of jjm's adapter for %s, with these lines",
			site.Kind))
	}
	return strings.Join(texts, "; ")
}

// submits returns a sentence that names the command that submits jobs; "" if that command is not known.
func (s *Site) submits() string {
	command := map[string]string{"slurm": "sbatch", "condor": "condor_submit", "pbs": "qsub", "sge": "qsub"}[s.Kind]
	switch {
	case s.Description != "":
		return "the command that submits is that of [submit] in " + s.Description
	case command != "":
		return "the command that submits is " + command
	}
	return ""
}

// partFor returns the tables of a description that a failure concerns.
func (c Check) partFor(because cause) string {
	switch because {
	case causeProbe:
		return "[[probe]]"
	case causeSubmit:
		return "[submit]"
	case causeDoubt:
		return "[[submit.outcome]]"
	case causeList, causeUnlisted:
		return "[list] and [states]"
	case causeCancel:
		return "[cancel]"
	case causeWaiting:
		return ""
	}
	return c.Part
}
