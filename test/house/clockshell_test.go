package house_test

import (
	"fmt"
	"go/ast"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The scripts of the tests follow the rule of TestClocks_NoVerdictDependsOnOne, with the same marks in comments.
func TestClocks_NoScriptDependsOnOne(t *testing.T) {
	inTree(t)
	scripts := 0
	for _, path := range tracked(t) {
		if !isTestScript(path) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		scripts++
		for _, f := range scriptClocks(string(text)) {
			t.Errorf("%s:%s", path, f)
		}
	}
	if scripts < 50 {
		t.Errorf("%d scripts seen: the test does not see the house", scripts)
	}
}

// isTestScript reports whether a file is a script of tests or of test beds.
func isTestScript(path string) bool {
	return strings.HasSuffix(path, ".txtar") || strings.HasSuffix(path, ".sh") &&
		(strings.HasPrefix(path, "scripts/testbed/") || strings.Contains(path, "/testdata/"))
}

var (
	scriptMark = regexp.MustCompile(`#\s*(provoked|pause|figure): \S`)
	// timeoutCommand is a call of timeout(1); its groups are the number and the unit.
	timeoutCommand = regexp.MustCompile(`\btimeout(?: +-k +\S+| +-s +\S+| +--signal +\S+| +-[-a-z=0-9]+)* +` +
		`([0-9]+(?:\.[0-9]+)?)([smhd]?)[ \t]+["$/.\w]`)
	timeoutOption = regexp.MustCompile(`(?:^|[\s"'])--?timeout[ =]["']?([0-9.]+)(ms|s|m|h)\b`)
	countedShell  = regexp.MustCompile(`(?s)\bfor +\w+ +in +(?:\$\(seq [^)]*\)|[0-9][0-9 ]*[0-9])` +
		`[; \n\t]*do\b.*?\bdone\b|\b(?:while|until) [^\n]*-(?:lt|le|gt|ge|eq|ne) [^\n]*?\bdo\b.*?\bdone\b`)
	shellSleep = regexp.MustCompile(`\bsleep [0-9.]`)
	shellCount = regexp.MustCompile(`^for\b|\$\(\( *\$?\w+ *[-+] *1 *\)\)`)
)

// scriptClocks returns a text for each place of a shell script that depends on a clock, with its line.
func scriptClocks(text string) (found []string) {
	lines := strings.Split(text, "\n")
	add := func(at int, what string) {
		n := strings.Count(text[:at], "\n")
		marked := scriptMark.MatchString(lines[n]) || n > 0 && scriptMark.MatchString(lines[n-1])
		comment := strings.HasPrefix(strings.TrimSpace(lines[n]), "#")
		if !marked && !comment {
			found = append(found, fmt.Sprintf("%d: %s", n+1, what))
		}
	}
	for _, pattern := range []*regexp.Regexp{timeoutCommand, timeoutOption} {
		for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
			if brief(text[m[2]:m[3]], text[m[4]:m[5]]) {
				add(m[0]+1, "timeout of less than a minute")
			}
		}
	}
	for _, m := range countedShell.FindAllStringIndex(text, -1) {
		if loop := text[m[0]:m[1]]; shellSleep.MatchString(loop) && shellCount.MatchString(loop) {
			add(m[0], "a fixed number of checks with pauses is a deadline")
		}
	}
	return found
}

// brief reports whether a number of units, such as 3 and "s" or "", is a time below a minute.
func brief(number, unit string) bool {
	n, err := strconv.ParseFloat(number, 64)
	size := map[string]time.Duration{"ms": time.Millisecond, "": time.Second, "s": time.Second, "m": time.Minute,
		"h": time.Hour, "d": 24 * time.Hour}[unit]
	return err == nil && n > 0 && n*float64(size) < float64(time.Minute)
}

// script adds the places in the text of a string that depend on a clock.
func (f *finder) script(n *ast.BasicLit) {
	text, err := strconv.Unquote(n.Value)
	// The strings of this package are examples for the checks.
	if err != nil || strings.HasPrefix(f.set.Position(n.Pos()).Filename, "test/house/") {
		return
	}
	for _, what := range scriptClocks(text) {
		f.add(n, "line "+what)
	}
}

// options adds the options --timeout of child programs whose value is a separate string.
func (f *finder) options(words []ast.Expr) {
	for i, x := range words {
		if i == 0 {
			continue
		}
		option, _ := words[i-1].(*ast.BasicLit)
		value, _ := x.(*ast.BasicLit)
		if option == nil || value == nil {
			continue
		}
		name, _ := strconv.Unquote(option.Value)
		text, _ := strconv.Unquote(value.Value)
		d, err := time.ParseDuration(text)
		if (name == "-timeout" || name == "--timeout") && err == nil && d > 0 && d < time.Minute {
			f.add(value, name+" of less than a minute")
		}
	}
}

func TestClocks_EachWayOfAScriptIsFound(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"timeout 5 qstat", 1},
		{"timeout -k 1 5s qstat; timeout --signal INT 0.5 \"$0\"", 2},
		{"timeout 1m qstat; timeout 60 qstat; timeout $((60 * slowness)) qstat", 0},
		{"# provoked: the job hangs\ntimeout 5 qstat", 0},
		{"# timeout 5 is too short", 0},
		{"jjm trace --timeout 3s", 1},
		{"jjm trace --timeout 10m", 0},
		{"for i in $(seq 50); do\n\t[ -e x ] && exit\n\tsleep 0.1\ndone", 1},
		{"for _ in 1 2 3; do ready && break; sleep 1; done", 1},
		{"i=0; while [ $i -lt 8 ]; do sleep 0.01; i=$((i+1)); done", 1},
		{"for _ in 1 2 3; do ready && break; done", 0},
		{"until [ $(ls | wc -l) -ge 3 ]; do sleep 0.1; done", 0},
		{"for f in *; do sleep 1; done; until [ -e go ]; do sleep 0.1; done", 0},
	} {
		if found := scriptClocks(c.text); len(found) != c.want {
			t.Errorf("%s: found %q, want %d", c.text, found, c.want)
		}
	}
}
