package main

import (
	"errors"
	"os"
	"strings"

	"jjm/internal/api/client"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// filters holds the flags with which many commands select jobs by their properties (docs/SELECTION.md). It has the same
// fields as selection.Filters, so that one can be converted to the other.
type filters struct {
	State   string `name:"job-state" placeholder:"WORD,..." help:"Local jobs in one of these states, such as failed,killed."`
	Host    string `placeholder:"GLOB" help:"Local jobs whose host, the last one, fits, such as 'node7*'."`
	Exit    string `aliases:"exit-code" placeholder:"CODES" help:"Local jobs whose last attempt ended with one of these exit codes: 3,128-255."`
	Reason  string `placeholder:"${reason_form=GLOB}" help:"${reason_help=Local jobs that failed, are tried again, are held or wait for a reason that fits, such as '*disk*'.}"`
	Cluster string `placeholder:"NAME" help:"Local jobs that are, or were last, at this cluster."`
	Status  string `placeholder:"WORD,..." help:"Grid jobs in one of these statuses, such as failed: all of it failed. Where some local jobs failed it is finished."`
	Type    string `placeholder:"TYPE" help:"Grid jobs of this job type."`
	User    string `aliases:"owner" placeholder:"USER" help:"Grid jobs of this user."`
	Age     string `aliases:"older" placeholder:"AGE" help:"Grid jobs accepted at least so long ago: 7d, 36h; or between two ages: 0-12h."`
}

// where returns the filters of the command line for a request. at holds the flags for the place of the daemon: the
// error for a wrong --state says that --job-state may be meant. An error names the wrong flag.
func (f *filters) where(at place) (selection.Filters, error) {
	w := selection.Filters(*f)
	if isStates(at.State) {
		return w, usage("--state %s: there is no such folder, and --state is the folder of the daemon's state; local jobs "+
			"in a state are selected by --job-state %[1]s", at.State)
	}
	err := w.Check()
	switch {
	case err == nil:
		return w, nil
	case strings.HasPrefix(err.Error(), "state"): // people may have meant --state, which is the daemon's folder
		return w, usage("--job-%w", err)
	}
	return w, usage("--%w", err)
}

// isStates reports whether text, the value of --state, is a list of states of local jobs and not the name of an
// existing folder.
func isStates(text string) bool {
	if text == "" || (selection.Filters{State: text}).Check() != nil {
		return false
	}
	info, err := os.Stat(text)
	return err != nil || !info.IsDir()
}

// patterns parses the ids and patterns of a command line. If grid is set, the command is about grid jobs only, and
// patterns returns an error for a reference to local jobs.
func patterns(refs []string, grid bool) (selection.List, error) {
	list, err := selection.Parse(refs)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	for _, p := range list {
		if grid && p.Ref.Locals {
			whole, _, _ := strings.Cut(p.String(), ".")
			return nil, usage("id %q: want a grid job, such as %s", p.String(), whole)
		}
	}
	return list, nil
}

// hasName reports whether a list has a pattern of names, such as name:mc*.
func hasName(list selection.List) bool {
	for _, p := range list {
		if p.Name != "" {
			return true
		}
	}
	return false
}

// named returns the words of refs, with the ids of the matching grid jobs in place of each pattern of names. The daemon
// looks up the names; if no daemon answers and records is set, named looks them up in the records. If grid is set,
// references to local jobs are an error. name is the name of the command, for messages.
func (p place) named(c *cli, name string, refs []string, grid, records bool) ([]string, error) {
	list, err := patterns(refs, grid)
	if err != nil || !hasName(list) {
		return list.Words(), err
	}
	a, err := ask(c, p, wire.VerbSelect(), wire.SelectRequest{Refs: list.Words()})
	if records && client.IsUnreachable(err) {
		return p.offline(c, name, err).named(list)
	}
	if err != nil {
		return nil, err
	}
	return a.Select.Refs, nil
}

// one returns the id of the job that a pattern means, for commands about one job. If the pattern means several jobs,
// one returns an error. name, grid and records are the arguments of named.
func (p place) one(c *cli, name, pattern string, grid, records bool) (string, error) {
	refs, err := p.named(c, name, []string{pattern}, grid, records)
	if err != nil {
		return "", err
	}
	if len(refs) != 1 {
		return "", usage("%s means %s, such as %s and %s: jjm %s is about one job, name it", pattern,
			jjm.Count(len(refs), "job"), refs[0], refs[1], name)
	}
	return refs[0], nil
}

// oneLocal returns an error unless a pattern means exactly one local job, for commands about one local job.
func oneLocal(command, pattern string) error {
	list, err := patterns([]string{pattern}, false)
	if err != nil {
		return err
	}
	p := list[0]
	switch n, known := p.Jobs(); {
	case len(list) > 1 || p.Name != "":
		return usage("%.80q: jjm %s is about one local job, such as 12.3", pattern, command)
	case !p.Ref.Locals:
		return usage("%s is a grid job: want one of its local jobs, such as %s.0", pattern, pattern)
	case !known || n > 1:
		first := p
		first.Ref.Last = first.Ref.First
		return usage("%s means several local jobs: jjm %s is about one, such as %s", pattern, command, first)
	}
	return nil
}

// many holds the flags and arguments of the commands that change many jobs.
type many struct {
	Dry  bool     `name:"dry-run" help:"Change nothing; show and count what would be done."`
	Yes  bool     `help:"Do not ask, however many jobs are selected."`
	JSON bool     `name:"json" help:"One JSON object per line."`
	Refs []string `arg:"" optional:"" name:"ID" help:"Grid jobs or local jobs: 12, 12.3, 12.3-7, 12.*, name:GLOB."`

	filters
	place
}

// choose returns references to the jobs that the ids and filters of the command line select, each job once. If more
// than manyJobs jobs are selected, a person must confirm the command, or a program must pass --yes. If names or filters
// select the jobs, the daemon looks them up. normally is the state of the local jobs that the command selects if the
// command line has no filter of states; "" means every state in which the command can change a local job.
func (m *many) choose(c *cli, command selection.Purpose, normally string) ([]string, error) {
	list, err := patterns(m.Refs, command == selection.ToRemove)
	if err != nil {
		return nil, err
	}
	list = list.Distinct(command.Wholes())
	where, err := m.where(m.place)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && !where.Any() {
		return nil, usage("which jobs? Want ids or filters, such as jjm %s 17 or jjm %s --user alice", command, command)
	}
	found := where.Any() || hasName(list)
	if found && where.State == "" {
		where.State = normally
	}
	refs, jobs, known := list.Words(), 0, true
	for _, p := range list {
		n, ok := p.Jobs()
		jobs, known = jobs+n, known && ok
	}
	if found || !known && !m.Dry && !m.Yes {
		a, err := ask(c, m.place, wire.VerbSelect(), wire.SelectRequest{Refs: refs, Where: where, For: command})
		if err != nil {
			return nil, err
		}
		if jobs = a.Select.Jobs(); found { // otherwise the daemon gets the ids of the command line unchanged
			if refs, jobs, err = distinct(a.Select, command); err != nil {
				return nil, err
			}
		}
	}
	if len(refs) == 0 {
		c.say("jjm %s: there is no such job that it could change", command)
	}
	if m.Dry {
		return refs, nil
	}
	return refs, c.confirm(string(command), jobs, jobWord(command), m.Yes)
}

// distinct returns the references to the jobs that the daemon found, each job once, and the number of the jobs.
func distinct(found *wire.Selected, command selection.Purpose) (refs []string, jobs int, err error) {
	list, err := selection.Parse(found.Refs)
	if err != nil {
		return nil, 0, err
	}
	list = list.Distinct(command.Wholes())
	for _, p := range list {
		n, known := p.Jobs()
		if !known {
			return list.Words(), found.Jobs(), nil
		}
		jobs += n
	}
	return list.Words(), jobs, nil
}

// jobWord returns the noun for the jobs that a command changes.
func jobWord(command selection.Purpose) string {
	if command == selection.ToRemove {
		return "grid job"
	}
	return "job"
}

// keepGoing holds the flag --keep-going: a command continues after a failure, or stops at the first (ganga.md 5.5).
type keepGoing struct {
	KeepGoing bool `negatable:"" default:"true" help:"Go on after a failure and report it at the end, which is normal; or stop at the first."`
}

// results sends the requests of a command that changes many jobs, and prints the answer for each job. ask sends one
// request and returns the answers for its references, outcome returns the error of one answer or nil, and show prints
// one answer.
type results[T any] struct {
	c       *cli
	command string
	stop    bool // send no further request after the first error
	ask     func(refs []string) ([]T, error)
	outcome func(T) *wire.Error
	show    func(T) error
}

// of sends the chunks of ids one after another and prints each answer. If an id was refused, it returns an error with
// the exit code of the first refusal, or exitSome if other ids succeeded. This error has no text, because show printed
// the refusal.
func (r *results[T]) of(chunks [][]string) error {
	var first error
	some := false
	for i, refs := range chunks {
		answers, err := r.ask(refs)
		if err != nil {
			return partly(some, err)
		}
		for _, one := range answers {
			switch e := r.outcome(one); {
			case e == nil:
				some = true
			case first == nil:
				first = e.Err()
			}
			if err := r.show(one); err != nil {
				return err
			}
		}
		_ = r.c.out.Flush() // so that the answers come before messages on standard error
		if rest := chunks[i+1:]; first != nil && r.stop && len(rest) > 0 {
			r.c.say("jjm %s: stopped; not attempted from %s on", r.command, rest[0][0])
			break
		}
	}
	if first != nil {
		first = &exit{code: codeOf(first)}
	}
	return partly(some, first)
}

// partly returns err. If some is set, because other jobs succeeded, it adds the exit code exitSome to an error.
func partly(some bool, err error) error {
	var silent *exit
	switch {
	case !some || err == nil:
		return err
	case errors.As(err, &silent):
		return &exit{exitSome, silent.err}
	}
	return &exit{exitSome, err}
}

// inChunks divides references into groups of at most manyJobs, one group for each request.
func inChunks(refs []string) (chunks [][]string) {
	for ; len(refs) > manyJobs; refs = refs[manyJobs:] {
		chunks = append(chunks, refs[:manyJobs])
	}
	if len(refs) == 0 {
		return chunks
	}
	return append(chunks, refs)
}

// gridsAtOnce is the greatest number of grid jobs in one request to resubmit. The number is small because the daemon
// may have to read each of these grid jobs from its history.
const gridsAtOnce = 20

// byGrid divides references into groups, one for each request. All references to the same grid job are in the same
// group, because a grid job is reopened only once. The grid jobs stay in the order in which the references first name
// them.
func byGrid(refs []string) (chunks [][]string) {
	var order []string
	of := map[string][]string{}
	for _, ref := range refs {
		grid, _, _ := strings.Cut(ref, ".")
		if of[grid] == nil {
			order = append(order, grid)
		}
		of[grid] = append(of[grid], ref)
	}
	grids, chunk := 0, []string(nil)
	for _, grid := range order {
		if grids == gridsAtOnce || len(chunk) > 0 && len(chunk)+len(of[grid]) > wire.MaxRefs {
			chunks, chunk, grids = append(chunks, chunk), nil, 0
		}
		chunk, grids = append(chunk, of[grid]...), grids+1
	}
	if len(chunk) == 0 {
		return chunks
	}
	return append(chunks, chunk)
}
