package command

import (
	"regexp"
	"time"

	"jjm/adapters"
	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
)

// Description is the checked content of a file that describes a batch system. It never changes and may be used by many
// goroutines.
type Description struct {
	// Name is the name of the batch system for people.
	Name string

	environment map[string]string
	none        []string // words that mean an empty field
	caps        adapters.Capabilities
	ids         ids
	name        *regexp.Regexp // matches a job's name; group 1 is the tag
	script      script
	times       times
	states      map[string]jjm.BatchState
	rules       []rule
	submit      submit
	list        *query
	find        *query // nil if list replaces find
	account     *query // nil if there is no accounting
	control     map[adapters.Op]*control
	probes      []probe
}

// script describes how the script of a job is written.
type script struct {
	idVariable, indexVariable string
	directive                 template // has no parts if the batch system has no directives
	reserved                  []string
}

// submit is the verb that submits a bulk.
type submit struct {
	command  command
	argument bool // whether the script is passed as a file, not on standard input
	options  map[string][]template
	memory   unit
	perCore  bool // whether the memory option counts for each core
	scratch  unit
	walltime walltimeForm
	outcomes outcomes
}

// query is a verb that lists jobs.
type query struct {
	command  command
	perCall  int            // number of ids or tags in one call
	since    string         // layout of %__SINCE__
	history  time.Duration  // age of the oldest jobs that Find and Account look up
	source   string         // jjm.Report.Source for its reports
	header   *regexp.Regexp // matches a line that every valid output has; nil for none
	format   format
	exit     exitForm
	outcomes outcomes
	// mayLackIndex is set if the query may report on a bulk without naming one of its jobs.
	mayLackIndex bool
}

// control is a verb that acts on jobs.
type control struct {
	command   command
	perCall   int
	wholeBulk bool // whether the id of a bulk may replace the ids of all its jobs
	holdFirst bool // whether waiting jobs are held before they are cancelled
	outcomes  outcomes
}

// probe is a command that reports limits of the batch system.
type probe struct {
	command  command
	queue    []template       // words that select the cluster's default queue
	find     []*regexp.Regexp // expressions whose groups are the limits (see probeNames)
	outcomes outcomes
}

// Parse parses a description. name is the name of its file, for the error. The error lists every mistake with its
// place: unknown keys, values of a wrong type, and contradictions.
func Parse(name string, text []byte) (*Description, error) {
	var f file
	places, problems := strict.Decode(name, text, &f)
	c := checker{}
	d := c.description(&f)
	problems = append(problems, problems.Unsaid(c.problems)...)
	if err := places.Locate(problems).Err(); err != nil {
		return nil, err
	}
	return d, nil
}

// ownerValues returns the values that the templates of every command may use.
func ownerValues(owner jjm.Owner) map[string]string {
	return map[string]string{"OWNER": userName(owner), "UID": number(owner.UID), "GID": number(owner.GID)}
}
