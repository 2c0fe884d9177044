package said

import (
	"strings"
	"testing"
)

func TestWrong_FindsBadTexts(t *testing.T) {
	for text, want := range map[string]string{
		"waits since 0001-01-01 00:00:00":                  "no time at all",
		"failures map[early:1]":                            "a value as Go has it",
		"held by <nil>":                                    "a value as Go has it",
		"reported wrongly: {Tag:j7 Index:3 State:OK}":      "a struct as Go has it",
		"want it present with [\"41\" \"45\"]":             "a list of texts as Go has it",
		"parts %!d(string=x)":                              "a format without its value",
		"seen for 2h0m0s":                                  "a duration as Go has it",
		"took 1m30s":                                       "a duration as Go has it",
		"took 1.234567s":                                   "a duration as Go has it",
		"no listing: context deadline exceeded":            "an error of Go's libraries",
		"type: this site knows [script montecarlo]":        "a list as Go has it",
		"want one of [a]":                                  "a list as Go has it",
		"readers: []":                                      "a list as Go has it",
		"18 passed, 1 checks failed":                       "one of several",
		"1 local jobs, 1 failed":                           "one of several",
		"two  blanks":                                      "doubled blanks before column 6",
		"NAME   STATE\nx      done\nand  another sentence": "doubled blanks before column 6",
		"an end \nmore":                                    "blanks at the end",
		"{\"error\":\"request: <nil>\"}":                   "a value as Go has it",
		"job 1 failed:  exit code 3":                       "doubled blanks",
	} {
		if got := strings.Join(Wrong(text), "\n"); !strings.Contains(got, want) {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
}

func TestWrong_AcceptsGoodTexts(t *testing.T) {
	for _, text := range []string{
		"ID    STATUS   NAME\n17    done     mc\n1234  running  other\n",
		"grid job 17: done\n  name   mc\n  owner  alice\n",
		"  --json    One JSON object per line.\n",
		"Exit codes:\n  0  ok             5  refused\n  1  the answer     6  denied\n",
		`{"interval":"1m30s","names":[],"text":"a  b"}`,
		"<localjob id=\"1\">\n  <part  a=\"1\"/>\n",
		"jjm COMMAND [ARGUMENTS]\nUsage: jjm cat <ID.N> [<FILE>] [flags]\n",
		"job 1 running: 2, 2 running; 11 files, 1 file, 0.1 seconds, grid job 1 ends\n",
		"until 17:30; want a duration such as 30s, 5m or 2h; 2 h 5 min; job 1 files nothing",
		"part 1 rows: 3", "[1,2]", `[["a", "b"], ["c"]]`, "100% of 3%", "größe   x\nweite   y",
	} {
		if got := Wrong(text); len(got) > 0 {
			t.Errorf("%q: %q", text, got)
		}
	}
}
