// Package handlers holds the contract between jjm and a job type.
//
// A handler turns a grid job of its type into local jobs: it checks the description, names
// the splitter that cuts the work, prepares the content of the sandbox, and returns the
// command line of a part. It is stateless and may be called from many goroutines. It leaves
// to the engine when things happen and what becomes of local jobs.
//
// A new job type is one folder below this one and one line in handlers/all. It must pass the suite of package
// conformance, which internal/testkit/handlertest runs in tests.
package handlers

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"jjm/internal/formats/nearest"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse/rule"
	"jjm/internal/work/split"
)

// Handler is one job type. Its methods may be called from many goroutines.
type Handler interface {
	// Type returns the name of the type in job files.
	Type() string
	// Describe documents the type, for people. It does not wait; see [Learner].
	Describe() Description
	// Check returns every mistake that can be found without making anything. The gatekeeper
	// waits for it, so it must be quick and do no I/O but site.Open.
	Check(spec *jjm.Spec, site Site) jjm.Problems
	// Split names the splitter, its parameters and the work, with the reasons. It is called only on a spec that Check
	// accepted.
	Split(spec *jjm.Spec, site Site) (Cutting, error)
	// Command returns the command line of a part. It is called by the daemon, at
	// submission.
	Command(spec *jjm.Spec, job *jjm.LocalJob) (Command, error)
}

// Preparer is implemented by handlers whose sandbox needs more than the inputs that the job
// file names.
type Preparer interface {
	// Prepare returns the files that the type itself adds.
	Prepare(spec *jjm.Spec, site Site) ([]jjm.Input, error)
}

// Analyser is implemented by handlers that judge an attempt better than its exit code and its log allow.
type Analyser interface {
	// Analyse returns the handler's opinion on an attempt that has ended, or nil to leave the verdict to jjm. It is
	// called only for attempts that left a result, perhaps more than once: it must do no I/O and return the same answer
	// each time. Package analyse documents where the opinion counts. Retries and holds count against the limits.
	Analyse(spec *jjm.Spec, job *jjm.LocalJob, result *jjm.Result) *jjm.Opinion
}

// Ruler is implemented by handlers that have rules of their own about how attempts end.
type Ruler interface {
	// Rules returns the rules of the type as they were when the job was accepted.
	Rules(spec *jjm.Spec) []rule.Rule
}

// RulesOf returns rules together with the rules of a job type, which outrank them. h may be nil.
func RulesOf(h Handler, spec *jjm.Spec, rules rule.Set) rule.Set {
	r, ok := h.(Ruler)
	if !ok {
		return rules
	}
	return rules.With("type "+h.Type(), r.Rules(spec))
}

// Progress is implemented by handlers that know which phase of their application shows how
// far a local job is.
type Progress interface {
	// Progress returns what is shown for a running local job. The phases are the phases that its application reported,
	// at least one, in the order of their first report; the latest report has the largest Ended. Progress does no I/O.
	Progress(spec *jjm.Spec, job *jjm.LocalJob, phases []jjm.AppPhase) jjm.Progress
}

// Site is what a handler may know about the site.
type Site struct {
	// RecommendedCPU and MaxCPU bound a local job, in CPU seconds; 0 = not set.
	RecommendedCPU float64
	MaxCPU         float64
	// MaxLocalJobs bounds the number of local jobs of one grid job; 0 =
	// DefaultMaxLocalJobs.
	MaxLocalJobs int
	// Open opens an input of the job by the path in the job file, which is relative to the
	// job file's folder unless absolute; nil where files cannot be opened.
	Open func(path string) (io.ReadCloser, error)
	// Run runs a type's program on behalf of the job's owner; nil where none can be run.
	Run func(Program) (Ran, error)
}

// Cutting describes how the work of a step will be cut.
type Cutting struct {
	Splitter string
	Params   split.Params
	Work     split.Work
	// Jobs is the number of local jobs that it will make; 0 if that is not known yet.
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
	// Outputs are file names to collect, besides the job file's. Required are further files, each of which a local job
	// must leave.
	Outputs, Required []string
	// Optional are further files that may be missing.
	Optional []string
	// Analyse is a command that says what is to become of the attempt. It runs on the
	// worker after the application has ended; empty if there is none. Its answer is in
	// Result.Opinion, and counts if the type's Analyse returns it.
	Analyse []string
}

// Description documents a job type.
type Description struct {
	// Summary is one line.
	Summary string
	// Result is how the type reports, "glf" or "exit", unless the job file says otherwise.
	Result string
	// Reads says that the type processes the files of datasets, which the job file must
	// name; see Fits.
	Reads bool
	// Along says that the type makes events, and that its local jobs may also read files of
	// secondary datasets (minimum bias, cards); see Fits.
	Along bool
	// Splitters are the splitters that a job file may choose for work that the type makes itself.
	Splitters []string
	// Params are the settings of the type.
	Params []Param
	// Example is a complete job file.
	Example string
}

// Param documents one setting of a job type.
type Param struct {
	Name, Type, Unit, Default, Help string
	Required                        bool
}

// Registry holds the job types by name.
type Registry map[string]Handler

// NewRegistry returns a registry of handlers. Two with the same name are a programming
// error, which the test of package all finds.
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

// Get returns a type. If the name is unknown, the error names the type that was probably meant, and lists the known
// types.
func (r Registry) Get(name string) (Handler, error) {
	if h := r[name]; h != nil {
		return h, nil
	}
	meant := ""
	if near := nearest.Of(name, r.Types()); near != "" {
		meant = fmt.Sprintf("did you mean %q? ", near)
	}
	return nil, jjm.Errorf(jjm.Invalid, "type: unknown job type %.40q: %sthis site knows %s", name, meant,
		strings.Join(r.Types(), ", "))
}
