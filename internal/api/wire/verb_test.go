package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// erased is a verb without the types of its request and answer, so that all verbs fit in one list.
type erased struct {
	About
	decode func(Head, []byte) (Request, error)
	line   func(Request) ([]byte, error)
	answer func(line []byte) ([]byte, error) // reads an answer and writes it again
}

func erase[Req Request, Ans Answer](v Verb[Req, Ans]) erased {
	return erased{
		About:  v.About,
		decode: func(h Head, line []byte) (Request, error) { return v.Decode(h, line) },
		line:   func(r Request) ([]byte, error) { return v.Line(r.(Req)) },
		answer: func(line []byte) ([]byte, error) {
			a, err := v.DecodeAnswer(line)
			if err != nil {
				return nil, err
			}
			return AnswerLine(a, a.Outcome().Last)
		},
	}
}

func verbNames() []string {
	var names []string
	for _, v := range Verbs() {
		names = append(names, v.Name)
	}
	return names
}

// decode reads a request in the same way as a daemon that serves every verb. It returns the verb and the request.
func decode(line []byte) (erased, Request, error) {
	h, err := DecodeHead(line)
	if err != nil {
		return erased{}, nil, err
	}
	all := everyVerb()
	i := slices.IndexFunc(all, func(v erased) bool { return v.Name == h.Verb })
	if i < 0 {
		return erased{}, nil, UnknownVerb(h.Verb, verbNames(), "test")
	}
	r, err := all[i].decode(h, line)
	return all[i], r, err
}

// refused returns a request that each verb must refuse, and a part of the error, by verb. For a verb whose request has
// no members of its own, the request has an unknown member.
func refused() map[string][2]string {
	return map[string][2]string{
		"ping":   {`{"verb":"ping","refs":["1"]}`, `ping: unknown member "refs"`},
		"submit": {`{"verb":"submit","submit":{"name":"a","base_dir":"/"}}`, "the job file is empty"},
		"lookup": {`{"verb":"lookup"}`, "lookup: refs is empty"},
		"kill":   {`{"verb":"kill","refs":[]}`, "kill: refs is empty"},
		"hold":   {`{"verb":"hold"}`, "hold: refs is empty"},
		"force-status": {`{"verb":"force-status","refs":["12.3"],"to":"done"}`,
			"force-status: to \"done\": want completed or failed"},
		"freeze":    {`{"verb":"freeze"}`, "freeze: refs is empty"},
		"unfreeze":  {`{"verb":"unfreeze"}`, "unfreeze: refs is empty"},
		"release":   {`{"verb":"release"}`, "release: refs is empty"},
		"remove":    {`{"verb":"remove"}`, "remove: refs is empty"},
		"resubmit":  {`{"verb":"resubmit"}`, "resubmit: refs is empty"},
		"resplit":   {`{"verb":"resplit","refs":["1"],"into":1}`, "resplit: into is 1"},
		"copy":      {`{"verb":"copy","refs":["1","2"]}`, "copy: 2 refs"},
		"set":       {`{"verb":"set","refs":["1"]}`, "set: want member resources or priority"},
		"select":    {`{"verb":"select"}`, "select: want refs or where"},
		"status":    {`{"verb":"status"}`, "status: refs is empty"},
		"list":      {`{"verb":"list","list":{"limit":-1}}`, "list.limit"},
		"wait":      {`{"verb":"wait"}`, "wait: refs is empty"},
		"record":    {`{"verb":"record","refs":["1"],"path":"a\u0000"}`, "path: want a query"},
		"output":    {`{"verb":"output","refs":["1","2"]}`, "output: 2 refs"},
		"cat":       {`{"verb":"cat","refs":["1.0"],"file":"/etc/passwd"}`, "want stdout, stderr"},
		"history":   {`{"verb":"history"}`, "want 1 to 64 ids, or orders"},
		"log":       {`{"verb":"log"}`, "log: 0 refs"},
		"find":      {`{"verb":"find"}`, "find: nothing says which jobs"},
		"job-types": {`{"verb":"job-types","type":"x"}`, `job-types: unknown member "type"`},
		"clusters":  {`{"verb":"clusters","cluster":"x"}`, `clusters: unknown member "cluster"`},
		"health":    {`{"verb":"health","cluster":"x"}`, `health: unknown member "cluster"`},
		"order":     {`{"verb":"order","order":{"verb":"stop"}}`, "want drain, pause or resume"},
		"reset":     {`{"verb":"reset"}`, "want the name of a cluster"},
		"ban":       {`{"verb":"ban","ban":{"name":"mallory"}}`, "ban.reason is missing"},
		"exclude":   {`{"verb":"exclude","exclude":{"hosts":["wn13"]}}`, "exclude.reason is missing"},
		"renew":     {`{"verb":"renew","refs":["1"]}`, "member credentials is missing"},
		"remark":    {`{"verb":"remark","refs":["1"]}`, "member remark has 0 bytes"},
		"advertise": {`{"verb":"advertise","nwo":true}`, `did you mean "now"?`},
		"dataset":   {`{"verb":"dataset"}`, "member dataset is missing"},
		"verify":    {`{"verb":"verify","refs":["1"],"recovery":"a/b"}`, "without folders"},
		"retract":   {`{"verb":"retract","refs":["1"]}`, "member retract is missing"},
		"replay":    {`{"verb":"replay","refs":["1","2"]}`, "replay: 2 refs"},
	}
}

// update makes the test write the generated files.
var update = flag.Bool("update", false, "write list.go and list_test.go anew")

// describes finds the functions that describe a verb.
var describes = regexp.MustCompile(`(?m)^func (Verb[A-Z]\w*)\(\) Verb\[`)

// list.go and list_test.go contain every function of this package that describes a verb.
func TestVerbs_TheListsAreGenerated(t *testing.T) {
	const by = "// Code generated by \"go test ./internal/api/wire -run TestVerbs_TheListsAreGenerated -update\". " +
		"DO NOT EDIT.\n\npackage wire\n\n"
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range describes.FindAllSubmatch(text, -1) {
			all = append(all, string(m[1]))
		}
	}
	slices.Sort(all)
	list := by + "// Verbs returns the descriptions of all verbs, in alphabetical order.\nfunc Verbs() []About {\n" +
		"\treturn []About{\n"
	erasing := by + "func everyVerb() []erased {\n\treturn []erased{\n"
	for _, name := range all {
		list += "\t\t" + name + "().About,\n"
		erasing += "\t\terase(" + name + "()),\n"
	}
	for name, want := range map[string]string{"list.go": list + "\t}\n}\n", "list_test.go": erasing + "\t}\n}\n"} {
		if *update {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s, error %v, is\n%s\nwant\n%s\nto write it anew: go test ./internal/api/wire "+
				"-run TestVerbs_TheListsAreGenerated -update", name, err, got, want)
		}
	}
}

func TestVerbs_EachHasALimitAHelpTextAndRefusesABadRequest(t *testing.T) {
	var names []string
	for _, v := range everyVerb() {
		names = append(names, v.Name)
		if v.Help == "" || strings.Contains(v.Help, "\n") {
			t.Errorf("%s: help %q: want one line", v.Name, v.Help)
		}
		if v.MaxBytes <= 0 || v.MaxBytes > MaxRequest {
			t.Errorf("%s: at most %d bytes: want 1 to %d", v.Name, v.MaxBytes, MaxRequest)
		}
		c := refused()[v.Name]
		if _, _, err := decode([]byte(c[0])); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %s: error %v, want one with %q", v.Name, c[0], err, c[1])
		}
		long := `{"verb":"` + v.Name + `"` + strings.Repeat(" ", v.MaxBytes) + `}`
		if _, _, err := decode([]byte(long)); err == nil || !strings.Contains(err.Error(), "bytes long: at most") {
			t.Errorf("%s: a request of %d bytes: error %v", v.Name, len(long), err)
		}
		if _, err := v.answer([]byte(`{"ok":false}`)); jjm.KindOf(err) != jjm.Internal {
			t.Errorf("%s: an answer without ok and error: %v", v.Name, err)
		}
	}
	if !slices.Equal(names, verbNames()) {
		t.Errorf("the tests walk %v, Verbs lists %v", names, verbNames())
	}
}

// testdata/v1 has the lines of version 1: for each verb a request and its answer, with every member set. This jjm must
// understand the requests and write the same answers.
func TestVerbs_ReadAndWriteTheLinesOfVersion1(t *testing.T) {
	files, err := filepath.Glob("testdata/v1/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(text, []byte("\n"))
		v, req, err := decode(bytes.TrimSuffix(lines[0], []byte("\n")))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		seen[v.Name] = true
		if again, err := v.line(req); err != nil || !bytes.Equal(again, lines[0]) {
			t.Errorf("%s: the request is written as\n%s, error %v; want\n%s", file, again, err, lines[0])
		}
		for _, line := range lines[1 : len(lines)-1] {
			if again, err := v.answer(line); err != nil || !bytes.Equal(again, line) {
				t.Errorf("%s: the answer is written as\n%s, error %v; want\n%s", file, again, err, line)
			}
		}
	}
	for _, name := range verbNames() {
		if !seen[name] {
			t.Errorf("testdata/v1 has no line of %s", name)
		}
	}
}

func TestReply_WritesErrorsAsVersion1Does(t *testing.T) {
	want, err := os.ReadFile("testdata/v1/error.answer.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range everyVerb() {
		if _, err := v.answer(want); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
	var r Reply
	if err := json.Unmarshal(want, &r); err != nil {
		t.Fatal(err)
	}
	if got, err := Line(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("error %v, line %s, want %s", err, got, want)
	}
}

// The error for a client that is older or newer than the daemon names both versions and the remedy.
func TestDecode_RefusesAnotherVersionAndNamesBoth(t *testing.T) {
	first := VerbLookup()
	second := first
	second.Version = 2
	line := func(v Verb[LookupRequest, LookupAnswer]) []byte {
		text, err := v.Line(LookupRequest{Many: Many{Refs: []string{"1"}}})
		if err != nil {
			t.Fatal(err)
		}
		return text[:len(text)-1]
	}
	if got := string(line(second)); got != `{"verb":"lookup","v":2,"refs":["1"]}` {
		t.Errorf("a newer request: %s", got)
	}
	for _, c := range []struct {
		name           string
		client, daemon Verb[LookupRequest, LookupAnswer]
		kind           jjm.Kind
		want           string
	}{
		{"the same", second, second, 0, ""},
		{"an older client", first, second, jjm.Invalid, "the client speaks version 1 of this verb, the daemon version 2: " +
			"use the jjm and jjm-gatekeeper that were installed with the daemon"},
		{"a newer client", second, first, jjm.Busy, "the client speaks version 2 of this verb, the daemon version 1: " +
			"restart the daemon"},
	} {
		text := line(c.client)
		h, err := DecodeHead(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.daemon.Decode(h, text)
		if c.want == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want != "" && (jjm.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v of kind %v, want %v %q", c.name, err, jjm.KindOf(err), c.kind, c.want)
		}
	}
}
