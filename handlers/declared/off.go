package declared

import (
	"path/filepath"
	"regexp"
	"strings"

	"jjm/handlers"
	"jjm/handlers/external"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse/rule"
)

// OffType replaces the job type of a file with mistakes. It accepts no new jobs. A job that was accepted before
// continues, because the plan stored with the job contains everything that its local jobs need.
type OffType struct {
	off      handlers.Off
	declared *Type
	external *external.Type
}

var (
	_ handlers.Handler  = (*OffType)(nil)
	_ handlers.Planner  = (*OffType)(nil)
	_ handlers.Preparer = (*OffType)(nil)
	_ handlers.Analyser = (*OffType)(nil)
	_ handlers.Progress = (*OffType)(nil)
	_ handlers.Ruler    = (*OffType)(nil)
	_ handlers.Learner  = (*OffType)(nil)
	_ handlers.Switched = (*OffType)(nil)
)

// newOff returns the type for a file with mistakes. path is the file that declares the type, and program the path of
// its program, "" if it is unknown.
func newOff(off handlers.Off, path, program string) *OffType {
	if program == "" {
		program = path
	}
	return &OffType{off: off, declared: &Type{path: path}, external: external.New(off.Type, program, nil)}
}

// planner has the methods of a handler that work with the stored plan of a job.
type planner interface {
	handlers.Handler
	handlers.Preparer
	handlers.Analyser
	handlers.Progress
}

// of returns a type that can read the plan of a job: a declared type or an external type, depending on what planned the
// job.
func (t *OffType) of(spec *jjm.Spec) planner {
	if t.isDeclared(spec) {
		return t.declared
	}
	return t.external
}

// isDeclared reports whether a declared type planned the job; otherwise a program did.
func (t *OffType) isDeclared(spec *jjm.Spec) bool {
	text, stored := spec.Params[textKey].(string)
	return stored && text != ""
}

// Type returns the name of the type.
func (t *OffType) Type() string { return t.off.Type }

// Off returns the reason why the type is off.
func (t *OffType) Off() *handlers.Off {
	off := t.off
	return &off
}

// Learn returns the mistakes in the file.
func (t *OffType) Learn() jjm.Problems { return t.off.Why }

// Describe returns a description whose summary says that the type is off.
func (t *OffType) Describe() handlers.Description {
	return handlers.Description{Summary: "off: " + t.off.Short(), Result: jjm.ResultExit}
}

// Plan returns a problem for every new job.
func (t *OffType) Plan(*jjm.Spec, handlers.Site) (map[string]any, jjm.Problems) {
	return nil, t.off.Refusal()
}

// Check returns the problems of a job's plan.
func (t *OffType) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	return t.of(spec).Check(spec, site)
}

// Split returns how the work is cut according to the plan of a job. The error contains the problems with the plan.
func (t *OffType) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	return t.of(spec).Split(spec, site)
}

// Command returns the command line of a part. The error contains the problems with the plan of the job.
func (t *OffType) Command(spec *jjm.Spec, job *jjm.LocalJob) (handlers.Command, error) {
	return t.of(spec).Command(spec, job)
}

// Prepare returns the files that the plan of a job adds. The error contains the problems with the plan.
func (t *OffType) Prepare(spec *jjm.Spec, site handlers.Site) ([]jjm.Input, error) {
	return t.of(spec).Prepare(spec, site)
}

// Analyse returns the opinion of the type in the plan about an attempt, nil if there is none.
func (t *OffType) Analyse(spec *jjm.Spec, job *jjm.LocalJob, result *jjm.Result) *jjm.Opinion {
	return t.of(spec).Analyse(spec, job, result)
}

// Progress returns the progress of the phase in the plan.
func (t *OffType) Progress(spec *jjm.Spec, job *jjm.LocalJob, phases []jjm.AppPhase) jjm.Progress {
	return t.of(spec).Progress(spec, job, phases)
}

// Rules returns the rules that the type had when the job was accepted; nil if a program planned the job.
func (t *OffType) Rules(spec *jjm.Spec) []rule.Rule {
	if !t.isDeclared(spec) {
		return nil
	}
	return t.declared.Rules(spec)
}

// nameLine matches the line that names the type.
var nameLine = regexp.MustCompile(`^name[ \t]*=[ \t]*["\']([a-z][a-z0-9_-]{0,39})["\']`)

// nameOf returns the name of the type that a file with mistakes declares: the name in its text, or otherwise the name
// of the file. named is false if neither is a valid type name; then name is the name of the file.
func nameOf(path string, text []byte) (name string, named bool) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			break // a name inside a table is not the type's name
		}
		if m := nameLine.FindStringSubmatch(line); m != nil {
			return m[1], true
		}
	}
	base := filepath.Base(path)
	if stem := base[:len(base)-len(suffix)]; typeName.MatchString(stem) {
		return stem, true
	}
	return base, false
}
