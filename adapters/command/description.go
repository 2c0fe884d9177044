package command

import (
	"regexp"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/internal/strict"
)

// Description is a batch system as a file describes it: complete, and without
// contradictions. It does not change, and may be used by many goroutines.
type Description struct {
	// Name is the batch system's, for people.
	Name string

	environment map[string]string
	none        []string
	caps        adapters.Capabilities
	ids         ids
	name        *regexp.Regexp // of a job; its first group is the tag
	script      script
	times       times
	states      map[string]jjm.BatchState
	rules       []rule
	submit      submit
	list        *query
	find        *query // nil: list tells
	account     *query // nil: no accounting
	control     map[adapters.Op]*control
	probes      []probe
}

// script is what a description says about the script of a job.
type script struct {
	idVariable, indexVariable string
	directive                 template // no parts: there are none
	reserved                  []string
}

// submit is the verb that hands a bulk over.
type submit struct {
	command  command
	argument bool // the script is a file, not standard input
	options  map[string][]template
	memory   unit
	perCore  bool
	scratch  unit
	walltime walltimeForm
	outcomes outcomes
}

// query is a verb that tells about jobs.
type query struct {
	command  command
	per      int // ids or tags in one call
	since    string
	history  time.Duration
	source   string
	header   *regexp.Regexp // of a line that every good output has; nil: none
	format   format
	exit     exitForm
	outcomes outcomes
	// loose queries may tell of a bulk without saying which of its jobs.
	loose bool
}

// control is a verb that acts on jobs.
type control struct {
	command  command
	per      int
	bulk     bool // the id of a bulk alone means all its jobs
	hold     bool // waiting jobs are held first
	outcomes outcomes
}

// probe is a command that tells about the batch system.
type probe struct {
	command  command
	queue    []template // words for the cluster's default queue
	find     []*regexp.Regexp
	outcomes outcomes
}

// Parse reads a description. The name is that of its file and appears in the
// problems, which are all that there are: keys that are not known, values of a
// wrong type, and what contradicts each other, each with its place.
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

// ownerValues returns the values that every command may use.
func ownerValues(owner jjm.Owner) map[string]string {
	return map[string]string{"OWNER": userName(owner), "UID": number(owner.UID), "GID": number(owner.GID)}
}
