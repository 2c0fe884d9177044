package declared

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"jjm/handlers"
	"jjm/internal/formats/strict"
	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/policy/analyse/rule"
)

// textKey is the key below params for the text of the file that declared the type when a job was accepted.
const textKey = handlers.OwnKey + "type"

// Type is a job type from a file. It runs a job only according to the text that the file had when the job was accepted,
// which is stored with the job: a later change of the file affects neither the job nor a recovery of the job.
type Type struct {
	declared
	path string
	held func(path string) error // Folder.Held, nil for a type that was not read from a folder

	mu        sync.Mutex
	other     declared // the type that otherText declares
	otherText string   // the latest stored text that differed from the file, "" for none
}

var (
	_ handlers.Handler  = (*Type)(nil)
	_ handlers.Planner  = (*Type)(nil)
	_ handlers.Preparer = (*Type)(nil)
	_ handlers.Analyser = (*Type)(nil)
	_ handlers.Progress = (*Type)(nil)
	_ handlers.Ruler    = (*Type)(nil)
)

// Plan returns the text of the file, to be stored with the job.
func (t *Type) Plan(*jjm.Spec, handlers.Site) (map[string]any, jjm.Problems) {
	return map[string]any{textKey: t.text}, nil
}

// at returns the type according to the text that is stored with a job, and the job file without this text. If no text
// is stored, for example in a preview, at returns the type according to the file as it is now. The problem is that the
// stored text, which another version of jjm accepted, has mistakes for this version.
func (t *Type) at(spec *jjm.Spec) (declared, *jjm.Spec, jjm.Problems) {
	plan, bare := handlers.Unplanned(spec)
	text, stored := plan[textKey].(string)
	if !stored || text == t.text {
		return t.declared, bare, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.otherText != text {
		d, problems := parse(t.path, filepath.Dir(t.path), []byte(text))
		if len(problems) > 0 {
			return declared{}, bare, jjm.Problems{{Field: "params." + textKey,
				Text: "the type as it was declared when the job was accepted: " + problems.Error()}}
		}
		t.other, t.otherText = d, text
	}
	return t.other, bare, nil
}

// Check returns the problems with the settings and with the cutting of the work.
func (t *Type) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	d, bare, problems := t.at(spec)
	if len(problems) > 0 {
		return problems
	}
	return d.Check(bare, site)
}

// Split returns how the work is cut. The error contains the problems with the stored text, the settings or the cutting.
func (t *Type) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	d, bare, problems := t.at(spec)
	if len(problems) > 0 {
		return handlers.Cutting{}, problems.Err()
	}
	c, err := d.Split(bare, site)
	c.Why = append(c.Why, fmt.Sprintf("declared by %s, SHA-256 %x", filepath.Base(t.path), sha256.Sum256([]byte(d.text))))
	return c, err
}

// Command returns the command line of a part. The error contains the problems with the stored text or the settings.
func (t *Type) Command(spec *jjm.Spec, job *jjm.LocalJob) (handlers.Command, error) {
	d, bare, problems := t.at(spec)
	if len(problems) > 0 {
		return handlers.Command{}, problems.Err()
	}
	return d.Command(bare, job)
}

// Prepare returns the files that the type adds to each grid job. The error is of kind Busy if other accounts can change
// one of these files. This must be checked for each grid job, because the folder was checked only when the daemon
// started.
func (t *Type) Prepare(spec *jjm.Spec, _ handlers.Site) ([]jjm.Input, error) {
	d, _, problems := t.at(spec)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	for i := range d.inputs {
		in := &d.inputs[i]
		if t.held == nil || weburl.Is(in.Path) {
			continue
		}
		if err := t.held(in.Path); err != nil && !errors.Is(err, fs.ErrNotExist) { // the packer reports a missing file
			return nil, jjm.Errorf(jjm.Busy, "the job type packs %s: %w", in.Path, err)
		}
	}
	return d.inputs, nil
}

// Analyse returns the opinion of the type about an attempt. If the type's command judged the attempt on the worker, it
// is that command's opinion, otherwise the meaning of the exit code. Analyse returns nil if there is neither, or if the
// stored text has mistakes.
func (t *Type) Analyse(spec *jjm.Spec, _ *jjm.LocalJob, result *jjm.Result) *jjm.Opinion {
	d, _, problems := t.at(spec)
	if len(problems) > 0 {
		return nil // another version of jjm stored the text; exit code and log decide
	}
	return d.file.Ends.Opinion(len(d.file.Analyse) > 0, result)
}

// Rules returns the rules that the type had when the job was accepted; nil if the stored text has mistakes.
func (t *Type) Rules(spec *jjm.Spec) []rule.Rule {
	d, _, problems := t.at(spec)
	if len(problems) > 0 {
		return nil // the job cannot run; Check reports the mistakes
	}
	return d.file.Rules
}

// Progress returns the progress of the phase that the file names.
func (t *Type) Progress(spec *jjm.Spec, job *jjm.LocalJob, phases []jjm.AppPhase) jjm.Progress {
	phase := ""
	if d, _, problems := t.at(spec); len(problems) == 0 {
		phase = d.file.Phase
	}
	return handlers.PhaseShown(phase, &job.Part, phases)
}

// parse returns the type that the text of a file declares, for a file without a program; dir is the file's folder. The
// problems name every mistake with its place. If the text itself has no mistakes, parse also checks the example of the
// type.
func parse(path, dir string, text []byte) (declared, jjm.Problems) {
	var f File
	places, problems := strict.Decode(path, text, &f)
	// A file that names a program must have no other key besides the name, so check would only add problems.
	if f.Program == "" || len(problems) == 0 {
		problems = append(problems, problems.Unsaid(places.Locate(f.check()))...)
	}
	if len(problems) > 0 {
		return declared{}, problems
	}
	d := newType(&f, dir)
	d.text = string(text)
	return d, places.Locate(d.tryExample())
}
