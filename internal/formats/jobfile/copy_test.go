package jobfile

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

// specOf parses a job file that has no mistakes.
func specOf(t *testing.T, name, text string) jjm.Spec {
	t.Helper()
	doc, problems := Parse(name, []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return doc.Spec
}

// Copy without edits returns the job file of the old grid job, without its request key and its model.
func TestCopy_SaysWhatTheOldOneSaid(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.*")
	more, err2 := filepath.Glob("../../../etc/examples/*.toml")
	if err != nil || err2 != nil || len(files) < 2 || len(more) < 4 {
		t.Fatal(err, err2, files, more)
	}
	read := 0
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, problems := Parse(file, text)
		if len(problems) > 0 || strings.HasSuffix(file, ".golden") {
			continue // a file that names a model, or that is no job file
		}
		read++
		want := doc.Spec
		written, problems := Copy(want, nil)
		if len(problems) > 0 {
			t.Errorf("%s: %v", file, problems)
			continue
		}
		want.Key, want.KeyReuse, want.Model = "", false, ""
		got, problems := ParseCopy(written, Given{})
		if want.Recovers != 0 {
			if !strings.Contains(problems.Error(), "a copy would do again what the recovery of grid job") {
				t.Errorf("%s: %v", file, problems)
			}
			continue
		}
		if d := cmp.Diff(want, got.Spec, sameNumbers()); d != "" || len(problems) > 0 {
			t.Errorf("%s: %v\n%s", file, problems, d)
		}
	}
	if read < 5 {
		t.Errorf("%d files were read", read)
	}
}

// sameNumbers compares integers and floating-point numbers of params by value, because JSON has only one kind of
// number.
func sameNumbers() cmp.Option {
	return cmp.FilterValues(func(a, b any) bool {
		_, whole := a.(int64)
		_, other := b.(int64)
		return whole != other && number(a) != nil && number(b) != nil
	}, cmp.Comparer(func(a, b any) bool { return *number(a) == *number(b) }))
}

func number(a any) *float64 {
	switch n := a.(type) {
	case int64:
		f := float64(n)
		return &f
	case float64:
		return &n
	}
	return nil
}

const copied = `type = "script"
name = "7"
key = "k"
key_reuse = true
clusters = ["a", "b"]
inputs = [{path = "x.dat"}, {path = "y.dat"}]
outputs = ["o"]
recovers = 3
[request]
memory_mb = 100
queue = "short"
[env]
A = "1"
[params]
command = ["run", "x"]
count = 4
`

func TestCopy_Edits(t *testing.T) {
	base := specOf(t, "a.toml", copied)
	same := func() jjm.Spec {
		s := base
		s.Key, s.KeyReuse, s.Recovers = "", false, 0
		s.Inputs, s.Env, s.Params = slices.Clone(s.Inputs), maps.Clone(s.Env), maps.Clone(s.Params)
		return s
	}
	for edits, change := range map[string]func(*jjm.Spec){
		"":                             func(*jjm.Spec) {},
		"name=8":                       func(s *jjm.Spec) { s.Name = "8" },
		`params.x="5"`:                 func(s *jjm.Spec) { s.Params["x"] = "5" },
		"name=":                        func(s *jjm.Spec) { s.Name = "script" },
		"params.x = a=b c":             func(s *jjm.Spec) { s.Params["x"] = "a=b c" },
		"params.count=5":               func(s *jjm.Spec) { s.Params["count"] = int64(5) },
		"params.count=":                func(s *jjm.Spec) { delete(s.Params, "count") },
		`params.command=["go","<y>"]`:  func(s *jjm.Spec) { s.Params["command"] = []any{"go", "<y>"} },
		"params.command[1]=3":          func(s *jjm.Spec) { s.Params["command"] = []any{"run", "3"} },
		"params.more.deep=2.5":         func(s *jjm.Spec) { s.Params["more"] = map[string]any{"deep": 2.5} },
		"request.memory_mb=200":        func(s *jjm.Spec) { s.Request.MemoryMB = 200 },
		"request.queue=":               func(s *jjm.Spec) { s.Request.Queue = "" },
		"request.walltime=2h":          func(s *jjm.Spec) { s.Request.Walltime = jjm.Duration(7200e9) },
		"env.A=2":                      func(s *jjm.Spec) { s.Env["A"] = "2" },
		"env.NEW=3":                    func(s *jjm.Spec) { s.Env["NEW"] = "3" },
		`env={"B":"4"}`:                func(s *jjm.Spec) { s.Env = map[string]string{"B": "4"} },
		"cluster=c":                    func(s *jjm.Spec) { s.Clusters = []string{"c"} },
		`clusters=["c","d"]`:           func(s *jjm.Spec) { s.Clusters = []string{"c", "d"} },
		"clusters[1]=d":                func(s *jjm.Spec) { s.Clusters = []string{"a", "d"} },
		"clusters=":                    func(s *jjm.Spec) { s.Clusters = nil },
		"inputs[1].path=z.dat":         func(s *jjm.Spec) { s.Inputs[1].Path = "z.dat" },
		"outputs=":                     func(s *jjm.Spec) { s.Outputs = nil },
		"params.count=5;params.count=": func(s *jjm.Spec) { delete(s.Params, "count") },
	} {
		all := []string{"recovers="}
		if edits != "" {
			all = append(all, strings.Split(edits, ";")...)
		}
		text, problems := Copy(base, all)
		if len(problems) > 0 {
			t.Errorf("%s: %v", edits, problems)
			continue
		}
		got, problems := ParseCopy(text, Given{})
		want := same()
		change(&want)
		if d := cmp.Diff(want, got.Spec, sameNumbers()); d != "" || len(problems) > 0 {
			t.Errorf("%s: %v\n%s", edits, problems, d)
		}
	}
}

// Copy and ParseCopy report all edits that are impossible together. The problems of the edited job file have no line
// numbers.
func TestCopy_RefusesEdits(t *testing.T) {
	base := specOf(t, "a.toml", copied)
	for edit, want := range map[string]string{
		"name":                "want KEY=VALUE, such as params.events=500",
		"=5":                  "want KEY=VALUE",
		"params..x=5":         "want KEY=VALUE",
		"params.x[y]=5":       "want KEY=VALUE",
		"model=large":         "model: the copy has all words of the old grid job",
		"name.x=5":            `name.x: "7" is no table`,
		"params.evnts=":       "params.evnts: there is no such key to take away",
		"merge.by=":           "merge.by: there is no such key to take away",
		"outputs[1]=x":        "outputs[1]: it has 1 element: want one from 0 to 0",
		"outputs[0]=":         "outputs[0]: one element cannot be taken away",
		"params.command=[run": `params.command: "[run" begins as JSON and is none`,
		"outputs=[] x":        "begins as JSON and is none",
	} {
		_, problems := Copy(base, []string{edit, "also wrong"})
		if len(problems) != 2 || !strings.Contains(problems[0].String(), want) {
			t.Errorf("%s: %v, want %q", edit, problems, want)
		}
	}
	for edit, want := range map[string]string{
		"recvers=1":        "recvers: unknown key",
		"params=5":         "params: ",
		"request.cores=no": "request.cores: ",
		"cluster=":         "recovers: a copy would do again what the recovery of grid job 3 did",
	} {
		text, problems := Copy(base, []string{edit})
		if len(problems) > 0 {
			t.Errorf("%s: %v", edit, problems)
			continue
		}
		_, problems = ParseCopy(text, Given{})
		if !slices.ContainsFunc(problems, func(p jjm.Problem) bool { return strings.HasPrefix(p.String(), want) }) {
			t.Errorf("%s: %v, want %q", edit, problems, want)
		}
	}
}
