package jobfile

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

var update = flag.Bool("update", false, "rewrite the expected problems and specs under testdata")

// files returns the recorded job files of a folder. The expected result of each file is in the file of the same name
// with the suffix .want.
func files(t testing.TB, folder string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range all {
		if !strings.HasSuffix(f, ".want") {
			names = append(names, f)
		}
	}
	return names
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file+".want", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file + ".want")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestParse_BadFilesGetExactlyTheRecordedProblems(t *testing.T) {
	names := files(t, "bad")
	if len(names) < 60 {
		t.Fatalf("only %d bad job files are recorded", len(names))
	}
	for _, file := range names {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, problems := Parse(file, read(t, file))
			if len(problems) == 0 {
				t.Fatal("no problems found")
			}
			var got strings.Builder
			for _, p := range problems {
				fmt.Fprintln(&got, p)
				if !strings.HasPrefix(p.Where, filepath.Base(file)) {
					t.Errorf("problem %q has no place", p)
				}
			}
			compare(t, file, got.String())
			if jjm.KindOf(problems.Err()) != jjm.Invalid {
				t.Error("the problems are not of kind Invalid")
			}
		})
	}
}

func TestParse_GoodFilesGiveTheRecordedSpecs(t *testing.T) {
	for _, file := range files(t, "good") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			doc, problems := Parse(file, read(t, file))
			if problems != nil {
				t.Fatal(problems)
			}
			got, err := json.MarshalIndent(doc.Spec, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			compare(t, file, string(got)+"\n")
			readsBack(t, doc.Spec)
		})
	}
}

// readsBack checks that the JSON in which a specification is stored is a valid job file with the same specification.
func readsBack(t testing.TB, spec jjm.Spec) {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatalf("the spec cannot be stored: %v", err)
	}
	if len(text) > 3<<20 {
		return // JSON is longer than TOML, so such a spec need not be a job file
	}
	again, problems := Parse("stored.json", text)
	if problems != nil {
		t.Fatalf("the stored spec %s is refused: %v", text, problems)
	}
	if b, _ := json.Marshal(again.Spec); !bytes.Equal(b, text) {
		t.Fatalf("the spec %s reads back as %s", text, b)
	}
}

func TestParse_FillsDefaults(t *testing.T) {
	doc, problems := Parse("job.toml", []byte("type = \"script\"\ncluster = \"farm\"\n[[inputs]]\npath = \"a/b.sh\"\n"))
	if problems != nil {
		t.Fatal(problems)
	}
	want := jjm.Spec{Type: "script", Name: "script", Mode: "Production", Clusters: []string{"farm"},
		Inputs: []jjm.Input{{Path: "a/b.sh", Name: "b.sh"}}}
	if diff := cmp.Diff(want, doc.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func TestParse_LongListsAreRefused(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"clusters":  {`clusters = [` + repeated(`"c%d",`, 65) + `]`, "65 clusters are too many"},
		"inputs":    {repeated("[[inputs]]\npath = \"f%d\"\n", 10_001), "10001 files are too many"},
		"outputs":   {`outputs = [` + repeated(`"o%d",`, 1001) + `]`, "1001 patterns are too many"},
		"env":       {"[env]\n" + repeated("V%d = \"\"\n", 1001), "1001 variables are too many"},
		"env value": {"[env]\nV = \"" + strings.Repeat("v", 70_000) + `"`, "70000 bytes are too long"},
		"path":      {"[[inputs]]\npath = \"" + strings.Repeat("d/", 4000) + `f"`, "8001 bytes are too long"},
		"output":    {`outputs = ["` + strings.Repeat("o", 5000) + `"]`, "5000 bytes are too long"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := Parse("job.toml", []byte("type = \"script\"\n"+test.text))
			if len(problems) != 1 || !strings.Contains(problems[0].Text, test.want) {
				t.Errorf("problems are %.300v, want one with %q", problems, test.want)
			}
		})
	}
}

func repeated(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// maxGrowth is the number of bytes that may be allocated for one byte of a job file. The worst text, 49 000 unknown
// keys, takes 500 bytes, because the nearest known key is searched for each unknown key.
const maxGrowth = 1000

func TestParse_HostileTextIsRefusedAndCostsInProportion(t *testing.T) {
	tests := map[string][]byte{
		"100 MB":         make([]byte, 100<<20),
		"unknown keys":   []byte(repeated("k%d = 1\n", 49_000)),
		"too many keys":  []byte(repeated("k%d = 1\n", 300_000)),
		"open brackets":  bytes.Repeat([]byte("["), 4<<20),
		"nested lists":   append([]byte("x = "), bytes.Repeat([]byte("["), 4<<20-8)...),
		"nested tables":  append([]byte("x = "), bytes.Repeat([]byte("{a="), 1<<20)...),
		"dotted key":     bytes.Repeat([]byte("a."), 2<<20),
		"json nested":    bytes.Repeat([]byte(`{"a":`), 800_000),
		"json lists":     append([]byte(`{"type":"x","a":`), bytes.Repeat([]byte("["), 4<<20-20)...),
		"quotes":         bytes.Repeat([]byte(`"`), 4<<20),
		"long text":      append([]byte(`type = "`), bytes.Repeat([]byte("x"), 4<<20-20)...),
		"long header":    []byte("[" + strings.Repeat("h", 1<<20) + "]\n" + repeated("k%d=1\n", 100_000)),
		"numbers":        []byte("type = \"x\"\nn = [" + strings.Repeat("1,", 2_000_000) + "]"),
		"json numbers":   []byte(`{"type":"x","n":[` + strings.Repeat("1,", 1_900_000) + "1]}"),
		"long number":    []byte("n = " + strings.Repeat("9", 4_000_000)),
		"comments":       append(bytes.Repeat([]byte("#\n"), 2_000_000), "x = 1"...),
		"array of table": []byte(repeated("[[inputs]]\n", 200_000)),
		"keys twice":     []byte(repeated("a = %d\n", 40_000)),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, problems := Parse("job.toml", text)
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > maxGrowth*uint64(len(text)) {
				t.Errorf("%d bytes were allocated for %d of text: want at most %d times as much", grown, len(text), maxGrowth)
			}
			if len(problems) == 0 || len(problems) > 200 {
				t.Errorf("%d problems", len(problems))
			}
			if n := len(problems.Error()); n > 64<<10 {
				t.Errorf("the message is %d bytes long", n)
			}
		})
	}
}

func TestLocate_AddsPlacesToProblemsOfParams(t *testing.T) {
	doc, problems := Parse("job.toml",
		[]byte("type = \"script\"\n\n[params]\ncommand = [\n \"a\",\n \"b\"]\nevents = 3\n"))
	if problems != nil {
		t.Fatal(problems)
	}
	got := doc.Locate(jjm.Problems{
		{Field: "params.events", Text: "t"},
		{Field: "params.command[1]", Text: "t"},
		{Field: "params.missing", Text: "t"},
		{Field: "request.cores", Text: "t"},
		{Where: "site.toml:4", Field: "type", Text: "t"},
	})
	want := jjm.Problems{
		{Where: "job.toml", Field: "request.cores", Text: "t"},
		{Where: "job.toml:3", Field: "params.missing", Text: "t"},
		{Where: "site.toml:4", Field: "type", Text: "t"},
		{Where: "job.toml:6", Field: "params.command[1]", Text: "t"},
		{Where: "job.toml:7", Field: "params.events", Text: "t"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if doc.Locate(nil).Err() != nil {
		t.Error("no problems became an error")
	}
}

func FuzzParse(f *testing.F) {
	for _, folder := range []string{"bad", "good"} {
		for _, file := range files(f, folder) {
			f.Add(read(f, file))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, problems := Parse("job", text)
		for _, p := range problems {
			if p.Text == "" || p.Where == "" || strings.ContainsRune(p.String(), '\n') {
				t.Errorf("problem %q", p)
			}
		}
		if len(problems) == 0 {
			readsBack(t, doc.Spec)
		}
	})
}
