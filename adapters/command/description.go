package command

import (
	"regexp"
	"time"

	"jjm/adapters"
	"jjm/internal/formats/strict"
	"jjm/internal/jjm"
)

// Description is a batch system as a file describes it, complete and without
// contradictions. It never changes and may be used by many goroutines.
type Description struct {
	// Name is the name of the batch system for people.
	Name string

	environment map[string]string
	none        []string // words that stand for an empty field
	caps        adapters.Capabilities
	ids         ids
	name        *regexp.Regexp // matches a job's name; its first group is the tag
	script      script
	times       times
	states      map[string]jjm.BatchState
	rules       []rule
	submit      submit
	list        *query
	find        *query // nil: list is used
	account     *query // nil: no accounting
	control     map[adapters.Op]*control
	probes      []probe
}

// script is the part of a description about the script of a job.
type script struct {
	idVariable, indexVariable string
	directive                 template // no parts: the batch system has no directives
	reserved                  []string
}

// submit is the verb that submits a bulk.
type submit struct {
	command  command
	argument bool // the script is passed as a file, not on standard input
	options  map[string][]template
	memory   unit
	perCore  bool // the memory option is for each core
	scratch  unit
	walltime walltimeForm
	outcomes outcomes
}

// query is a verb that lists jobs.
type query struct {
	command  command
	perCall  int            // ids or tags in one call
	since    string         // layout of %__SINCE__
	history  time.Duration  // how far back Find and Account look
	source   string         // jjm.Report.Source of its reports
	header   *regexp.Regexp // a line that every good output has; nil: none
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
	wholeBulk bool // the id of a bulk stands for all its jobs
	holdFirst bool // waiting jobs are held before they are cancelled
	outcomes  outcomes
}

// probe is a command that reports limits of the batch system.
type probe struct {
	command  command
	queue    []template       // words for the cluster's default queue
	find     []*regexp.Regexp // their groups are the limits, see probeNames
	outcomes outcomes
}

// Parse reads a description. name is the name of its file, for the error. The error lists
// every mistake with its place: unknown keys, values of a wrong type, and contradictions.
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
