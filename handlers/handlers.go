// Package handlers holds the contract between jjm and a job type.
//
// A handler instantiates a grid job of its type as local jobs: it checks the
// description, names the splitter that cuts the work, prepares what the
// sandbox must hold, and gives the command line of a part. It is stateless and
// may be called from many goroutines.
//
// A new job type is one folder below this one and one line in handlers/all;
// handlers/handlertest holds the suite that it must pass.
package handlers

import (
	"io"
	"sort"

	"jjm"
	"jjm/split"
)

// Handler is one job type.
type Handler interface {
	// Type is the word that job files name it by.
	Type() string
	// Describe documents the type, for people. It does not wait; see [Learner].
	Describe() Description
	// Check finds every mistake that can be found without making anything. It
	// runs in the gatekeeper's second: no I/O but site.Open.
	Check(spec *jjm.Spec, site Site) jjm.Problems
	// Split names the splitter, its parameters and the work, and says why. It
	// is called only on a spec that Check accepted.
	Split(spec *jjm.Spec, site Site) (Cutting, error)
	// Command returns the command line of a part. It is called on the daemon's
	// side, at submission.
	Command(spec *jjm.Spec, job *jjm.LocalJob) (Command, error)
}

// Preparer is what a handler implements if its sandbox holds more than the
// inputs that the job file names.
type Preparer interface {
	// Prepare lists files that the type itself adds.
	Prepare(spec *jjm.Spec, site Site) ([]jjm.Input, error)
}

// Analyser is what a handler implements that knows better than exit code and log what
// became of an attempt.
type Analyser interface {
	// Analyse returns what is to become of an attempt that is over, nil for what jjm
	// makes of it. It is asked only about attempts that left a result, and may be asked
	// more than once: no I/O, and the same answer each time. What it says counts where
	// package analyse says so; retries and holds are counted against the limits.
	Analyse(spec *jjm.Spec, job *jjm.LocalJob, result *jjm.Result) *jjm.Opinion
}

// Progress is what a handler implements that knows which phase of its application tells
// how far a local job is.
type Progress interface {
	// Progress returns what is shown of a running local job. The phases are those of
	// which its application spoke, at least one, in the order in which it began them;
	// of which it spoke last tells Ended. No I/O.
	Progress(spec *jjm.Spec, job *jjm.LocalJob, phases []jjm.AppPhase) jjm.Progress
}

// Site is what a handler may know of the site.
type Site struct {
	// RecommendedCPU and MaxCPU bound a local job, in CPU seconds; 0 = not set.
	RecommendedCPU float64
	MaxCPU         float64
	// MaxLocalJobs caps the local jobs of one grid job.
	MaxLocalJobs int
	// Open opens an input of the job by the path that the job file gives,
	// relative to the job file's folder unless absolute.
	Open func(path string) (io.ReadCloser, error)
	// Run runs a type's program on behalf of the job's owner; nil where none can be run.
	Run func(Program) (Ran, error)
}

// Cutting is how the work of a step will be cut.
type Cutting struct {
	Splitter string
	Params   split.Params
	Work     split.Work
	// Jobs is the number of local jobs it will make.
	Jobs int
	// Why explains the decision, one sentence each.
	Why []string
}

// Command is what the wrapper runs for a part, in the job's directory.
type Command struct {
	// Argv[0] is looked up in the job's directory first, then on PATH. Words
	// are passed as they are; no shell re-splits them.
	Argv []string
	// Env is added to the environment of the application.
	Env map[string]string
	// Outputs are file names to collect, besides the job file's.
	Outputs []string
}

// Description documents a job type.
type Description struct {
	// Summary is one line.
	Summary string
	// Result is how it reports unless the job file says otherwise.
	Result string
	// Reads says that its work is the files of datasets, which the job file names;
	// see Fits.
	Reads bool
	// Along says that files of secondary datasets may come along with the events that
	// it makes; see Fits.
	Along bool
	// Splitters are those that a job file may name for work that the type makes itself.
	Splitters []string
	// Params are its settings.
	Params []Param
	// Example is a whole job file.
	Example string
}

// Param documents one setting of a job type.
type Param struct {
	Name, Type, Unit, Default, Help string
	Required                        bool
}

// Registry holds the job types by name.
type Registry map[string]Handler

// NewRegistry lists handlers; two of one name are a programming error that
// the test of package all finds.
func NewRegistry(hs ...Handler) Registry {
	r := make(Registry, len(hs))
	for _, h := range hs {
		r[h.Type()] = h
	}
	return r
}

// Types returns the names, sorted.
func (r Registry) Types() []string {
	names := make([]string, 0, len(r))
	for name := range r {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Get finds a type; an unknown one is refused naming the known ones.
func (r Registry) Get(name string) (Handler, error) {
	if h := r[name]; h != nil {
		return h, nil
	}
	return nil, jjm.Errorf(jjm.Invalid, "type: unknown job type %.40q: this site knows %v", name, r.Types())
}
