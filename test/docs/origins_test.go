package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each command, key, file, page and test that docs/ORIGINS.md names exists, and each of its rows is complete.
func TestOrigins_NamesWhatExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/ORIGINS.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked := &origins{t: t, help: map[string]string{}, pages: map[string]originPage{}}
	if rows := checked.rows(string(text)); rows < 100 {
		t.Errorf("docs/ORIGINS.md has only %d rows", rows)
	}
	for _, problem := range checked.problems {
		t.Error(problem)
	}
	for _, source := range []string{"JIM", "Ganga", "GBS", "JEDI", "WMCore"} {
		if !strings.Contains(string(text), "\n## "+source+"\n") {
			t.Errorf("docs/ORIGINS.md has no section %s", source)
		}
	}
}

// The checks of docs/ORIGINS.md find each kind of mistake.
func TestOrigins_WouldFindMistakes(t *testing.T) {
	const head = "| in the source | in jjm | page | test |\n|---|---|---|---|\n"
	const page, test = "[SELECTION](SELECTION.md#filters)", "`internal/work/split/TestRows_OnePartPerRow`"
	for row, want := range map[string]string{
		"| a | `jjm kill --host` | " + page + " | " + test + " |":                        "",
		"| a | not there yet: `kill` of b | - | - |":                                     "",
		"| a | `jjm klil` | " + page + " | " + test + " |":                               "no command",
		"| a | `jjm job-types nonsense` | " + page + " | " + test + " |":                 "no command",
		"| a | `jjm kill nonsense` | " + page + " | " + test + " |":                      "no command",
		"| a | `jjm kill --hots` | " + page + " | " + test + " |":                        "no flag",
		"| a | `--hosts` | " + page + " | " + test + " |":                                "no page",
		"| a | `etc/jjm.tom` | " + page + " | " + test + " |":                            "no file",
		"| a | `engine.pol` | [settings](../etc/jjm.toml) | " + test + " |":              "no page",
		"| a | `engine.poll` | [settings](../etc/jjm.toml) | " + test + " |":             "",
		"| a | `--host` | [SELECTION](SELECTION.md#filter) | " + test + " |":             "no heading",
		"| a | `--host` | [SELECTION](SELECTIONS.md) | " + test + " |":                   "no such file",
		"| a | `--host` | " + page + " | `internal/work/split/TestRows_OnePart` |":       "no test",
		"| a | `--host` | " + page + " | `test/daemon/testdata/walk/selection.txtar` |":  "",
		"| a | `--host` | " + page + " | `test/daemon/testdata/walk/selections.txtar` |": "no file",
		"| a | `--host` | " + page + " | - |":                                            "names no test",
		"| a | `--host` | - | " + test + " |":                                            "names no page",
		"| a | something | " + page + " | " + test + " |":                                "names nothing",
		"| a | `--host` | " + page + " |":                                                "cells",
	} {
		checked := &origins{t: t, help: map[string]string{}, pages: map[string]originPage{}}
		if n := checked.rows(head + row + "\n"); n != 1 {
			t.Errorf("%s: read as %d rows", row, n)
		}
		got := strings.Join(checked.problems, "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: problems %q, want %q", row, got, want)
		}
	}
}

// origins checks the rows of docs/ORIGINS.md.
type origins struct {
	t        *testing.T
	help     map[string]string // the help of each command, "" for unknown commands
	pages    map[string]originPage
	problems []string
}

// originPage holds the parts of a page to which rows can refer.
type originPage struct {
	headings map[string]bool // headings, in the form that links use
	code     string          // headings and code of a page; keys with the sections of the configuration
}

// rows checks the rows of all tables of a text and returns the number of rows.
func (o *origins) rows(text string) (n int) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| in the source |") {
			continue
		}
		n++
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 4 {
			o.problem(line, "has %d cells, not 4", len(cells))
			continue
		}
		if !strings.HasPrefix(cells[1], "not ") {
			o.row(line, cells)
		}
	}
	return n
}

func (o *origins) problem(line, format string, args ...any) {
	o.problems = append(o.problems, fmt.Sprintf("%.80s: ", line)+fmt.Sprintf(format, args...))
}

// row checks a row about a feature that jjm has.
func (o *origins) row(line string, cells []string) {
	links := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`).FindAllStringSubmatch(cells[2], -1)
	if len(links) == 0 {
		o.problem(line, "names no page")
	}
	var code []string
	for _, link := range links {
		page := o.page(line, link[1])
		code = append(code, page.code)
		if link[2] != "" && !page.headings[link[2]] {
			o.problem(line, "%s has no heading %s", link[1], link[2])
		}
	}
	things := quoted(cells[1])
	if len(things) == 0 {
		o.problem(line, "names nothing of jjm")
	}
	for _, thing := range things {
		o.thing(line, thing, strings.Join(code, "\n"))
	}
	tests := quoted(cells[3])
	if len(tests) == 0 {
		o.problem(line, "names no test")
	}
	for _, test := range tests {
		o.test(line, test)
	}
}

// quoted returns the texts in backquotes of a cell.
func quoted(cell string) (all []string) {
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// page reads a page that a row links; its name is relative to docs/.
func (o *origins) page(line, name string) originPage {
	if page, known := o.pages[name]; known {
		return page
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", name))
	if err != nil {
		o.problem(line, "no such file: %s", name)
		return originPage{}
	}
	page := originPage{headings: map[string]bool{}}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		title := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		page.headings["#"+strings.ReplaceAll(title, " ", "-")] = true
		page.code += m[1] + "\n"
	}
	fenced := regexp.MustCompile("(?ms)^ *```.*?^ *```|^    .*?$")
	page.code += strings.Join(fenced.FindAllString(string(text), -1), "\n") + "\n" +
		strings.Join(quoted(fenced.ReplaceAllString(string(text), "")), "\n")
	if strings.HasSuffix(name, ".toml") {
		page.code = settings(string(text))
	}
	o.pages[name] = page
	return page
}

// settings returns the keys of a configuration with their sections, including keys that are commented out with #.
func settings(text string) string {
	section, all := "", ""
	line := regexp.MustCompile(`(?m)^(?:# )?(?:\[+([a-z_.]+)\]+$|([a-z_]+) = )`)
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] != "":
			section = m[1] + "."
			all += m[1] + "\n"
		default:
			all += section + m[2] + "\n"
		}
	}
	return all
}

// thing checks a command, a file, or a word that must occur as code on the pages of its row.
func (o *origins) thing(line, thing, code string) {
	word := regexp.MustCompile(`(^|[^A-Za-z0-9_.-])` + regexp.QuoteMeta(thing) + `($|[^A-Za-z0-9_-])`)
	switch {
	case strings.HasPrefix(thing, "jjm "):
		o.command(line, strings.Fields(thing)[1:])
	case regexp.MustCompile(`^(etc|docs|scripts|cmd)/`).MatchString(thing):
		if _, err := os.Stat(filepath.Join(root, thing)); err != nil {
			o.problem(line, "no file %s", thing)
		}
	case !word.MatchString(code):
		o.problem(line, "no page of the row has %s", thing)
	}
}

// command checks that a command and its flags are in its help.
func (o *origins) command(line string, words []string) {
	var path []string
	for _, word := range words {
		if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(word) {
			break
		}
		path = append(path, word)
	}
	help := o.helpOf(path)
	if help == "" {
		o.problem(line, "no command: jjm %s", strings.Join(path, " "))
		return
	}
	for _, word := range words[len(path):] {
		flag := regexp.MustCompile(`(^|[\s,\[])` + regexp.QuoteMeta(word) + `($|[^a-z-])`)
		if strings.HasPrefix(word, "-") && !flag.MatchString(help) {
			o.problem(line, "no flag %s of jjm %s", word, strings.Join(path, " "))
		}
	}
}

func (o *origins) helpOf(path []string) string {
	name := strings.Join(path, " ")
	if help, known := o.help[name]; known {
		return help
	}
	out, err := bin.Command(o.t, append(slices.Clone(path), "--help")...).Output()
	// Else the last words are arguments, which no test checks.
	own := regexp.MustCompile(`^Usage: jjm ` + regexp.QuoteMeta(name) + `\s`).Match(out)
	if err == nil && own {
		o.help[name] = string(out)
	}
	return o.help[name]
}

// test checks a test, FOLDER/TestName, or a script that TestWalks runs.
func (o *origins) test(line, name string) {
	folder, test := filepath.Split(name)
	if !strings.HasPrefix(test, "Test") {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			o.problem(line, "no file %s", name)
		}
		return
	}
	files, _ := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "\nfunc "+test+"(") {
			return
		}
	}
	o.problem(line, "no test %s", name)
}
