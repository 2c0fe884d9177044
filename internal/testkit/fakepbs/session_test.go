package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// play is one command of a session that a person wrote down, with the lines that the command printed.
type play struct {
	command string
	lines   []string
	exit    string // the exit code, "" if the person did not note it
}

var notedExit = regexp.MustCompile(`^\[exit ([0-9]+)`)

// plays reads a session. The person wrote down only a part of the output; lines in brackets are remarks of the person.
func plays(t *testing.T, name string) (out []play) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		command, is := strings.CutPrefix(line, "$ ")
		switch {
		case is:
			command, _, _ = strings.Cut(command, "        (")
			out = append(out, play{command: command})
		case len(out) == 0:
		case notedExit.MatchString(line):
			out[len(out)-1].exit = notedExit.FindStringSubmatch(line)[1]
		case !strings.HasPrefix(strings.TrimSpace(line), "[") && !strings.HasPrefix(line, "usage: "):
			out[len(out)-1].lines = append(out[len(out)-1].lines, line)
		}
	}
	return out
}

func TestGolden_ArraysAreMadeNotRerunableByQalter(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.sh("jjmuser", "printf 'sleep 60\n' >s.sh")
	seq := regexp.MustCompile(`^([0-9]+)\[\]\.pbshost$`)
	brackets := regexp.MustCompile(`\S*\[\S*\]\S*`)
	played := plays(t, "array_norerun")
	if len(played) != 7 {
		t.Fatalf("%d commands in the recording, want 7", len(played))
	}
	for _, p := range played {
		command := strings.Replace(brackets.ReplaceAllString(p.command, `'$0'`), " s.sh", " <s.sh", 1)
		if len(p.lines) == 1 && seq.MatchString(p.lines[0]) {
			b.sh("root", "qmgr -c 'set fake next="+seq.FindStringSubmatch(p.lines[0])[1]+"'")
		}
		command = strings.Replace(command, "qstat ", "qstat -F json ", 1)
		if strings.Contains(command, "-t -f") {
			b.until(command, `"job_state":"R"`)
		}
		got := b.sh("jjmuser", command)
		if p.exit != "" && strconv.Itoa(got.Exit) != p.exit {
			t.Errorf("%s: exit %d, recorded %s", command, got.Exit, p.exit)
		}
		for _, line := range p.lines {
			if name, value, is := strings.Cut(strings.TrimSpace(line), " = "); name == "array_state_count" {
				continue // the fake does not print this attribute
			} else if is { // the fake prints attributes as JSON
				if shown := attribute(string(got.Stdout), name); shown != value {
					t.Errorf("%s: %s is %q, recorded %q", command, name, shown, value)
				}
			} else if !strings.Contains(string(got.Stdout)+string(got.Stderr), line+"\n") {
				t.Errorf("%s: the recorded line %q is not in\n%s%s", command, line, got.Stdout, got.Stderr)
			}
		}
	}
}

var member = regexp.MustCompile(`"1\[(\d+)\]\.pbshost":`)

// waiting returns the elements of array 1 that a listing shows waiting, such as "0,9-18".
func waiting(listing string) string {
	var out []string
	first, last := -1, -2
	flush := func() {
		switch {
		case first == last:
			out = append(out, strconv.Itoa(first))
		case first >= 0:
			out = append(out, fmt.Sprintf("%d-%d", first, last))
		}
	}
	index := -1
	for line := range strings.Lines(listing) {
		if m := member.FindStringSubmatch(line); m != nil {
			index, _ = strconv.Atoi(m[1])
		}
		if index < 0 || !strings.Contains(line, `"job_state":"Q"`) {
			continue
		}
		if index != last+1 {
			flush()
			first = index
		}
		last = index
	}
	flush()
	return strings.Join(out, ",")
}

// The commands are those of the recording qdel_several_operands. The table contains the operands in full, which the
// recording abbreviates.
func TestQdel_LosesOperandsOfOneArray(t *testing.T) {
	t.Parallel()
	every := func(first, last, step int) (out []string) {
		for i := first; i <= last; i += step {
			out = append(out, fmt.Sprintf("'1[%d]'", i))
		}
		return out
	}
	for name, c := range map[string]struct {
		operands []string
		left     string
	}{
		"three ranges":       {[]string{"'1[0-3]'", "'1[5-9]'", "'1[11-19]'"}, "4,10-199"},
		"a hundred members":  {every(1, 199, 2), "0,2,4-199"},
		"neighbours":         {every(68, 199, 1), "0-67"},
		"one range":          {[]string{"'1[0-1]'"}, "2-199"},
		"an array of others": {[]string{"'1[0]'", "'1[2]'", "2", "'1[4]'"}, "1,3-199"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			b.sh("jjmuser", "echo exit 0 | qsub -J 0-199 -h; echo exit 0 | qsub -h")
			if out := b.sh("jjmuser", "qdel "+strings.Join(c.operands, " ")); out.Exit != 0 || len(out.Stderr) > 0 {
				t.Errorf("exit %d: %s", out.Exit, out.Stderr)
			}
			if got := waiting(string(b.sh("jjmuser", "qstat -f -F json -t '1[]'").Stdout)); got != c.left {
				t.Errorf("left %s, recorded %s", got, c.left)
			}
		})
	}
}

func TestQdel_OfManyRangesEndsTheServer(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.sh("jjmuser", "echo exit 0 | qsub -J 0-199 -h")
	b.fault("qdel-crash", true)
	var many, others []string
	for i := range 11 {
		many = append(many, fmt.Sprintf("'1[%d]'", 2*i))
		others = append(others, fmt.Sprintf("'1[%d]'", 2*i+40))
	}
	if out := b.sh("jjmuser", "qdel "+strings.Join(many[:10], " ")+"; qstat >/dev/null"); out.Exit != 0 {
		t.Errorf("ten ranges: exit %d: %s", out.Exit, out.Stderr)
	}
	if out := b.sh("jjmuser", "qdel "+strings.Join(others, " ")); out.Exit != 0 || len(out.Stderr) > 0 {
		t.Errorf("eleven ranges: exit %d: %s", out.Exit, out.Stderr)
	}
	if out := b.sh("jjmuser", "qstat"); out.Exit != 255 {
		t.Errorf("the server answers: exit %d: %s%s", out.Exit, out.Stdout, out.Stderr)
	}
	out := b.sh("jjmuser", "rm state/faults/refused; qdel '1[2,7]'")
	if out.Exit != 1 || string(out.Stderr) != "qdel: illegally formed job identifier: 1[2,7]\n" {
		t.Errorf("a list: exit %d: %s", out.Exit, out.Stderr)
	}
}
