package declared

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"sync"

	"jjm"
	"jjm/handlers"
	"jjm/internal/strict"
)

// textKey is the key below params that holds the text of the file which declared the type
// when a job was accepted.
const textKey = handlers.OwnKey + "type"

// Type is a job type of a file. What it makes of a job follows from the text that the file
// had when the job was accepted, which is stored with the job: a file that is changed later
// changes nothing of it, nor of a recovery of it.
type Type struct {
	declared
	path string

	mu    sync.Mutex
	other declared // of the text that was wanted last, if not of the file's
	of    string   // that text
}

var (
	_ handlers.Handler  = (*Type)(nil)
	_ handlers.Planner  = (*Type)(nil)
	_ handlers.Preparer = (*Type)(nil)
	_ handlers.Analyser = (*Type)(nil)
	_ handlers.Progress = (*Type)(nil)
)

// Plan returns the text of the file, to be stored.
func (t *Type) Plan(*jjm.Spec, handlers.Site) (map[string]any, jjm.Problems) {
	return map[string]any{textKey: t.text}, nil
}

// at returns the type as a job file has it stored, else as the file declares it, and the
// job file as people wrote it.
func (t *Type) at(spec *jjm.Spec) (declared, *jjm.Spec, jjm.Problems) {
	plan, bare := handlers.Unplanned(spec)
	text, stored := plan[textKey].(string)
	if !stored || text == t.text {
		return t.declared, bare, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of != text {
		d, problems := parse(t.path, filepath.Dir(t.path), []byte(text))
		if len(problems) > 0 {
			return declared{}, bare, jjm.Problems{{Field: "params." + textKey,
				Text: "the type as it was declared when the job was accepted: " + problems.Error()}}
		}
		t.other, t.of = d, text
	}
	return t.other, bare, nil
}

// Check finds the mistakes in the settings and in how the work is to be cut.
func (t *Type) Check(spec *jjm.Spec, site handlers.Site) jjm.Problems {
	d, bare, problems := t.at(spec)
	if len(problems) > 0 {
		return problems
	}
	return d.Check(bare, site)
}

// Split names the splitter.
func (t *Type) Split(spec *jjm.Spec, site handlers.Site) (handlers.Cutting, error) {
	d, bare, problems := t.at(spec)
	if len(problems) > 0 {
		return handlers.Cutting{}, problems.Err()
	}
	c, err := d.Split(bare, site)
	c.Why = append(c.Why, fmt.Sprintf("declared by %s, SHA-256 %x", filepath.Base(t.path), sha256.Sum256([]byte(d.text))))
	return c, err
}

// Command returns the command line of a part.
func (t *Type) Command(spec *jjm.Spec, job *jjm.LocalJob) (handlers.Command, error) {
	d, bare, problems := t.at(spec)
	if len(problems) > 0 {
		return handlers.Command{}, problems.Err()
	}
	return d.Command(bare, job)
}

// Prepare lists the files that the type itself adds.
func (t *Type) Prepare(spec *jjm.Spec, _ handlers.Site) ([]jjm.Input, error) {
	d, _, problems := t.at(spec)
	return d.inputs, problems.Err()
}

// Analyse says what becomes of an attempt by its exit code.
func (t *Type) Analyse(spec *jjm.Spec, _ *jjm.LocalJob, result *jjm.Result) *jjm.Opinion {
	d, _, problems := t.at(spec)
	if len(problems) > 0 {
		return nil // stored by another jjm: exit code and log decide
	}
	return d.file.Ends.Opinion(result)
}

// Progress shows the phase that the file names.
func (t *Type) Progress(spec *jjm.Spec, job *jjm.LocalJob, phases []jjm.AppPhase) jjm.Progress {
	phase := ""
	if d, _, problems := t.at(spec); len(problems) == 0 {
		phase = d.file.Phase
	}
	return handlers.PhaseShown(phase, &job.Part, phases)
}

// parse reads the text of a file; dir is its folder. The problems name every mistake, with
// its place.
func parse(path, dir string, text []byte) (declared, jjm.Problems) {
	var f File
	places, problems := strict.Decode(path, text, &f)
	if len(problems) == 0 {
		problems = places.Locate(f.check())
	}
	if len(problems) > 0 {
		return declared{}, problems
	}
	d := newType(&f, dir)
	d.text = string(text)
	return d, places.Locate(d.try())
}
