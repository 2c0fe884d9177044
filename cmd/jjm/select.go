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

// filters are the filters of list, and of the commands that change many jobs: docs/SELECTION.md. The struct has the
// fields of selection.Filters.
type filters struct {
	State   string `name:"job-state" placeholder:"WORD,..." help:"Local jobs in one of these states, such as failed,killed."`
	Host    string `placeholder:"GLOB" help:"Local jobs whose host, the last one, fits, such as 'node7*'."`
	Exit    string `aliases:"exit-code" placeholder:"CODES" help:"Local jobs whose last attempt ended with one of these exit codes: 3,128-255."`
	Reason  string `placeholder:"${reason_form=GLOB}" help:"${reason_help=Local jobs that failed, are tried again, are held or wait for a reason that fits, such as '*disk*'.}"`
	Cluster string `placeholder:"NAME" help:"Local jobs that are, or were last, at this cluster."`
	Status  string `placeholder:"WORD,..." help:"Grid jobs in one of these statuses, such as failed: all of it failed. Where some local jobs failed it is finished."`
	Type    string `placeholder:"TYPE" help:"Grid jobs of this job type."`
	User    string `aliases:"owner" placeholder:"USER" help:"Grid jobs of this user."`
	Age     string `placeholder:"AGE" help:"Grid jobs accepted at least so long ago: 7d, 36h; or between two ages: 0-12h."`
}

// where returns the filters in the form of requests. The error names the wrong flag. at has the place of the daemon.
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

// isStates reports whether text, the value of a flag for a folder, is a filter of states and no such folder exists.
func isStates(text string) bool {
	if text == "" || (selection.Filters{State: text}).Check() != nil {
		return false
	}
	info, err := os.Stat(text)
	return err != nil || !info.IsDir()
}

// patterns parses the ids and patterns of a command line. If grid is set, it returns an error for local jobs.
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

// hasName reports whether a list has a pattern of names.
func hasName(list selection.List) bool {
	for _, p := range list {
		if p.Name != "" {
			return true
		}
	}
	return false
}

// named returns the patterns as words, with ids in place of names. The daemon looks up the names. If no daemon answers
// and records is set, named looks up the names in the records. name is the name of the command.
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

// one returns the id of the only job that a pattern means, for commands about one job. It returns an error if the
// pattern means several jobs.
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

// oneLocal returns an error if a pattern does not mean exactly one local job, for commands about one local job.
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

// choose returns the ids that the command line selects. If there are many, a person must confirm them, or a program
// must pass --yes. normally is the state of local jobs that a command means if no state is given; "" means any state
// that it can change.
func (m *many) choose(c *cli, command selection.Purpose, normally string) ([]string, error) {
	list, err := patterns(m.Refs, command == selection.ToRemove)
	if err != nil {
		return nil, err
	}
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
		if jobs = a.Select.Jobs(); found { // named jobs are sent to the daemon as they were named
			refs = a.Select.Refs
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

// jobWord returns the word for the jobs of a command.
func jobWord(command selection.Purpose) string {
	if command == selection.ToRemove {
		return "grid job"
	}
	return "job"
}

// keepGoing holds the flag of the commands that may stop at the first failure (ganga.md 5.5: by default they continue).
type keepGoing struct {
	KeepGoing bool `negatable:"" default:"true" help:"Go on after a failure and report it at the end, which is normal; or stop at the first."`
}

// results prints the answers for many jobs, one line for each job.
type results[T any] struct {
	c       *cli
	command string
	stop    bool // at the first error
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
		_ = r.c.out.Flush() // printed before the total, which goes to another stream
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

// partly returns err with the exit code exitSome if some ids succeeded, otherwise err unchanged.
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

// inChunks divides ids into requests.
func inChunks(refs []string) (chunks [][]string) {
	for ; len(refs) > manyJobs; refs = refs[manyJobs:] {
		chunks = append(chunks, refs[:manyJobs])
	}
	if len(refs) == 0 {
		return chunks
	}
	return append(chunks, refs)
}

// gridsAtOnce is the greatest number of grid jobs that one request resubmits. The number is small because each grid job
// may have to be read from the history.
const gridsAtOnce = 20

// byGrid divides ids into requests, such that all ids of a grid job are in one request, because a grid job is reopened
// only once. The grid jobs stay in the order in which they are first named.
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
