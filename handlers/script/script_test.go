package script

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/testkit/handlertest"
)

func spec(params map[string]any) *jjm.Spec {
	if _, ok := params["command"]; !ok {
		params["command"] = []any{"run"}
	}
	return &jjm.Spec{Type: "script", Params: params}
}

// site returns a site with one file, rows.txt, with the given text.
func site(text string) handlers.Site {
	return handlers.Site{Open: func(path string) (io.ReadCloser, error) {
		if path != "rows.txt" {
			return nil, os.ErrNotExist
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

func TestConformance(t *testing.T) {
	handlertest.Run(t, Handler{}, site("a b\n\"c d\"\n"),
		handlertest.Good{Spec: spec(map[string]any{}), Parts: 1, Units: 1},
		handlertest.Good{Spec: spec(map[string]any{"count": 100_000}), Parts: 100_000, Units: 100_000},
		handlertest.Good{Spec: spec(map[string]any{"args": []any{[]any{"a", "b"}, []any{}, []any{""}}}),
			Parts: 3, Units: 3},
		handlertest.Good{Spec: spec(map[string]any{"args_file": "rows.txt", "command": []any{"x", "{args}", "{row}"}}),
			Parts: 2, Units: 2},
		handlertest.Good{
			Spec: spec(map[string]any{"events": 101, "events_per_job": 10, "first_event": 0,
				"command": []any{"x", "{first_event}"}}),
			Parts: 11, Units: 101},
	)
}

func TestCommand_PerWay(t *testing.T) {
	tests := map[string]struct {
		params map[string]any
		part   jjm.Part
		want   []string
	}{
		"count": {map[string]any{"count": 3}, jjm.Part{Unit: "row", First: 2, Count: 1, Serial: 3}, []string{"run"}},
		"args": {map[string]any{"args": []any{[]any{"a", "b c"}}},
			jjm.Part{Unit: "row", Count: 1, Serial: 1, Args: []string{"a", "b c"}}, []string{"run", "a", "b c"}},
		"args_file": {map[string]any{"args_file": "gone.txt"},
			jjm.Part{Unit: "row", Count: 1, Serial: 1, Args: []string{"x"}}, []string{"run", "x"}},
		"events": {map[string]any{"events": 30, "events_per_job": 20},
			jjm.Part{Unit: "event", First: 21, Count: 10, Serial: 2}, []string{"run", "21", "10"}},
		"placeholders": {map[string]any{"command": []any{"run", "{serial}/{seed}/{row}"}, "seed_offset": 10},
			jjm.Part{Unit: "row", First: 4, Count: 1, Serial: 5}, []string{"run", "5/15/4"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Handler{}.Command(spec(test.params), &jjm.LocalJob{Part: test.part})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, c.Argv); diff != "" {
				t.Errorf("argv (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSplit_RowsOfAFileAreTheParts(t *testing.T) {
	c, err := Handler{}.Split(spec(map[string]any{"args_file": "rows.txt"}), site("# rows\na \"b c\"\n\nd\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"a", "b c"}, {"d"}}, c.Work.Rows); diff != "" || c.Jobs != 2 {
		t.Errorf("%d jobs, rows (-want +got):\n%s", c.Jobs, diff)
	}
	if diff := cmp.Diff([]string{`"rows.txt" has 2 rows`}, c.Why); diff != "" {
		t.Errorf("why (-want +got):\n%s", diff)
	}
}

// If the key of the command is misspelt, the placeholders of the command cannot be checked, and a problem says so.
func TestCheck_AMisspeltCommandIsNotChecked(t *testing.T) {
	misspelt := &jjm.Spec{Type: "script", Params: map[string]any{"comand": []any{"run", "{serail}"}}}
	want := "params.command: its placeholders are not checked as long as there is no command"
	if text := (Handler{}).Check(misspelt, site("")).Error(); !strings.Contains(text, want) {
		t.Errorf("problems are %s, want %s", text, want)
	}
	missing := &jjm.Spec{Type: "script", Params: map[string]any{}}
	if text := (Handler{}).Check(missing, site("")).Error(); strings.Contains(text, want) {
		t.Errorf("problems are %s", text)
	}
}

func TestCheck_RefusesAndSaysWhatToChange(t *testing.T) {
	type params = map[string]any
	rows := []any{[]any{"a"}}
	tests := map[string]struct {
		params params
		site   handlers.Site
		want   string
	}{
		"no command": {params{"command": []any{}}, site(""), "params.command: is missing: the words of the command"},
		"two ways":   {params{"count": 2, "args": rows}, site(""), "params.args: give only one of count, args"},
		"all ways": {params{"count": 2, "args": rows, "args_file": "rows.txt", "events": 3, "events_per_job": 1},
			site("x"), "2 problems\n  params.args: give only one of count, args, args_file, events"},
		"no rows": {params{"args": []any{}}, site(""), "params.args: has no rows"},
		"rows of words": {params{"args": []any{"a", "b"}}, site(""),
			`2 problems` + "\n" + `  params.args[0]: want a list such as ["a"], got the text "a"`},
		"no count": {params{"count": 0}, site(""), "params.count: 0 is out of range: want 1 to 10000000 local jobs"},
		"large count": {params{"count": 100_001}, site(""),
			"params.count: would make 100001 local jobs, and this site allows 100000 per grid job: set a smaller count"},
		"many rows": {params{"args": []any{[]any{"a"}, []any{"b"}, []any{"c"}}}, handlers.Site{MaxLocalJobs: 2},
			"params.args: would make 3 local jobs, and this site allows 2 per grid job: give fewer rows"},
		"many events": {params{"events": 1_000_000, "events_per_job": 2}, site(""),
			"params.events: would make 500000 local jobs, and this site allows 100000 per grid job: set a larger events_per_job"},
		"no size": {params{"events": 10}, site(""),
			"params.events_per_job: is missing: events says how many in all"},
		"size without work": {params{"events_per_job": 10}, site(""), "params.events_per_job: means nothing without events"},
		"file not there": {params{"args_file": "no.txt"}, site(""),
			`params.args_file: open "no.txt": file does not exist`},
		"file not readable": {params{"args_file": "rows.txt"}, handlers.Site{},
			`params.args_file: "rows.txt" cannot be read here`},
		"file empty":   {params{"args_file": "rows.txt"}, site("# nothing\n"), `params.args_file: "rows.txt" has no rows`},
		"file unnamed": {params{"args_file": ""}, site(""), "params.args_file: is empty: name a file"},
		"file too long": {params{"args_file": "rows.txt"}, site(strings.Repeat("x\n", 100_001)),
			`params.args_file: "rows.txt" has more than 100000 rows`},
		"file broken": {params{"args_file": "rows.txt"}, site("ok\n\"open\n"),
			"params.args_file: rows.txt:2: a double quote is never closed"},
		"placeholder": {params{"command": []any{"run", "{events}"}}, site(""),
			`params.command[1]: unknown placeholder "{events}": known are {serial} {seed} {job} {row} {args}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			problems := Handler{}.Check(spec(test.params), test.site)
			if !strings.HasPrefix(problems.Error(), test.want) {
				t.Errorf("problems are %v, want %s", problems, test.want)
			}
			if _, err := (Handler{}).Split(spec(test.params), test.site); err == nil && name != "placeholder" {
				t.Error("Split accepts it")
			}
		})
	}
}

func TestCommand_CostsTheSameHoweverManyRowsThereAre(t *testing.T) {
	allocated := func(n int) float64 {
		rows := make([]any, n)
		for i := range rows {
			rows[i] = []any{"a", "b"}
		}
		s := spec(map[string]any{"args": rows})
		job := &jjm.LocalJob{Part: jjm.Part{Unit: jjm.UnitRow, First: 1, Count: 1, Serial: 2, Args: []string{"a", "b"}}}
		return testing.AllocsPerRun(100, func() {
			if _, err := (Handler{}).Command(s, job); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocated(10), allocated(100_000); few != many {
		t.Errorf("a command allocates %v times where there are 10 rows, %v times where there are 100 000", few, many)
	}
}

func TestPrepare_PacksTheFileOfRowsOnce(t *testing.T) {
	spec := &jjm.Spec{Params: map[string]any{"command": []any{"echo"}, "args_file": "rows.txt"}}
	got, err := Handler{}.Prepare(spec, handlers.Site{})
	if err != nil || len(got) != 1 || got[0].Path != "rows.txt" {
		t.Fatalf("Prepare = %v, %v: want rows.txt", got, err)
	}
	spec.Inputs = []jjm.Input{{Path: "rows.txt"}}
	if got, err := (Handler{}).Prepare(spec, handlers.Site{}); err != nil || len(got) != 0 {
		t.Errorf("with the file among the inputs: %v, %v: want nothing more", got, err)
	}
}
