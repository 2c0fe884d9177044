package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPages_CommandsSetTheVariablesThatTheyUse reads the shell commands of all pages. Each variable that a command uses
// must be set by an earlier command on the same page, except HOME, PATH and PWD.
func TestPages_CommandsSetTheVariablesThatTheyUse(t *testing.T) {
	all := pages(t)
	all["README.md"] = readme(t)
	read := 0
	for name, text := range all {
		set := []string{"HOME", "PATH", "PWD"}
		for _, line := range commandsOf(text) {
			read++
			for _, v := range unset(line, set) {
				t.Errorf("%s: %s: no command before it sets %s", name, line, v)
			}
			set = append(set, setBy(line)...)
		}
	}
	if read < 60 {
		t.Errorf("only %d commands are found", read)
	}
}

var (
	fenced   = regexp.MustCompile("(?ms)^```(?:sh|console)(?: [a-z]+)?\n(.*?)^```$")
	indented = regexp.MustCompile(`(?m)^    ((?:\$ |jjm |export ).*)$`)
	message  = regexp.MustCompile(`^jjm [a-z-]+: `) // a message of a command
	sets     = regexp.MustCompile(`(?:^|[ ;&]|\bfor )([A-Za-z_][A-Za-z_0-9]*)(?:=| in )`)
	uses     = regexp.MustCompile(`\$\{?([A-Za-z_][A-Za-z_0-9]*)`)
	single   = regexp.MustCompile(`'[^']*'`)
)

// commandsOf returns the shell commands of a page, in order: all lines of blocks "sh", the lines with a prompt of
// blocks "console", and the commands of indented text.
func commandsOf(page string) (lines []string) {
	page = fenced.ReplaceAllStringFunc(page, func(block string) string {
		prompted := strings.HasPrefix(block, "```console")
		var kept []string
		for _, line := range strings.Split(fenced.FindStringSubmatch(block)[1], "\n") {
			if !prompted || strings.HasPrefix(line, "$ ") {
				kept = append(kept, "    $ "+strings.TrimPrefix(line, "$ "))
			}
		}
		return strings.Join(kept, "\n")
	})
	for _, m := range indented.FindAllStringSubmatch(page, -1) {
		line := strings.TrimSpace(strings.TrimPrefix(m[1], "$ "))
		if line != "" && line != "$" && !message.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// setBy returns the variables that a command sets.
func setBy(line string) (names []string) {
	for _, m := range sets.FindAllStringSubmatch(line, -1) {
		names = append(names, m[1])
	}
	return names
}

// unset returns the variables that a command uses and that neither an earlier command nor the command itself sets.
func unset(line string, set []string) (names []string) {
	own := setBy(line)
	for _, m := range uses.FindAllStringSubmatch(single.ReplaceAllString(line, ""), -1) {
		before := strings.HasPrefix(line, "export "+m[1]+"=")
		if !slices.Contains(set, m[1]) && (before || !slices.Contains(own, m[1])) {
			names = append(names, m[1])
		}
	}
	return names
}

func TestUnset_WouldFindAVariable(t *testing.T) {
	lines := commandsOf("x\n```sh\ncp a \"$JJM_STATE/x\"\n```\n```console\n$ jjm cat 1\n$NOT\n```\n    $ A=1 run ${B}\n")
	want := []string{`cp a "$JJM_STATE/x"`, "jjm cat 1", "A=1 run ${B}"}
	if !slices.Equal(lines, want) {
		t.Fatalf("%q, want %q", lines, want)
	}
	for line, want := range map[string]string{lines[0]: "JJM_STATE", lines[2]: "B", "echo '$C'": "", "export D=$D": "D",
		"for e in a; do echo $e; done": ""} {
		if got := strings.Join(unset(line, nil), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
