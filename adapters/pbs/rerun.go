package pbs

import (
	"bytes"
	"context"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// neverReruns reports whether a listing shows that the server will not rerun the job.
func (j job) neverReruns() bool { return j.rerunnable == "False" }

// forbidRerun forbids reruns of an OpenPBS array with qalter, and then checks that the array has the attribute. qsub
// accepts no -r n for arrays; the members inherit the attribute of their array. If the server rejects the qalter
// permanently, forbidRerun logs the rejection, adds it to the cluster's guarantee, and returns nil, because the
// wrapper's claim also prevents a second run. Every other failure is an error of kind Busy.
func (a *Adapter) forbidRerun(ctx context.Context, seq string) error {
	id := jobID{seq: seq, array: true, whole: true}.String()
	argv := []string{"qalter", "-r", "n", id}
	out, err := a.run(ctx, nil, argv...)
	switch {
	case err != nil:
		return adapters.AsBusy(err)
	case isRefusedAlter(out):
		a.noteReruns(complaint(out.Stderr))
		return nil
	case out.Exit != 0 || out.Signal != 0:
		return jjm.Errorf(jjm.Busy, "%s: exit %d: %s", strings.Join(argv, " "), out.Exit, complaint(out.Stderr))
	}
	jobs, err := a.jobsByID(ctx, []string{id}, false)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j.jobID.String() == id && j.neverReruns() {
			a.noteReruns("")
			return nil
		}
	}
	return jjm.Errorf(jjm.Busy, "%s: exit 0, but qstat does not show Rerunable = False", strings.Join(argv, " "))
}

// isRefusedAlter reports whether the server permanently rejected qalter: the server examined the request, and its error
// says that the account or the site does not allow the change.
func isRefusedAlter(out run.Output) bool {
	if out.Signal != 0 || !bytes.Contains(out.Stderr, []byte("qalter: ")) || isUnreachable(string(out.Stderr)) {
		return false
	}
	kind := exitKinds[out.Exit]
	return kind == jjm.Denied || kind == jjm.Invalid
}

// forbidReruns ensures that arrays cannot be rerun before they are released, whoever submitted them: jjm may have died
// between qsub and qalter. If that cannot be ensured for an array, its answers are errors of kind Busy, and the array
// is not released.
func (a *Adapter) forbidReruns(ctx context.Context, p *plan) {
	var ready []target
	for _, t := range p.targets {
		var err error
		if t.array && t.rerunnable {
			err = a.forbidRerun(ctx, t.seq)
		}
		if err == nil {
			ready = append(ready, t)
			continue
		}
		for _, ref := range t.refs() {
			p.answers[ref] = jjm.Errorf(jjm.Busy, "array %s[] stays held: %w", t.seq, err)
		}
	}
	p.targets = ready
}

// noteReruns records the reason why the server still allows reruns of arrays, or "" if reruns are forbidden. It logs a
// changed reason.
func (a *Adapter) noteReruns(why string) {
	a.mu.Lock()
	before := a.reruns
	a.reruns = why
	a.mu.Unlock()
	if why != "" && why != before {
		a.env.Warn("PBS refuses to forbid reruns of arrays; only the wrapper's claim prevents second runs",
			"cluster", a.name, "command", "qalter -r n", "error", why)
	}
}
