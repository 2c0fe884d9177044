package handlers

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// settings has a field of every kind that tags can describe.
type settings struct {
	Command []string     `json:"command" required:"true" help:"the words"`
	Size    int64        `json:"size" default:"7" min:"1" max:"10" unit:"events" help:"a size"`
	Share   float64      `json:"share" default:"0.5" min:"0" max:"1" help:"a share"`
	How     string       `json:"how" default:"one" enum:"one|many" help:"how"`
	On      bool         `json:"on" default:"true" help:"on"`
	Rows    [][]string   `json:"rows" help:"rows"`
	Wait    jjm.Duration `json:"wait" help:"wait"`
	Floor   *int         `json:"floor" help:"floor"`
	Low     int          `json:"low" min:"3" help:"low"`
	High    int          `json:"high" max:"3" unit:"s" help:"high"`
}

func TestDecodeParams_FillsDefaults(t *testing.T) {
	var got settings
	if problems := DecodeParams(map[string]any{"command": []any{"a"}}, &got); problems != nil {
		t.Fatal(problems)
	}
	want := settings{Command: []string{"a"}, Size: 7, Share: 0.5, How: "one", On: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func TestDecodeParams_FindsEveryMistake(t *testing.T) {
	tests := map[string]struct {
		params map[string]any
		want   string
	}{
		"nothing":     {nil, "params.command: is missing: the words"},
		"empty list":  {map[string]any{"command": []any{}}, "params.command: is missing: the words"},
		"too small":   {map[string]any{"size": 0}, "params.size: 0 is out of range: want 1 to 10 events"},
		"too large":   {map[string]any{"size": 11.0}, "params.size: 11 is out of range: want 1 to 10 events"},
		"low":         {map[string]any{"low": 2}, "params.low: 2 is out of range: want at least 3"},
		"high":        {map[string]any{"high": 4}, "params.high: 4 is out of range: want at most 3 s"},
		"share":       {map[string]any{"share": 1.5}, "params.share: 1.5 is out of range: want 0 to 1"},
		"word":        {map[string]any{"how": "few"}, `params.how: "few": want one or many`},
		"empty word":  {map[string]any{"how": ""}, `params.how: "": want one or many`},
		"bar in word": {map[string]any{"how": "one|many"}, `params.how: "one|many": want one or many`},
		"type":        {map[string]any{"size": "three"}, `params.size: want a whole number, got the text "three"`},
		"misspelt":    {map[string]any{"sise": 3}, `params.sise: unknown key "sise": did you mean "size"?`},
		"of the spec": {map[string]any{"outputs": []any{"x"}},
			`params.outputs: unknown key "outputs": it is a key of the job file itself: move it above the first [table]`},
		"several":      {map[string]any{"size": 0, "how": "x", "rows": 3}, "3 problems"},
		"no wait":      {map[string]any{"wait": 5}, "params.wait: want a duration in quotes"},
		"not a number": {map[string]any{"floor": true}, "params.floor: want a whole number, got true"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, ok := test.params["command"]; !ok && test.params != nil {
				test.params["command"] = []any{"a"}
			}
			problems := DecodeParams(test.params, &settings{})
			if !strings.HasPrefix(problems.Error(), test.want) {
				t.Errorf("problems are %v, want %s", problems, test.want)
			}
		})
	}
}

func TestDecodeParams_ABrokenValueIsNotAlsoMissing(t *testing.T) {
	problems := DecodeParams(map[string]any{"command": "a"}, &settings{})
	if len(problems) != 1 {
		t.Errorf("problems are %v", problems)
	}
}

func TestParamsOf_WordsTheTags(t *testing.T) {
	got := ParamsOf(settings{})
	want := []Param{
		{Name: "command", Type: "list of words", Help: "the words", Required: true},
		{Name: "size", Type: "whole number", Unit: "events", Default: "7", Help: "a size"},
		{Name: "share", Type: "number", Default: "0.5", Help: "a share"},
		{Name: "how", Type: "one or many", Default: "one", Help: "how"},
		{Name: "on", Type: "true or false", Default: "true", Help: "on"},
		{Name: "rows", Type: "list of lists of words", Help: "rows"},
		{Name: "wait", Type: "duration", Help: "wait"},
		{Name: "floor", Type: "whole number", Help: "floor"},
		{Name: "low", Type: "whole number", Help: "low"},
		{Name: "high", Type: "whole number", Unit: "s", Help: "high"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("params (-want +got):\n%s", diff)
	}
}

// specKeys, the list of keys that users easily put into the wrong table, must contain the keys of the job file.
func TestSpecKeys_AreThoseOfTheSpec(t *testing.T) {
	one := 1
	full := jjm.Spec{Type: "t", Name: "n", Key: "k", KeyReuse: true, AutoResubmit: true, KeepGoing: true, AutoKill: &one,
		Mode: "m", Clusters: []string{"c"}, Result: "r",
		Retry: jjm.Retries{Limits: jjm.Limits{Early: &one}}, Request: jjm.Request{Cores: 1}, Env: map[string]string{"a": "b"},
		Inputs: []jjm.Input{{}}, Outputs: []string{"o"}, OutputsRequired: []string{"r"},
		Notify: []string{"a@b"}, Params: map[string]any{"p": 1}}
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	for key := range keys {
		if key != "type" && key != "params" && !strings.Contains(specKeys, " "+key+" ") {
			t.Errorf("specKeys lacks %s", key)
		}
	}
}

func TestSiteCut_RefusesMoreJobsThanTheSiteAllows(t *testing.T) {
	c := Cutting{Splitter: split.ByEvents, Params: split.Params{EventsPerJob: 10}, Work: split.Work{Events: 1_000_001}}
	_, problems := Site{}.Cut(c, "params.events", "ask for less")
	want := "params.events: would make 100001 local jobs, and this site allows 100000 per grid job: ask for less"
	if problems.Error() != want {
		t.Errorf("problems are %v, want %s", problems, want)
	}
	got, problems := Site{MaxLocalJobs: 100_001}.Cut(c, "params.events", "")
	if problems != nil || got.Jobs != 100_001 {
		t.Errorf("%d jobs, problems %v", got.Jobs, problems)
	}
	c.Work.Events = 1 << 52
	if _, problems = (Site{}).Cut(c, "f", "ask for less"); !strings.Contains(problems.Error(),
		"would make 450359962737050 parts") {
		t.Errorf("problems are %v", problems)
	}
	c.Splitter = "halves"
	if _, problems = (Site{}).Cut(c, "f", ""); !strings.Contains(problems.Error(), `unknown splitter "halves"`) {
		t.Errorf("problems are %v", problems)
	}
}

func TestRegistry_UnknownTypeNamesTheKnown(t *testing.T) {
	r := Registry{"b": nil, "a": nil}
	_, err := r.Get("c")
	if err == nil || jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), `"c": this site knows a, b`) {
		t.Errorf("error is %v", err)
	}
}
