package all_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"testing"

	"jjm/handlers"
	"jjm/handlers/all"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/work/split"
	"jjm/sandbox"
)

// keys is a table of a job file.
type keys = map[string]any

// trial describes a test of one setting: a legal value that is not the default, and the other keys without which the
// setting has no effect in a job file.
type trial struct {
	value any
	// with are further keys that both job files have: the job file with the setting and the job file without it. along are
	// further keys that only the job file with the setting has.
	with, along keys
	// files replaces the files of the fixture. open leaves their dataset open. pileup is the number of files of a
	// secondary dataset.
	files  []jjm.File
	open   bool
	pileup int
	// refuses is set if the effect of the setting is that a job file is refused or allowed.
	refuses bool
}

// effect holds everything that results from a job file: the assignments of its local jobs, and their requests to the
// batch system. It has no texts that only people read. It has the estimates, because applications read them in
// JJM_INPUT.
type effect struct {
	Assignments []sandbox.Assignment
	Request     jjm.Request
	Refused     string
}

// fixture returns files of two runs at three locations; some share a section.
func fixture() []jjm.File {
	f := func(lfn string, events, first int64, at, group string, lumis ...jjm.LumiRange) jjm.File {
		return jjm.File{LFN: lfn, Size: 700 << 20, Events: events, FirstEvent: first, Locations: []string{at}, Group: group,
			Parents: []string{"parent of " + lfn}, Lumis: lumis}
	}
	r := func(run, first, last uint32) jjm.LumiRange { return jjm.LumiRange{Run: run, First: first, Last: last} }
	return []jjm.File{f("/a", 40, 1, "A", "g0", r(1, 1, 4)), f("/b", 40, 41, "A", "g0", r(1, 4, 8)),
		f("/c", 40, 81, "A", "g1", r(2, 1, 4)), f("/d", 40, 121, "B", "g1", r(2, 5, 8)),
		f("/e", 30, 161, "A", "g2", r(3, 1, 1)), f("/f", 40, 201, "A", "g2", r(3, 2, 4))}
}

// small returns the files of the fixture with 1000 bytes each, except one file with 400.
func small() []jjm.File {
	files := fixture()
	for i := range files {
		files[i].Size = 1000
	}
	files[4].Size = 400
	return files
}

// madeUp returns a file that represents events to be generated.
func madeUp() []jjm.File {
	return []jjm.File{{LFN: split.GeneratedPrefix + "1", Events: 100, FirstEvent: 1, Locations: []string{"A"},
		Lumis: []jjm.LumiRange{{Run: 1, First: 1, Last: 1}}}}
}

// madeUpPieces returns a piece of the events of madeUp.
func madeUpPieces() []keys {
	return []keys{{"lfn": split.GeneratedPrefix + "1", "first": 20, "count": 10}}
}

// jobFile returns the text of a job file with the trial's other keys. If changed is set, the job file also has the
// setting: put inserts its value.
func (c *trial) jobFile(t *testing.T, by string, changed bool, put func(params keys)) string {
	t.Helper()
	params := merged(keys{}, c.with)
	if changed {
		params = merged(params, c.along)
		put(params)
	}
	files := c.files
	if files == nil {
		files = fixture()
	}
	job := keys{"type": "reprocess", "split": keys{"by": by, "params": params}, "params": keys{"command": []string{"reco",
		"{files}", "{first_event}", "{events}", "{lumis}", "{parents}", "{seed}"}}}
	datasets := []keys{{"name": "raw", "files": files, "open": c.open}}
	if c.pileup > 0 {
		var along []jjm.File
		for i := range c.pileup {
			along = append(along, jjm.File{LFN: fmt.Sprint("/mb", i), Size: 1 << 20, Events: 20})
		}
		datasets = append(datasets, keys{"name": "mb", "secondary": true, "files": along})
	}
	job["datasets"] = datasets
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// merged returns a table with the keys of both tables, which stay unchanged. A value of from replaces a value of into,
// but tables are merged key by key.
func merged(into, from keys) keys {
	out := keys{}
	maps.Copy(out, into)
	for key, value := range from {
		inner, isTable := value.(keys)
		if old, was := out[key].(keys); isTable && was {
			value = merged(old, inner)
		} else if isTable {
			value = merged(keys{}, inner)
		}
		out[key] = value
	}
	return out
}

// effectOf processes a job file as the product does: it checks the job file, cuts the work, and makes the command of
// each part.
func effectOf(t *testing.T, text string) (e effect) {
	t.Helper()
	doc, problems := jobfile.Parse("job.json", []byte(text))
	spec := &doc.Spec
	h, err := all.Registry().Get(spec.Type)
	if err != nil {
		t.Fatal(err)
	}
	problems = append(problems, handlers.Examine(h, spec, handlers.Site{})...)
	if len(problems) > 0 {
		return effect{Refused: problems.Error()}
	}
	cut, err := handlers.SplitBy(h, spec, handlers.Site{})
	if err != nil {
		return effect{Refused: err.Error()}
	}
	work, _ := handlers.Inline(spec)
	work.Closed, work.Now = !spec.Datasets[0].Open, 1_000_000
	work.Parents = map[string]split.Parent{}
	for i := range work.Files {
		work.Files[i].Added = 1
		for _, parent := range work.Files[i].Parents {
			work.Parents[parent] = split.Parent{Producers: []split.Producer{{Group: 1, Success: true}}}
		}
	}
	readers := []plan.Reader{{Name: "near", Storages: []string{"A"}}, {Name: "far", Storages: []string{"A", "B"}}}
	work.Sites = plan.Sites(readers, &cut.Params, work.Files)
	e.Request = spec.Request
	e.Assignments, err = assignments(spec, cut.Splitter, work, plan.Heeded(cut.Params, readers), h.Command)
	if err != nil {
		return effect{Refused: err.Error()}
	}
	return e
}

// assignments returns the assignments of all local jobs that result from cutting the work with a splitter.
func assignments(spec *jjm.Spec, by string, work split.Work, p split.Params,
	command func(*jjm.Spec, *jjm.LocalJob) (handlers.Command, error)) (all []sandbox.Assignment, err error) {
	s, err := split.Get(by)
	if err != nil {
		return nil, err
	}
	parts, _, _, err := s.Cut(work, split.Limits{}, p, split.Carry{})
	for i := range parts {
		c, err := command(spec, &jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: int32(i)}, Part: parts[i]})
		if err != nil {
			return nil, err
		}
		all = append(all, sandbox.Assignment{Grid: 17, Local: int32(i), Argv: c.Argv, Env: c.Env, Outputs: c.Outputs,
			Part: parts[i]})
	}
	return all, err
}

// try fails the test if the job files with and without the setting have the same effect.
func (c *trial) try(t *testing.T, key, by string, put func(keys)) {
	t.Helper()
	without := effectOf(t, c.jobFile(t, by, false, put))
	changed := effectOf(t, c.jobFile(t, by, true, put))
	for what, e := range map[string]effect{"without it": without, "with it": changed} {
		if e.Refused != "" && !c.refuses {
			t.Errorf("%s: %s: refused %s: %s", by, key, what, e.Refused)
			return
		}
	}
	if reflect.DeepEqual(without, changed) {
		t.Errorf("%s: %s = %v changes nothing", by, key, c.value)
	}
	if len(without.Assignments)+len(changed.Assignments) == 0 {
		t.Errorf("%s: %s: nothing is made, with and without it", by, key)
	}
}
