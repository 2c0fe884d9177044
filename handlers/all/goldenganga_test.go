package all_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jjm/handlers"
	"jjm/handlers/all"
	"jjm/internal/jjm"
	"jjm/internal/testkit/golden"
	"jjm/internal/work/split"
)

// gangaRow is a recorded call of one of Ganga's splitters, or of the reference model.
type gangaRow struct {
	Splitter   string
	Args       []any
	Append     bool
	MasterArgs []any
	Attribute  string
	Values     []any
	Multi      map[string][]any `json:"multi_attrs"`
	Files      any
	PerSubjob  int64  `json:"files_per_subjob"`
	MaxFiles   *int64 `json:"maxFiles"`
	FileBunch  int64  `json:"file_bunch_size"`
	EventBunch int64  `json:"event_bunch_size"`
	Expect     struct {
		SubjobArgs []any
		Subjobs    []any
		Error      any
	}
}

// files returns the files of a row's dataset.
func (r *gangaRow) files() (all []jjm.File) {
	named := func(name any) { all = append(all, jjm.File{LFN: name.(string)}) }
	switch files := r.Files.(type) {
	case float64:
		for i := range int(files) {
			named(fmt.Sprintf("f%d", i))
		}
	case []any:
		for _, f := range files {
			if _, ok := f.(string); ok {
				named(f)
				continue
			}
			f := f.(map[string]any)
			if matched, ok := f["wildcard"].([]any); ok { // engine/wildcard_test covers the search for these files
				for _, name := range matched {
					named(name)
				}
				continue
			}
			file := jjm.File{LFN: f["lfn"].(string)}
			if n, ok := f["events"].(float64); ok {
				file.Events = int64(n)
			}
			all = append(all, file)
		}
	}
	return all
}

// params returns the settings of a row.
func (r *gangaRow) params() map[string]any {
	p := map[string]any{}
	switch r.Splitter {
	case split.ArgSplitter:
		p["args"], p["append"] = r.Args, r.Append
	case split.GenericSplitter:
		if r.Attribute != "" || r.Values != nil {
			p["attribute"], p["values"] = r.Attribute, r.Values
		}
		if len(r.Multi) > 0 {
			p["multi_attrs"] = r.Multi
		}
	case split.LHCbDataSplitter:
		p["file_bunch_size"], p["event_bunch_size"] = r.FileBunch, r.EventBunch
	default:
		p["files_per_subjob"], p["trim"] = r.PerSubjob, false // public Ganga never trims the last part
		if r.MaxFiles != nil {
			p["maxFiles"] = *r.MaxFiles
		}
	}
	return p
}

// text returns the row's job file. If the splitter reads no files, the job has the type script, and its command has the
// arguments of Ganga's master job.
func (r *gangaRow) text() (string, error) {
	if r.Files == nil {
		command := []any{"run"}
		for _, a := range r.MasterArgs {
			command = append(command, fmt.Sprint(a))
		}
		text, err := json.Marshal(map[string]any{"type": "script", "params": map[string]any{"command": command},
			"split": map[string]any{"by": r.Splitter, "params": r.params()}})
		return string(text), err
	}
	g := goldenJob{by: r.Splitter, files: r.files(), params: map[string]json.RawMessage{}}
	for key, value := range r.params() {
		text, err := json.Marshal(value)
		if err != nil {
			return "", err
		}
		g.params[key] = text
	}
	return g.text()
}

// subjobs returns the arguments, variables, queues and files of the local jobs, in the notation of the rows.
func (r *gangaRow) subjobs(c *goldenCut) (out []any, err error) {
	texts := func(list []string) []any {
		words := []any{}
		for _, w := range list {
			words = append(words, w)
		}
		return words
	}
	for i := range c.parts {
		in := c.parts[i].Input
		switch r.Splitter {
		case split.ArgSplitter, split.GenericSplitter:
			one, err := given(c.spec, &c.parts[i])
			if err != nil {
				return nil, err
			}
			if r.Splitter == split.ArgSplitter {
				out = append(out, texts(one.args))
				continue
			}
			env := map[string]any{}
			for name, value := range one.env {
				env[name] = value
			}
			out = append(out, map[string]any{"application.args": texts(one.args), "application.env": env,
				"backend.queue": one.queue})
		case split.LHCbDataSplitter:
			out = append(out, map[string]any{"files": texts(in.Files), "firstEvent": float64(in.Mask.Events.First),
				"nEvents": float64(in.Mask.Events.Count)})
		default:
			out = append(out, texts(in.Files))
		}
	}
	return out, nil
}

// subjob holds the arguments, variables and queue of a local job.
type subjob struct {
	args  []string
	env   map[string]string
	queue string
}

func given(spec *jjm.Spec, p *jjm.Part) (s subjob, err error) {
	h, err := all.Registry().Get(spec.Type)
	if err != nil {
		return s, err
	}
	c, err := handlers.CommandForeseen(h, spec, p, 0)
	if err != nil {
		return s, err
	}
	return subjob{c.Argv[1:], c.Env, spec.Request.With(split.RequestOf(p)).Queue}, nil
}

func TestGolden_Ganga(t *testing.T) {
	golden.Rows(t, "jedi/ganga_splitters", func(_ string, r gangaRow) string {
		text, err := r.text()
		if err != nil {
			return err.Error()
		}
		c, err := cutText(text, nil)
		want := slices.Clone(r.Expect.Subjobs)
		for _, args := range r.Expect.SubjobArgs {
			words := []any{} // jjm's arguments are always words
			for _, a := range args.([]any) {
				words = append(words, fmt.Sprint(a))
			}
			want = append(want, words)
		}
		// Ganga makes a job without subjobs if there are none; jjm refuses the job file.
		if r.Expect.Error != nil || len(want) == 0 {
			if err == nil {
				return fmt.Sprintf("accepted: want %v", r.Expect.Error)
			}
			return ""
		}
		if err != nil {
			return err.Error()
		}
		got, err := r.subjobs(&c)
		if err != nil {
			return err.Error()
		}
		return cmp.Diff(want, got, cmpopts.EquateEmpty())
	})
}
