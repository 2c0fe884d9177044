package split

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jjm"
	"jjm/internal/golden"
)

// gangaRow is a recorded call of one of Ganga's splitters, or one of the
// reference model.
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

func (r *gangaRow) work(t *testing.T) Work {
	w := Work{Closed: true}
	if len(r.MasterArgs) > 0 {
		words, err := scalars(r.MasterArgs)
		if err != nil {
			t.Fatal(err)
		}
		w.Args = words
	}
	switch files := r.Files.(type) {
	case float64:
		for i := range int(files) {
			w.Files = append(w.Files, jjm.File{LFN: fmt.Sprintf("f%d", i)})
		}
	case []any:
		for _, f := range files {
			if name, ok := f.(string); ok {
				w.Files = append(w.Files, jjm.File{LFN: name})
				continue
			}
			f := f.(map[string]any)
			if matched, ok := f["wildcard"].([]any); ok { // engine/wildcard_test finds them
				for _, name := range matched {
					w.Files = append(w.Files, jjm.File{LFN: name.(string)})
				}
				continue
			}
			file := jjm.File{LFN: f["lfn"].(string), Events: -1}
			if n, ok := f["events"].(float64); ok {
				file.Events = int64(n)
			}
			w.Files = append(w.Files, file)
		}
	}
	return w
}

func (r *gangaRow) params(t *testing.T) Params {
	p, err := Defaults(r.Splitter)
	if err != nil {
		t.Fatal(err)
	}
	p.Args, p.Append, p.Attribute, p.Values, p.MultiAttrs = r.Args, r.Append, r.Attribute, r.Values, r.Multi
	p.FilesPerSubjob, p.FileBunchSize, p.EventBunchSize = r.PerSubjob, r.FileBunch, r.EventBunch
	p.Trim = false // the rows show public Ganga
	if r.MaxFiles != nil {
		p.MaxFiles = *r.MaxFiles
	}
	return p
}

// subjobs shows parts as the rows do.
func (r *gangaRow) subjobs(parts []jjm.Part) (out []any) {
	texts := func(list []string) []any {
		words := []any{}
		for _, w := range list {
			words = append(words, w)
		}
		return words
	}
	for i := range parts {
		in := parts[i].Input
		switch r.Splitter {
		case ArgSplitter:
			out = append(out, texts(parts[i].Args))
		case GenericSplitter:
			one := map[string]any{"application.args": []any{}, "application.env": map[string]any{}, "backend.queue": ""}
			for path, v := range in.More.Settings {
				one[path] = v
			}
			out = append(out, one)
		case LHCbDataSplitter:
			out = append(out, map[string]any{"files": texts(in.Files), "firstEvent": float64(in.Mask.Events.First),
				"nEvents": float64(in.Mask.Events.Count)})
		default:
			out = append(out, texts(in.Files))
		}
	}
	return out
}

func TestGolden_Ganga(t *testing.T) {
	golden.Rows(t, "jedi/ganga_splitters", func(_ string, r gangaRow) string {
		parts, _, _, err := mustGet(t, r.Splitter).Cut(r.work(t), Limits{}, r.params(t), Carry{})
		if r.Expect.Error != nil {
			if err == nil {
				return fmt.Sprintf("accepted: want %v", r.Expect.Error)
			}
			return ""
		}
		if err != nil {
			return err.Error()
		}
		want := r.Expect.Subjobs
		for _, args := range r.Expect.SubjobArgs {
			words := []any{} // arguments are words here
			for _, a := range args.([]any) {
				words = append(words, fmt.Sprint(a))
			}
			want = append(want, words)
		}
		return cmp.Diff(want, r.subjobs(parts), cmpopts.EquateEmpty())
	})
}
