package catalogue_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jjm/internal/jjm"
	"jjm/internal/work/catalogue"
)

func read(name, text string) ([]jjm.File, error) {
	var got []jjm.File
	_, err := catalogue.Read(name, strings.NewReader(text), func(f jjm.File) error {
		got = append(got, f)
		return nil
	})
	return got, err
}

func TestRead_JSONAndCSVAreEqual(t *testing.T) {
	want := []jjm.File{
		{LFN: "/data/a", Size: 1000, Events: 50, FirstEvent: 7, Checksum: "ad:1f", Group: "g",
			Lumis:     []jjm.LumiRange{{Run: 1, First: 1, Last: 4}, {Run: 2, First: 7, Last: 7}},
			Locations: []string{"here", "there"}, Parents: []string{"/raw/1", "/raw/2"}},
		{LFN: "root://x//b, with a comma"},
	}
	lines := `{"lfn":"/data/a","size":1000,"events":50,"first_event":7,"checksum":"ad:1f","group":"g","lumis":[{"run":1,"first":1,"last":4},{"run":2,"first":7,"last":7}],` +
		`"locations":["here","there"],"parents":["/raw/1","/raw/2"]}` + "\n\n  \n" + `{"lfn":"root://x//b, with a comma"}`
	table := "lfn,size,events,first_event,checksum,group,lumis,locations,parents\r\n" +
		"/data/a,1000,50,7,ad:1f,g,1:1-4 2:7,here there,/raw/1 /raw/2\r\n\n" +
		`"root://x//b, with a comma",,,,,,,,` + "\n"
	for name, text := range map[string]string{"files.jsonl": lines, "files.CSV": table, "files.csv": "\ufeff" + table} {
		got, err := read(name, text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range got { // nil and an empty list count as equal here
			if len(got[i].Lumis) == 0 {
				got[i].Lumis, got[i].Locations, got[i].Parents = nil, nil, nil
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestRead_ProblemsNameTheirLines(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"f.jsonl", "{\"lfn\":\"a\"}\n{\"lnf\":\"b\"}", `f.jsonl:2: lnf: unknown key "lnf": did you mean lfn?`},
		{"f.jsonl", `{"lfn":"a","size":"big"}`, `f.jsonl:1: size: got a string: want a whole number`},
		{"f.jsonl", `{"lfn":"a","events":-1}`, `f.jsonl:1: events: -1 is out of range`},
		{"f.jsonl", `{"lfn":"a","events":1.5}`, `f.jsonl:1: events`},
		{"f.jsonl", `{"lfn":"a","events":99999999999999999999}`, `f.jsonl:1: events`},
		{"f.jsonl", `{"lfn":""}`, `f.jsonl:1: lfn: is missing`},
		{"f.jsonl", `{"lfn":"-rf"}`, `option`},
		{"f.jsonl", `{"lfn":"a\nb"}`, `without control characters`},
		{"f.jsonl", `{"lfn":"a"} {"lfn":"b"}`, `text after the object`},
		{"f.jsonl", `null`, `f.jsonl:1`},
		{"f.jsonl", `[]`, `f.jsonl:1`},
		{"f.jsonl", "{\"lfn\":\"\xff\"}", `not UTF-8`},
		{"f.jsonl", `{"lfn":"a","added":5}`, `added: is set by jjm`},
		{"f.jsonl", `{"lfn":"a","lumis":[{"run":1,"first":1,"last":4},{"run":1,"first":4,"last":4}]}`,
			`lumis[1]: run 1, sections 4 to 4: some of them are in lumis[0] too`},
		{"f.jsonl", strings.Repeat("x", catalogue.MaxLine+1), `f.jsonl:1: the line is longer than`},
		{"f.csv", "", `f.csv:1: the list is empty`},
		{"f.csv", "size\n1", `f.csv:1: no column lfn`},
		{"f.csv", "lfn,evnts\na,1", `f.csv:1: unknown column "evnts": did you mean events?`},
		{"f.csv", "lfn,lfn\na,b", `column lfn is given twice`},
		{"f.csv", "lfn,size\na,1\nb,x\n", `f.csv:3: size: "x": want a whole number`},
		{"f.csv", "lfn,size\na\n", `f.csv:2: 1 cells: the header has 2`},
		{"f.csv", "lfn,lumis\na,1:4-2\n", `want sections as run:first-last`},
		{"f.csv", "lfn,lumis\na,4\n", `want sections as run:first-last`},
		{"f.csv", "lfn\n\"a\nb", `f.csv:`},
		{"f.csv", "lfn\n\"" + strings.Repeat("a\n", catalogue.MaxLine), `never closed`},
		{"f.csv", "lfn\n\xff\n", `not UTF-8`},
	} {
		got, err := read(c.name, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%s %.60q: got %v, error %v\nwant %q", c.name, c.text, got, err, c.want)
		}
	}
}

func TestRead_ReportsManyProblemsAndNoFileAfterTheFirst(t *testing.T) {
	text := `{"lfn":"good"}` + "\n" + strings.Repeat("{\"lfn\":\"\"}\n{\"lfn\":\"late\"}\n", 50)
	got, err := read("f", text)
	var ps jjm.Problems
	if !errors.As(err, &ps) || len(ps) != 20 || len(got) != 1 {
		t.Errorf("%d mistakes, files %v", len(ps), got)
	}
}

func TestRead_AnErrorOfTheCallerOrTheSourceEndsIt(t *testing.T) {
	mine := errors.New("mine")
	for _, name := range []string{"f.csv", "f"} {
		text := map[bool]string{true: "lfn\na\nb\n", false: "{\"lfn\":\"a\"}\n{\"lfn\":\"b\"}\n"}[catalogue.IsCSV(name)]
		calls := 0
		_, err := catalogue.Read(name, strings.NewReader(text), func(jjm.File) error { calls++; return mine })
		if !errors.Is(err, mine) || calls != 1 {
			t.Errorf("%s: %v after %d calls", name, err, calls)
		}
		_, err = catalogue.Read(name, io.MultiReader(strings.NewReader(text), broken{mine}), func(jjm.File) error {
			return nil
		})
		if !errors.Is(err, mine) || jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// The examples of docs/DATASETS.md list the same files, and its table of keys agrees with the code.
func TestDocs_ExamplesAreEqual(t *testing.T) {
	text, err := os.ReadFile("../../../docs/DATASETS.md")
	if err != nil {
		t.Fatal(err)
	}
	example := func(kind string) string {
		_, after, _ := strings.Cut(string(text), "```"+kind+"\n")
		body, _, _ := strings.Cut(after, "```")
		return body
	}
	lines, err := read("x", example("json lines"))
	if err != nil || len(lines) != 2 {
		t.Fatal(lines, err)
	}
	table, err := read("x.csv", example("csv table"))
	if diff := cmp.Diff(lines, table, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for f := range reflect.TypeFor[jjm.File]().Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if listed := strings.Contains(string(text), "| `"+key+"` |"); key != "-" && listed == (key == "added") {
			t.Errorf("%s: listed %v", key, listed)
		}
	}
}

func TestLine_IsReadBack(t *testing.T) {
	f := jjm.File{LFN: "a <b> & c", Events: 3, Added: 17, Lumis: []jjm.LumiRange{{Run: 1, First: 2, Last: 3}}}
	got, err := read("x", string(catalogue.Line(f)))
	f.Added = 0
	if diff := cmp.Diff([]jjm.File{f}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// Read reads a list of 200,000 files while the list is still being generated.
func TestRead_StreamsAMillionFiles(t *testing.T) {
	n, err := catalogue.Read("f", &endless{left: 200_000}, func(jjm.File) error { return nil })
	if n != 200_000 || err != nil {
		t.Errorf("%d files, %v", n, err)
	}
}

// endless is a reader that generates its lines while they are read.
type endless struct {
	left int
	rest []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.left == 0 {
			return 0, io.EOF
		}
		e.rest = fmt.Appendf(nil, "{\"lfn\":\"/data/%d\",\"size\":1000,\"events\":50}\n", e.left)
		e.left--
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		n, err := catalogue.Read("f", &endless{left: 100_000}, func(jjm.File) error { return nil })
		if n != 100_000 || err != nil {
			b.Fatal(n, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("f.csv", []byte("lfn,size,lumis\na,1,1:2-3\n\"b\nc\",x,\n"))
	f.Add("f", []byte("{\"lfn\":\"a\",\"lumis\":[{\"run\":1,\"first\":2,\"last\":1}]}\n\nnull\n"))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		var lines bytes.Buffer
		var files []jjm.File
		n, err := catalogue.Read(name, bytes.NewReader(text), func(f jjm.File) error {
			if ps := f.Problems(); len(ps) > 0 {
				t.Fatalf("a file with problems was given: %v", ps)
			}
			files = append(files, f)
			lines.Write(catalogue.Line(f))
			return nil
		})
		if err != nil {
			return
		}
		if n != int64(len(files)) {
			t.Fatalf("%d files are told, %d were given", n, len(files))
		}
		var again []jjm.File
		if _, err := catalogue.Read("again", &lines, func(f jjm.File) error {
			again = append(again, f)
			return nil
		}); err != nil {
			t.Fatalf("what Line wrote is not read: %v", err)
		}
		a, _ := json.Marshal(files)
		b, _ := json.Marshal(again)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s\nread back as\n%s", a, b)
		}
	})
}
