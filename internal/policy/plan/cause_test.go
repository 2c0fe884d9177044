package plan

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCause_IsTheSameForWhatFailedAlike(t *testing.T) {
	const keyword = `no keyword in the log: did the command call $GBS_LOG? If it never does, set result = "exit" in ` +
		"the job file; "
	for want, messages := range map[string][]string{
		"exit code 3": {"exit code 3", "exit code 3 after 4 s on wn7",
			"exit code 3 after 2 min 3 s on wn8.example.org", "exit code 3 after 1.5 s on wn7"},
		"exit code 4": {"exit code 4 after 4 s on wn7", "exit code 4 on worker",
			"exit code 4 after 1 s on worker"},
		"exit code 3: no space": {"exit code 3 after 4 s on wn7: no space",
			"exit code 3 on node-12.local: no space"},
		"exit code 139 (SIGSEGV, it used memory that is not its own)": {
			"exit code 139 (SIGSEGV, it used memory that is not its own) after 1 h 2 min on wn7"},
		"cannot open …: no such file": {"cannot open /data/17/raw.root: no such file", "cannot open ./x.root: no such file",
			"cannot open root://se.example.org//d/1: no such file"},
		"… wants … events, … has …":          {`17.3 wants 12 events, "a b" has 7`, `17.119 wants 1 events, "" has 0`},
		"status 404 for …":                   {"status 404 for https://x.example.org/17"},
		keyword + "exit code 0":              {keyword + "exit code 0 after 3 s on wn7"},
		`run = …, "exit`:                     {`run = "a 17", "exit`},
		"errno 28 in file…":                  {"errno 28 in file17", "errno 28 in file4"},
		"memory limit exceeded (peak … MiB)": {"memory limit exceeded (peak 2047 MiB) after 3 h on wn1"},
		"Input/output error":                 {"Input/output error"},
		"job … is gone":                      {"job 0f3a9c77-11aa is gone", "job 48213_2 is gone"},
		"read …, at …":                       {"read 2.5, at 12:30:01"},
		"submit bulk … of … (tag …)": {"submit bulk jk2faabcfg7hijk of 17 (tag jk2faabcfg7hijk)",
			"submit bulk jkqfaabcfgrhijk of 3 (tag jkqfaabcfgrhijk)"},
		"the bulk of … is gone":          {"the bulk of 17 is gone"},
		"after all it failed":            {"after all it failed"},
		"write: no space left on device": {"write: no space left on device"},
		"first line":                     {"first line\nsecond 7", "  first line  "},
		"":                               {"", " \n"},
		"an unclosed \" stays":           {"an unclosed \" stays"},
		"größe … überschritten":          {"größe 7 überschritten", "größe 123 überschritten"},
	} {
		for _, m := range messages {
			if got := Cause(m); got != want {
				t.Errorf("%q: %q, want %q", m, got, want)
			}
		}
	}
}

func TestInCommon_NumbersThatAllHaveStay(t *testing.T) {
	for want, messages := range map[string][]string{
		"walltime limit of 5 s reached": {"walltime limit of 5 s reached after 7 s on wn1",
			"walltime limit of 5 s reached after 8 s on wn2"},
		"walltime limit of … s reached": {"walltime limit of 5 s reached", "walltime limit of 9 s reached",
			"walltime limit of 5 s reached"},
		"exit code 75; retry 2 of 20 (early)": {"exit code 75 after 1 s on wn7; retry 2 of 20 (early)"},
		"exit code 75; retry … of 20 (early)": {"exit code 75; retry 2 of 20 (early)",
			"exit code 75; retry 3 of 20 (early)"},
		"cannot open …: line 7":                     {"cannot open /data/17/raw.root: line 7"},
		"… wants 12 events, … has 7":                {`17.3 wants 12 events, "a b" has 7`, `17.4 wants 12 events, "c" has 7`},
		"job … is gone":                             {"job 0f3a9c77-11aa is gone"},
		strings.Repeat("x", maxCause-1) + "…":       {strings.Repeat("x", 200) + " 1", strings.Repeat("x", 200) + " 2"},
		strings.Repeat("8 ", maxCause/2-1) + "8":    {strings.Repeat("8 ", maxCause/2), strings.Repeat("8 ", maxCause/2)},
		strings.TrimSpace(strings.Repeat("… ", 40)): {strings.Repeat("8888 ", 40), strings.Repeat("1 ", 40)},
	} {
		told := ""
		for _, m := range messages {
			told = InCommon(told, m)
		}
		if told != want {
			t.Errorf("%q: %q, want %q", messages, told, want)
		}
	}
}

func TestCause_IsItsOwnCauseAndShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.OneOf(rapid.String(), rapid.StringMatching(
			`((after [0-9]{1,3} (s|min)|on [a-z]+[0-9]*|exit|code|[0-9]{1,4}|/[a-z0-9/]*|"[a-z ]*"|[a-z.,:;()]+) ?){0,60}`)).Draw(t, "m")
		c := Cause(m)
		if again := Cause(c); again != c && utf8.RuneCountInString(c) < maxCause {
			t.Fatalf("%q: the cause of %q is %q", m, c, again)
		}
		if utf8.RuneCountInString(c) > maxCause || strings.Contains(c, "\n") {
			t.Fatalf("%q", c)
		}
	})
}

func BenchmarkCause(b *testing.B) {
	m := "exit code 3 after 4 s on wn7: cannot open /data/17/raw.root: no such file"
	for b.Loop() {
		Cause(m)
	}
}
