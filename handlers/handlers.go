// Package handlers holds the contract between jjm and a job type.
//
// A handler turns a grid job of its type into local jobs: it checks the description, names the splitter that cuts the
// work, prepares the content of the sandbox, and returns the command line of a part. It is stateless and may be called
// from many goroutines. The engine decides when these steps happen and how local jobs end.
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
	// Describe documents the type, for people. It returns without waiting (see [Learner]).
	Describe() Description
	// Check returns every mistake that can be found without creating anything. The gatekeeper waits for the result, so
	// Check must be quick and do no I/O except site.Open.
	Check(spec *jjm.Spec, site Site) jjm.Problems
	// Split returns how the work is cut: the splitter, its parameters, the work, and the reasons. It is called only with a
	// spec that Check accepted. An error means that the work cannot be cut.
	Split(spec *jjm.Spec, site Site) (Cutting, error)
	// Command returns the command line of the part that the local job processes. The daemon calls it at submission. An
	// error means that there is no command for the part.
	Command(spec *jjm.Spec, job *jjm.LocalJob) (Command, error)
}

// Preparer is implemented by handlers whose sandbox needs more files than the inputs in the job file.
type Preparer interface {
	// Prepare returns the files that the type itself adds.
	Prepare(spec *jjm.Spec, site Site) ([]jjm.Input, error)
}

// Analyser is implemented by handlers that can judge an attempt better than its exit code and its log allow.
type Analyser interface {
	// Analyse returns the handler's opinion on an ended attempt, or nil to leave the verdict to jjm. It is called only for
	// attempts that left a result, possibly more than once, so it must do no I/O and always return the same answer.
	// Package analyse documents when the opinion counts. Retries and holds in opinions count against the limits.
	Analyse(spec *jjm.Spec, job *jjm.LocalJob, result *jjm.Result) *jjm.Opinion
}

// Ruler is implemented by handlers with their own rules. A rule decides what an attempt's end means.
type Ruler interface {
	// Rules returns the rules that the type had when the job was accepted.
	Rules(spec *jjm.Spec) []rule.Rule
}

// RulesOf returns the set rules with the rules of a job type added. The type's rules outrank all other rules. If h has
// no rules or is nil, the result is rules.
func RulesOf(h Handler, spec *jjm.Spec, rules rule.Set) rule.Set {
	r, ok := h.(Ruler)
	if !ok {
		return rules
	}
	return rules.With("type "+h.Type(), r.Rules(spec))
}

// Progress is implemented by handlers whose application reports the progress of several phases. It selects the phase
// whose progress is shown for a local job.
type Progress interface {
	// Progress returns the progress that is shown for a running local job. phases are the phases that the job's
	// application reported, at least one, in the order of their first report; the latest report has the largest Ended.
	// Progress does no I/O.
	Progress(spec *jjm.Spec, job *jjm.LocalJob, phases []jjm.AppPhase) jjm.Progress
}

// Site contains the facts about the site that a handler may use, and functions that read files and run programs.
type Site struct {
	// RecommendedCPU and MaxCPU are the recommended and the largest CPU time of a local job, in seconds; 0 means not
	// set.
	RecommendedCPU float64
	MaxCPU         float64
	// MaxLocalJobs is the largest number of local jobs of one grid job; 0 means DefaultMaxLocalJobs.
	MaxLocalJobs int
	// Open opens an input of the job by the path in the job file, which is relative to the job file's folder unless
	// absolute. Open is nil if files cannot be opened.
	Open func(path string) (io.ReadCloser, error)
	// Run runs a type's program on behalf of the job's owner; nil if no program can run.
	Run func(Program) (Ran, error)
}

// Cutting describes how the work of a step will be cut.
type Cutting struct {
	// Splitter is the name of the splitter. Params are its parameters, Work is the work to cut.
	Splitter string
	Params   split.Params
	Work     split.Work
	// Jobs is the number of local jobs in the cutting; 0 if it is not known yet.
	Jobs int
	// Why contains the reasons for the decision, one sentence each.
	Why []string
}

// Command is the command that the wrapper runs for a part, in the job's directory.
type Command struct {
	// Argv[0] is searched first in the job's directory, then on PATH. Words are passed unchanged; no shell splits them
	// again.
	Argv []string
	// Env is added to the environment of the application.
	Env map[string]string
	// Outputs are the names of output files to collect, besides the outputs that the job file names. Required are the
	// names of further output files to collect; an attempt only succeeds if it has written all Required files.
	Outputs, Required []string
	// Optional are the names of further output files. They are collected if the attempt has written them.
	Optional []string
	// Analyse is a command that judges the attempt; empty if there is none. The command runs on the worker after the
	// application has ended. Its answer is stored in Result.Opinion. The answer only counts if the job type's method
	// Analyse returns it.
	Analyse []string
}

// Description documents a job type.
type Description struct {
	// Summary is one line.
	Summary string
	// Result is how jobs of the type report their end, "glf" or "exit", unless the job file sets another way.
	Result string
	// Reads is set if the type processes the files of datasets, which the job file must then name (see Fits).
	Reads bool
	// Cut is a text for people about the cutting of files: the splitter that is used unless the job file names another
	// one, with its parameters, as in "FileBased, files_per_job = 2". It is "" if the job type does not describe its
	// cutting.
	Cut string
	// Along is set if the job type generates events and its local jobs may also read files of secondary datasets (minimum
	// bias, cards); see Fits.
	Along bool
	// Splitters are the splitters among which a job file may choose if the job type generates the work itself.
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

// NewRegistry returns a registry of handlers. Two handlers with the same name are a programming error, which the test
// of package all finds.
func NewRegistry(hs ...Handler) Registry {
	r := make(Registry, len(hs))
	for _, h := range hs {
		r[h.Type()] = h
	}
	return r
}

// Types returns the names of the types, sorted.
func (r Registry) Types() []string {
	names := make([]string, 0, len(r))
	for name := range r {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Get returns the job type with a name. If the name is unknown, the error is of kind Invalid, names the type that was
// probably meant, and lists the known types.
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
