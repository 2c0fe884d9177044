package all

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tableOf names the page whose table has the commands of a kind of cluster, and a function that drives
// its adapter through every branch that builds a command.
type tableOf struct {
	page  string
	drive func(t *testing.T, n *notebook)
}

func tables() map[string]tableOf {
	return map[string]tableOf{
		"pbs":    {"PBS.md", drivePBS},
		"slurm":  {"SLURM.md", driveSlurm},
		"condor": {"HTCONDOR.md", driveCondor},
		"sge":    {"GRID-ENGINE.md", driveSGE},
	}
}

// The table of an adapter's page has every command that the adapter runs, with its options, and every row of the table
// is used. No process is started: a runner records the commands and answers in place of the batch system.
func TestTables_HaveTheCommandsThatTheAdaptersRun(t *testing.T) {
	for kind, table := range tables() {
		t.Run(kind, func(t *testing.T) {
			rows := rowsOf(t, filepath.Join("..", "..", "docs", table.page))
			n := &notebook{}
			table.drive(t, n)
			for _, problem := range compare(rows, n.commands()) {
				t.Error(problem)
			}
			for _, r := range rows {
				for _, problem := range r.problems(filepath.Join("..", kind), "../../internal/testkit/fakepbs") {
					t.Errorf("`%s`: %s", r.command, problem)
				}
			}
		})
	}
}

// row is one line of a table: the command, its purpose, the version since which it exists, and the recording or source
// that shows it.
type row struct{ command, use, since, source string }

// tableHead is the head of each table.
const tableHead = "| command | for | since | recording or source |\n|---|---|---|---|\n"

// rowsOf reads the table of commands of a page.
func rowsOf(t *testing.T, page string) (rows []row) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(string(text), tableHead)
	if !ok {
		t.Fatalf("%s has no table of commands", page)
	}
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if len(cells) != 4 {
			t.Fatalf("%s: %d cells in %q", page, len(cells), line)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, row{strings.Trim(cells[0], "`"), cells[1], cells[2], cells[3]})
	}
	return rows
}

var recording = regexp.MustCompile("`([A-Za-z0-9_./-]+\\.(?:txt|xml))`")

// problems returns the missing parts of a row. Recordings are files of the adapter's folder.
func (r row) problems(folders ...string) (problems []string) {
	for name, text := range map[string]string{"use": r.use, "version": r.since, "source": r.source} {
		if text == "" {
			problems = append(problems, "it has no "+name)
		}
	}
	for _, m := range recording.FindAllStringSubmatch(r.source, -1) {
		found := false
		for _, folder := range folders {
			_ = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
				found = found || err == nil && filepath.Base(path) == m[1]
				return nil
			})
		}
		if !found {
			problems = append(problems, fmt.Sprintf("there is no recording %s below %s", m[1], strings.Join(folders, ", ")))
		}
	}
	return problems
}

// matches reports whether a word of a command matches a word of a row. Capitals in the row stand for any text that is
// not an option, "" for an empty word.
func matches(shown, word string) bool {
	if shown == `""` {
		return word == ""
	}
	if strings.HasPrefix(word, "-") && !strings.HasPrefix(shown, "-") {
		return false
	}
	parts := placeholder.Split(shown, -1)
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".+") + "$").MatchString(word)
}

var placeholder = regexp.MustCompile(`[A-Z]{2,}`)

// length returns how many words of a command the words of a row cover, and whether they match. A last word that ends
// with "..." covers all further words, at least one.
func length(shown, words []string) (n int, ok bool) {
	for i, s := range shown {
		if i >= len(words) {
			return 0, false
		}
		if one, more := strings.CutSuffix(s, "..."); more && i == len(shown)-1 {
			all := !slices.ContainsFunc(words[i:], func(w string) bool { return !matches(one, w) })
			return len(words), all
		}
		if !matches(s, words[i]) {
			return 0, false
		}
	}
	return len(shown), true
}

// addition returns the command and the options of a row such as `qsub ... -q QUEUE`, which adds options to other rows.
func (r row) addition() (command string, options []string, ok bool) {
	command, rest, ok := strings.Cut(r.command, " ... ")
	return command, splitWords(rest), ok
}

var shownWord = regexp.MustCompile(`'[^']*'|\S+`)

// splitWords splits a command as a page shows it: '...' is one word.
func splitWords(text string) (words []string) {
	for _, w := range shownWord.FindAllString(text, -1) {
		words = append(words, strings.Trim(w, "'"))
	}
	return words
}

// compare returns a problem for each command that no row shows, and each row that no command uses.
func compare(rows []row, commands [][]string) (problems []string) {
	used := make([]bool, len(rows))
	for _, argv := range commands {
		rest := withoutAdditions(rows, argv, used)
		shown := false
		for i, r := range rows {
			if _, _, adds := r.addition(); adds {
				continue
			}
			if n, ok := length(splitWords(r.command), rest); ok && n == len(rest) {
				used[i], shown = true, true
				break
			}
		}
		if !shown {
			problems = append(problems, fmt.Sprintf("no row shows %.300q", argv))
		}
	}
	for i, r := range rows {
		if !used[i] {
			problems = append(problems, fmt.Sprintf("no command is as the row `%s` shows", r.command))
		}
	}
	return problems
}

// withoutAdditions returns a command without the options of such additional rows (see addition).
func withoutAdditions(rows []row, argv []string, used []bool) (rest []string) {
	for i := 0; i < len(argv); {
		skip := 0
		for k, r := range rows {
			command, options, ok := r.addition()
			if !ok || i == 0 || command != argv[0] {
				continue
			}
			if n, ok := length(options, argv[i:]); ok {
				used[k], skip = true, n
				break
			}
		}
		if skip == 0 {
			rest = append(rest, argv[i])
			skip = 1
		}
		i += skip
	}
	return rest
}

func TestCompare_FindsUnknownCommandsAndUnusedRows(t *testing.T) {
	rows := []row{{command: "qsub -h -N TAG -o /dev/null"}, {command: "qsub ... -q QUEUE"}, {command: "qdel ID..."},
		{command: `qsub -C "" -N TAG`}}
	used := [][]string{{"qsub", "-h", "-N", "a", "-o", "/dev/null"},
		{"qsub", "-h", "-N", "a", "-q", "long", "-o", "/dev/null"}, {"qdel", "1", "2[]"}, {"qsub", "-C", "", "-N", "b"}}
	for _, tt := range []struct {
		name     string
		rows     []row
		commands [][]string
		want     string
	}{
		{"all is well", rows, used, ""},
		{"an option more", rows, append(slices.Clone(used), []string{"qsub", "-h", "-N", "a", "-r", "n", "-o", "/dev/null"}),
			"no row shows"},
		{"another value", rows, append(slices.Clone(used), []string{"qsub", "-h", "-N", "a", "-o", "/tmp/x"}),
			"no row shows"},
		{"another command", rows, append(slices.Clone(used), []string{"qalter"}), "no row shows"},
		{"an option among operands", rows, append(slices.Clone(used), []string{"qdel", "-t", "1", "2[]"}), "no row shows"},
		{"no operand", rows, append(slices.Clone(used), []string{"qdel"}), "no row shows"},
		{"an unused row", rows, used[:2], "no command is as the row `qdel ID...` shows"},
		{"an unused addition", rows, slices.Delete(slices.Clone(used), 1, 2), "no command is as the row `qsub ... -q QUEUE`"},
	} {
		if got := strings.Join(compare(tt.rows, tt.commands), "; "); !strings.Contains(got, tt.want) ||
			(got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRow_LacksAreFound(t *testing.T) {
	r := row{"qdel ID...", "cancel", "", "`no_such_recording.txt`"}
	if problems := r.problems("../pbs"); len(problems) != 2 {
		t.Errorf("%q", problems)
	}
}
