package operations_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// outcome is what an operation did with a local job.
type outcome string

const (
	done     outcome = "done"
	noChange outcome = "no change"
	refused  outcome = "refused"
	// busy means that the daemon answered that it cannot carry out the operation now, and lost that no answer arrived.
	busy outcome = "busy"
	lost outcome = "lost"
)

// verbs are the operations on local jobs, by name. Each has the words of the jjm command; "--json" and the id of the
// local job follow the first word.
var verbs = map[string][]string{
	"kill": {"kill"}, "resubmit": {"resubmit"}, "force failed": {"force-status", "failed"},
	"force completed": {"force-status", "completed"}, "freeze": {"freeze"}, "unfreeze": {"unfreeze"}, "hold": {"hold"},
	"release": {"release"}, "resplit": {"resplit"}, "set": {"set", "--priority=3"},
}

// command returns the arguments of jjm for an operation on a local job.
func command(verb, ref string) []string {
	words := verbs[verb]
	return append([]string{words[0], "--json", ref}, words[1:]...)
}

// reply is the answer of an operation on a local job.
type reply struct {
	Jobs     int             `json:"jobs"`
	Later    int             `json:"later"`
	Killing  int             `json:"killing"`
	Left     json.RawMessage `json:"left"`
	NoChange bool            `json:"no_change"`
	Error    *fault          `json:"error"`
}

// read returns the outcome of an operation from its answer.
func read(verb string, s said) (outcome, error) {
	all, err := lines[reply](s.out)
	switch {
	case err != nil:
		return "", err
	case len(all) == 0 && s.exit == 0:
		return "", fmt.Errorf("jjm %s: exit 0 without an answer", verb)
	case len(all) == 0:
		return lost, nil
	case len(all) > 1:
		return "", fmt.Errorf("jjm %s: %d answers about one local job", verb, len(all))
	}
	a := all[0]
	switch {
	case a.Error != nil && slices.Contains([]string{"busy", "unreachable", "ambiguous"}, a.Error.Kind):
		return busy, nil
	case a.Error != nil && slices.Contains([]string{"conflict", "gone"}, a.Error.Kind):
		return refused, nil
	case a.Error != nil:
		return "", fmt.Errorf("jjm %s: an error of kind %s: %s", verb, a.Error.Kind, a.Error.Text)
	case a.Jobs+a.Later+a.Killing > 0, verb == "kill" && !a.NoChange:
		return done, nil
	case len(a.Left) > 0:
		return refused, nil
	}
	return noChange, nil
}

// during runs a command and returns its outcome. If dies is set, it kills the daemon at a random time meanwhile and
// starts it again.
func (w *world) during(dies bool, do func() said) said {
	w.t.Helper()
	if !dies {
		return do()
	}
	heard := make(chan said, 1)
	go func() { heard <- do() }()
	w.moment(60 * time.Millisecond) // the command takes some 20 ms
	w.kill()
	s := <-heard
	w.ask() // looks up while no daemon answers
	w.Start()
	return s
}

// pick returns a random grid job. It seldom returns a grid job that is over, and even more seldom a removed one.
func (w *world) pick() *job {
	var j *job
	for range 3 {
		j = w.jobs[w.r.IntN(len(w.jobs))]
		if _, ended := w.told[j.id]; !ended {
			break
		}
	}
	if j.removed && w.r.IntN(4) > 0 {
		return w.pick()
	}
	return j
}

// operate carries out one random operation.
func (w *world) operate(dies bool) {
	w.t.Helper()
	j := w.pick()
	switch n := w.r.IntN(20); {
	case n == 0:
		w.during(dies, func() said { return w.jjm(j.owner, "kill", "--json", j.id) })
	case n == 1:
		w.during(dies, func() said { return w.jjm(j.owner, "resubmit", "--json", "--all", j.id) })
	case n == 2:
		w.remove(j, dies)
	case n == 3:
		w.copy(j, dies)
	case n == 4:
		w.recover(j, dies)
	case n == 5:
		w.stranger(j)
	case j.removed:
		w.refusedAsGone(j)
	default:
		w.operateOn(j, dies)
	}
}

// operateOn carries out a random operation on a random local job of a grid job, and checks its outcome with judge.
func (w *world) operateOn(j *job, dies bool) {
	w.t.Helper()
	journal := w.journal(j) // read before the status, so that no change of state between them is missed
	before := w.status(j)
	if len(before.Locals) == 0 {
		return // no local job is made yet
	}
	l := before.Locals[w.r.IntN(len(before.Locals))]
	names := sortedVerbs()
	verb := names[w.r.IntN(len(names))]
	s := w.during(dies, func() said { return w.jjm(j.owner, command(verb, l.ref())...) })
	got, err := read(verb, s)
	if err != nil {
		w.t.Errorf("%s of %s in %s: %v", verb, l.ref(), l.State, err)
		return
	}
	w.judge(j, verb, l, before, journal, got, s)
}

func sortedVerbs() []string {
	var names []string
	for name := range verbs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// judge compares the outcome of an operation with the table. The local job may have changed its state meanwhile, and
// the grid job may have ended: each state that they had is possible.
func (w *world) judge(j *job, verb string, l local, before status, journal []entry, got outcome, s said) {
	w.t.Helper()
	after := w.journal(j)
	states := []string{l.State}
	for _, e := range after[min(len(journal), len(after)):] {
		if e.First <= l.ID.N && l.ID.N <= e.Last {
			word, _, _ := strings.Cut(e.To, "/")
			states = append(states, word)
		}
	}
	w.seen.add(verb, l.State, got)
	if got == busy || got == lost {
		return
	}
	c := circumstances{reads: j.reads, related: j.related, asked: l.asked(), phase: l.Phase}
	possible := []circumstances{c.in(before), c.in(w.status(j))}
	for _, c := range possible {
		if slices.ContainsFunc(states, func(state string) bool { return slices.Contains(c.allowed(verb, state), got) }) {
			return
		}
	}
	w.t.Errorf("jjm %s of %s (%s/%s, since then %v; grid job %s, %+v): %s, want one of %v\n%s", verb, l.ref(), l.State,
		l.Phase, states, before.Lookup.Status, possible, got, possible[0].allowed(verb, l.State), s.out)
}

// in returns the circumstances while the grid job has a status.
func (c circumstances) in(st status) circumstances {
	c.over = st.over()
	c.ending = !c.over && st.Lookup.Status != "running"
	return c
}

// copy copies a grid job, or one of its local jobs.
func (w *world) copy(j *job, dies bool) {
	w.t.Helper()
	if len(w.jobs) >= cap(w.jobs) || j.removed {
		return
	}
	ref, key := j.id, fmt.Sprintf("copy-%d", len(w.jobs))
	if st := w.status(j); len(st.Locals) > 0 && w.r.IntN(2) == 0 {
		ref = st.Locals[w.r.IntN(len(st.Locals))].ref()
	}
	ask := func() said { return w.jjm(j.owner, "copy", "--json", "--key", key, ref) }
	s := w.during(dies, ask)
	if s.exit != 0 && dies {
		s = ask() // the same key means the same grid job
	}
	if j.recovers && ref == j.id { // a copy would do the work of the recovery again
		if s.exit != wrong || !strings.Contains(s.err, "a copy would do again what the recovery") {
			w.t.Errorf("jjm copy of the recovery %s: exit %d, want %d: %s%s", ref, s.exit, wrong, s.out, s.err)
		}
		return
	}
	w.made(s, "copy "+ref, &job{owner: j.owner, reads: j.reads})
}

// recover submits a recovery of a grid job, if some of its work is missing.
func (w *world) recover(j *job, dies bool) {
	w.t.Helper()
	if len(w.jobs) >= cap(w.jobs) || j.removed {
		return
	}
	name := fmt.Sprintf("recovery-%d", len(w.jobs))
	file := filepath.Join(w.Home(j.owner), name+".json")
	w.jjm(j.owner, "verify", "--json", "--recovery", file, j.id)
	if there, err := filepath.Glob(file); err != nil || len(there) == 0 {
		return // nothing is missing, or the grid job is not over
	}
	ask := func() said { return w.jjm(j.owner, "submit", "--json", "--key", name, file) }
	s := w.during(dies, ask)
	if s.exit != 0 && dies {
		s = ask()
	}
	if s.exit != 0 {
		return // the grid job was reopened meanwhile, or is a recovery whose work is done
	}
	j.related = true
	w.made(s, "submit "+file, &job{owner: j.owner, reads: j.reads, related: true,
		recovers: true})
}

// made adds the grid job that a command made to the jobs of the world. what names the command.
func (w *world) made(s said, what string, j *job) {
	w.t.Helper()
	id := one[struct {
		ID int64 `json:"id"`
	}](w, what, s).ID
	if id == 0 {
		w.t.Errorf("jjm %s: exit %d: %s", what, s.exit, s.out)
		return
	}
	j.id = fmt.Sprint(id)
	w.jobs = append(w.jobs, j)
}

// remove removes a grid job. The removal must be refused if the grid job is not over.
func (w *world) remove(j *job, dies bool) {
	w.t.Helper()
	if j.removed {
		w.refusedAsGone(j)
		return
	}
	before := w.status(j)
	s := w.during(dies, func() said { return w.jjm(j.owner, "remove", "--json", "--force", j.id) })
	switch {
	case s.exit == 0:
		j.removed = true
	case dies: // the answer may be lost
		j.removed = w.status(j).Lookup.Error != nil
	}
	if after := w.status(j); j.removed && !before.over() && len(after.Locals) > 0 && !after.over() {
		w.t.Errorf("grid job %s is removed, and it was %s, then %s", j.id, before.Lookup.Status, after.Lookup.Status)
	}
	if over := before.over() && !j.related; over && !j.removed && !dies {
		w.t.Errorf("jjm remove %s, which was %s: exit %d: %s", j.id, before.Lookup.Status, s.exit, s.out)
	}
}

// gone is the exit code for a grid job that does not exist, or is removed. wrong is the code for a job file that is
// refused, and denied for a job of another account.
const (
	gone   = 3
	wrong  = 5
	denied = 6
)

// refusedAsGone checks that no operation accepts a removed grid job.
func (w *world) refusedAsGone(j *job) {
	w.t.Helper()
	names := sortedVerbs()
	verb := names[w.r.IntN(len(names))]
	if verb == "kill" {
		return // a kill succeeds without a change, as for gatekeepers
	}
	if s := w.jjm(j.owner, command(verb, j.id+".0")...); s.exit != gone {
		w.t.Errorf("jjm %s of the removed grid job %s: exit %d, want %d: %s", verb, j.id, s.exit, gone, s.out)
	}
}

// stranger checks that an account cannot operate on a job of another account.
func (w *world) stranger(j *job) {
	w.t.Helper()
	other := w.people[0]
	if other == j.owner {
		other = w.people[1]
	}
	names := sortedVerbs()
	verb := names[w.r.IntN(len(names))]
	s := w.jjm(other, command(verb, j.id+".0")...)
	if s.exit != denied && s.exit != gone {
		w.t.Errorf("jjm %s of %s's grid job %s by %s: exit %d, want %d: %s", verb, j.owner.Name, j.id, other.Name, s.exit,
			denied, s.out)
	}
}
