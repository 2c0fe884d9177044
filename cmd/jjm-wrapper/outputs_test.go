package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
)

// summary returns a text for each output: "name bytes", or "name: absent" with the reason.
func summary(outputs []jjm.Output) []string {
	var list []string
	for _, o := range outputs {
		switch {
		case o.Absent != "":
			list = append(list, o.Name+": "+o.Absent)
		default:
			if len(o.SHA256) != 64 {
				list = append(list, o.Name+" has no checksum")
			}
			list = append(list, fmt.Sprintf("%s %d", o.Name, o.Bytes))
		}
	}
	return list
}

func TestOutputs_PatternsNamesAndReturnedFiles(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "side.log"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, script string
		patterns     []string
		want         []string
	}{
		{"a glob", "echo a > a.root; echo bb > b.root; echo c > c.txt", []string{"*.root"},
			[]string{"work/a.root 2", "work/b.root 3"}},
		{"in a folder", "mkdir -p d/e; echo a > d/e/x", []string{"d/*/x"}, []string{"work/d/e/x 2"}},
		{"no match", "true", []string{"*.root"}, []string{"work/*.root: no file matches this pattern"}},
		{"a name that is not UTF-8", `echo a > "$(printf 'a\377b')"`, []string{"a*"},
			[]string{"work/a\ufffdb: bad name: not UTF-8"}},
		{"missing name", "true", []string{"a.root"}, []string{"work/a.root: missing"}},
		{"once although named thrice", "echo a > a; $GBS_LOG SUCCEEDED ./a $GBS_HOME/a", []string{"a", "*"},
			[]string{"work/a 2"}},
		{"SUCCEEDED names", `echo a > 'a b'; $GBS_LOG SUCCEEDED 'a b' gone -`, nil,
			[]string{"work/a b 2", "work/gone: missing"}},
		{"RETURN_FILE outside", "$GBS_LOG RETURN_FILE " + outside + "/side.log", nil, []string{"returned/side.log 5"}},
		{"RETURN_FILE inside", "echo a > a; $GBS_LOG RETURN_FILE $GBS_HOME/a", nil, []string{"work/a 2"}},
		{"RETURN_FILE twice by one name",
			"$GBS_LOG RETURN_FILE " + outside + "/side.log; $GBS_LOG RETURN_FILE " + outside + "/./side.log", nil,
			[]string{"returned/side.log 5"}},
		{"RETURN_FILE missing", "$GBS_LOG RETURN_FILE /no/such/file", nil, []string{"/no/such/file: missing"}},
		{"RETURN_FILE relative", "$GBS_LOG RETURN_FILE x.log", nil, []string{"x.log: RETURN_FILE wants an absolute path"}},
		{"RETURN_FILE climbs", "$GBS_LOG RETURN_FILE ../../../x", nil,
			[]string{"../../../x: RETURN_FILE wants an absolute path"}},
		{"RETURN_FILE a device", "$GBS_LOG RETURN_FILE /dev/zero", nil,
			[]string{"/dev/zero: is a device, not a regular file"}},
		{"RETURN_FILE of the kernel", "$GBS_LOG RETURN_FILE /proc/self/environ", nil,
			[]string{"/proc/self/environ: is a file of the kernel, not on a disk"}},
		{"RETURN_FILE a folder", "$GBS_LOG RETURN_FILE /usr", nil, []string{"/usr: is a directory"}},
		{"RETURN_FILE a FIFO", "mkfifo p; $GBS_LOG RETURN_FILE $GBS_HOME/p", nil,
			[]string{"work/p: is a fifo, not a regular file"}},
		{"RETURN_FILE a link outside", "ln -s " + outside + "/side.log l; $GBS_LOG RETURN_FILE $GBS_HOME/l", nil,
			[]string{"work/l: a symbolic link leads out of the job's directory"}},
		{"a FIFO as output", "mkfifo p", []string{"p"}, []string{"work/p: is a fifo, not a regular file"}},
		{"a folder as output", "mkdir d", []string{"d"}, []string{"work/d: is a directory"}},
		{"a link inside", "echo a > a; ln -s a b", []string{"b"}, []string{"work/b 2"}},
		{"a link outside", "ln -s /etc/passwd b", []string{"b"},
			[]string{"work/b: a symbolic link leads out of the job's directory"}},
		{"a link that climbs", "ln -s ../../../../../../../../../../etc/passwd b", []string{"*"},
			[]string{"work/b: a symbolic link leads out of the job's directory"}},
		{"a link to itself", "ln -s b b", []string{"b"},
			[]string{"work/b: too many levels of symbolic links"}},
		{"a folder that leads outside", "ln -s /etc d", []string{"d/passwd"},
			[]string{"work/d/passwd: a symbolic link leads out of the job's directory"}},
		{"pattern climbs", "true", []string{"../*", "/etc/passwd", ""},
			[]string{"../*: not a pattern below the job's directory", "/etc/passwd: not a pattern below the job's directory",
				": not a pattern below the job's directory"}},
		{"bad pattern", "echo > x", []string{"[x"}, []string{"work/[x: syntax error in pattern"}},
		{"SUCCEEDED climbs", "$GBS_LOG SUCCEEDED ../../../../job.json", nil,
			[]string{"../../../../job.json: not below the job's directory"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, tt.script)
			s.as[0].Outputs = tt.patterns
			s.run(exitOK)
			if diff := cmp.Diff(tt.want, summary(s.result().Outputs)); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutputs_PatternsWithoutAFileAreTold(t *testing.T) {
	many := make([]string, 2*jjm.MaxUnmet)
	for i := range many {
		many[i] = fmt.Sprint("x", i)
	}
	long := strings.Repeat("x", 500)
	for name, c := range map[string]struct {
		script         string
		shared, ofPart []string
		want           []jjm.Unmet
	}{
		"all are there": {"echo a > a.root; echo b > b; $GBS_LOG SUCCEEDED b", []string{"*.root", "b"}, []string{"[ab].root"}, nil},
		"none is": {"true", []string{"*.root", "b"}, []string{"d/*"}, []jjm.Unmet{
			{Pattern: "*.root", Why: "no file matches this pattern"}, {Pattern: "b", Why: "missing"},
			{Pattern: "d/*", Why: "no file matches this pattern"}}},
		"found by another pattern":       {"echo a > a", []string{"*", "a", "?"}, nil, nil},
		"one of two cannot be collected": {"mkdir a1; echo b > a2", []string{"a*"}, nil, nil},
		"none of two can": {"mkdir a1 a2", []string{"a*"}, nil, []jjm.Unmet{{Pattern: "a*",
			Why: "is a directory"}}},
		"no pattern": {"true", []string{"../*"}, nil, []jjm.Unmet{
			{Pattern: "../*", Why: "not a pattern below the job's directory"}}},
		"long": {"true", []string{long}, nil, []jjm.Unmet{{Pattern: long[:maxPattern] + "...", Why: "file name too long"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, c.script)
			s.job.Outputs, s.as[0].Outputs = c.shared, c.ofPart
			s.run(exitOK)
			if diff := cmp.Diff(c.want, s.result().Unmet); diff != "" {
				t.Errorf("patterns without a file (-want +got):\n%s", diff)
			}
		})
	}
	s := newSite(t, "echo x > all; mkdir -p dir")
	s.job.Outputs, s.job.Required, s.as[0].Required = many, []string{"all", "none"}, []string{"dir"}
	s.run(exitOK)
	if diff := cmp.Diff([]jjm.Unmet{{Pattern: "none", Why: "missing", Required: true},
		{Pattern: "dir", Why: "is a directory", Required: true}}, s.result().Unmet[:2]); diff != "" {
		t.Errorf("what is required comes first (-want +got):\n%s", diff)
	}
	if s.result().Outputs[0].Name != "work/all" {
		t.Errorf("what is required is not collected: %v", s.result().Outputs[0])
	}
	told := s.result().Unmet
	last := told[len(told)-1]
	if len(told) != jjm.MaxUnmet || last.Patterns != int64(len(many)+2-jjm.MaxUnmet+1) ||
		!strings.HasSuffix(last.Pattern, fmt.Sprintf(" and %d more", last.Patterns-1)) {
		t.Errorf("%d of %d patterns are told, the last is %+v", len(told), len(many), last)
	}
}

// The SUCCEEDED record of a job that reports by its exit code lists only existing files.
func TestOutputs_SucceededListsNoFileThatIsNotThere(t *testing.T) {
	s := newSite(t, "echo a > a")
	s.job.Result, s.job.Outputs = jjm.ResultExit, []string{"a", "b", "*.root"}
	s.run(exitOK)
	if log := glf.Parse([]byte(s.result().GLF)); len(log.Terminals) != 1 || log.Terminals[0].Data != "a" {
		t.Errorf("the log:\n%s", s.result().GLF)
	}
}

func TestOutputs_AnInputIsNoOutput(t *testing.T) {
	s := newSite(t, "true")
	s.pack(map[string]string{"a.dat": "a"})
	var err error
	if s.job.Package, s.job.Files, err = s.packed(); err != nil {
		t.Fatal(err)
	}
	s.job.Outputs = []string{"*.dat"}
	s.run(exitOK)
	if got := s.result().Unmet; len(got) != 1 || got[0].Pattern != "*.dat" {
		t.Errorf("patterns without a file: %+v", got)
	}
}

func TestOutputs_ReturnedFilesOfOneNameAreKeptApart(t *testing.T) {
	dir := t.TempDir()
	script := ""
	for i, sub := range []string{"a", "b", "c"} {
		script += fmt.Sprintf("mkdir -p %[1]s/%[2]s; printf %%%[3]dd 0 > %[1]s/%[2]s/x; $GBS_LOG RETURN_FILE %[1]s/%[2]s/x; ",
			dir, sub, i+1)
	}
	s := newSite(t, script)
	s.run(exitOK)
	if diff := cmp.Diff([]string{"returned/x 1", "returned/x.2 2", "returned/x.3 3"},
		summary(s.result().Outputs)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	if s.file("returned/x.3") != "  0" {
		t.Errorf("got %q", s.file("returned/x.3"))
	}
}

func TestOutputs_InputsAreNotOutputsUnlessReplaced(t *testing.T) {
	s := newSite(t, `rm b.dat; echo new > b.dat; echo c > c.dat`)
	s.pack(map[string]string{"a.dat": "a", "b.dat": "b"})
	var err error
	if s.job.Package, s.job.Files, err = s.packed(); err != nil {
		t.Fatal(err)
	}
	s.job.Outputs = []string{"*.dat"}
	s.run(exitOK)
	if diff := cmp.Diff([]string{"work/b.dat 4", "work/c.dat 2"}, summary(s.result().Outputs)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestOutputs_TheSizeCapLeavesOutWhatDoesNotFit(t *testing.T) {
	s := newSite(t, `printf 1234567 > a; printf 1234567 > b; printf 123 > c`)
	s.job.Outputs = []string{"?"}
	s.job.MaxOutputBytes = 10
	s.run(exitOK)
	if diff := cmp.Diff([]string{"work/a 7", "work/b: size cap of 10 bytes reached", "work/c 3"},
		summary(s.result().Outputs)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

// A result contains all outputs of a job, even thousands.
func TestOutputs_ManyAreAllReported(t *testing.T) {
	s := newSite(
		t, `i=0; while [ $i -lt 9000 ]; do i=$((i+1)); echo $i > "a-rather-long-name-of-an-output-file-$i.root"; done`)
	s.job.Outputs = []string{"*.root"}
	s.run(exitOK)
	r := s.result()
	if n := len(r.Outputs); n != 9000 || len(r.LeftOut()) != 0 {
		t.Errorf("%d outputs, left out: %s", n, r.LeftOut())
	}
	if l := glf.Parse([]byte(r.GLF)); len(l.Terminals) != 1 || len(l.Infos) != 1 || !l.End {
		t.Errorf("log: %.500s", r.GLF)
	}
}

// Outputs that are left out are counted by reason. Folders, pipes and missing optional outputs are not counted.
func TestOutputs_LeftOutHaveAReason(t *testing.T) {
	for name, c := range map[string]struct {
		script           string
		outputs, without []string // patterns
		want             string
	}{
		"nothing":            {"echo a >a; mkdir d; mkfifo p", []string{"*"}, nil, ""},
		"control character":  {`echo a >"$(printf 'a\tb')"`, []string{"*"}, nil, "1 output (name)"},
		"no UTF-8":           {`echo a >"$(printf 'a\377b')"`, []string{"*"}, nil, "1 output (name)"},
		"too large":          {"echo 123456789 >a; echo >b; echo 123456789 >c", []string{"*"}, nil, "1 output (size)"},
		"a link out":         {"ln -s /etc/passwd a", []string{"*"}, nil, "1 output (link)"},
		"a folder's link":    {"ln -s /etc a", []string{"*/*"}, nil, "1 output (link)"},
		"unreadable":         {"ln -s a a; ln -s b b", []string{"*"}, nil, "2 outputs (unreadable)"},
		"a folder's loop":    {"ln -s a a", []string{"*/*"}, nil, "1 output (unreadable)"},
		"optional":           {"ln -s /etc/passwd a", nil, []string{"*"}, "1 output (link) as asked"},
		"optional, too":      {"ln -s /etc/passwd a", []string{"a"}, []string{"*"}, "1 output (link)"},
		"not made":           {"true", []string{"*.root", "b"}, nil, "2 outputs (not-made) as asked"},
		"optional, not made": {"true", nil, []string{"*.root", "b"}, ""},
		"a dangling link":    {"ln -s nothing a", []string{"*"}, nil, "1 output (not-made) as asked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, c.script)
			s.job.Outputs, s.job.Optional, s.job.MaxOutputBytes = c.outputs, c.without, 15
			s.run(exitOK)
			var got []string
			r := s.result()
			for _, l := range r.LeftOut() {
				text := fmt.Sprintf("%s (%s)", jjm.Count(l.N, l.What), l.Reason)
				if l.Asked {
					text += " as asked"
				}
				got = append(got, text)
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("left out: %s, want %s", text, c.want)
			}
		})
	}
}

func TestLog_HostileContentDoesNotHurt(t *testing.T) {
	tests := []struct {
		name, script string
		check        func(t *testing.T, r jjm.Result, l glf.Log)
	}{
		{"NUL and garbage", `printf 'a\0b\377\n' >> $JJM_GLF; $GBS_LOG FAILED 'x
y'`, func(t *testing.T, _ jjm.Result, l glf.Log) {
			if l.Bad != 1 || len(l.Terminals) != 1 || l.Terminals[0].Data != "x y" {
				t.Errorf("got %+v", l)
			}
		}},
		{"a line left open", `printf 'no newline' >> $JJM_GLF`, func(t *testing.T, _ jjm.Result, l glf.Log) {
			if l.Bad != 1 || len(l.Terminals) != 1 {
				t.Errorf("got %+v", l)
			}
		}},
		{"twenty megabytes", `$GBS_LOG FAILED early; yes '2008-03-13T12:00:00Z INFO filler' | head -c 20000000 >> $JJM_GLF; echo >> $JJM_GLF; $GBS_LOG FAILED late`,
			func(t *testing.T, r jjm.Result, l glf.Log) {
				if len(r.GLF) > 256<<10 || len(l.Terminals) != 1 || l.Terminals[0].Data != "late" {
					t.Errorf("length %d, %+v", len(r.GLF), l.Terminals)
				}
			}},
		{"removed", `rm $JJM_GLF`, func(t *testing.T, r jjm.Result, l glf.Log) {
			if !strings.Contains(r.Error, "job.glf") {
				t.Errorf("error %q", r.Error)
			}
		}},
		{"a FIFO in its place", `rm $JJM_GLF; mkfifo $JJM_GLF`, func(t *testing.T, r jjm.Result, l glf.Log) {
			if !strings.Contains(r.Error, "not a regular file") || len(l.Terminals) != 1 {
				t.Errorf("error %q, log %+v", r.Error, l)
			}
		}},
		{"a link in its place", `ln -sf /etc/passwd $JJM_GLF`, func(t *testing.T, r jjm.Result, l glf.Log) {
			if !strings.Contains(r.Error, "escapes") || len(l.Terminals) != 1 || strings.Contains(r.GLF, "root:") {
				t.Errorf("error %q, log %+v", r.Error, l)
			}
		}},
		{"an end that is not the wrapper's", `$GBS_LOG INFO job wrapper end exit=0; exit 5`,
			func(t *testing.T, _ jjm.Result, l glf.Log) {
				if l.AppExit != 5 {
					t.Errorf("got %+v", l)
				}
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, tt.script)
			s.run(exitOK)
			r := s.result()
			l := glf.Parse([]byte(r.GLF))
			if !l.End || !l.Start && tt.name != "removed" && !strings.Contains(tt.name, "place") {
				t.Errorf("start %t end %t", l.Start, l.End)
			}
			tt.check(t, r, l)
		})
	}
}
