package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"

	"jjm/internal/api/client"
	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/formats/shellwords"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/servertest"
)

func TestCommands_EveryOneHasAnExampleThatParses(t *testing.T) {
	var all commands
	parser, err := kong.New(&all, kong.Name("jjm"), kong.ExplicitGroups(groups()))
	if err != nil {
		t.Fatal(err)
	}
	leaves := parser.Model.Leaves(false)
	if len(leaves) < 30 {
		t.Fatalf("only %d commands", len(leaves))
	}
	for _, node := range leaves {
		example := node.Tag.Get("example")
		words, err := shellwords.Split(strings.Split(example, " && ")[0])
		path := strings.Fields(node.Path())
		if err != nil || node.Help == "" || len(words) < len(path) && node.Name != "show" {
			t.Errorf("%s: example %q, help %q: %v", node.Path(), example, node.Help, err)
			continue
		}
		ctx, err := parser.Parse(words[1:])
		if err != nil || ctx.Selected().Path() != node.Path() {
			t.Errorf("%s: example %q: %v", node.Path(), example, err)
		}
	}
}

// jjm --help prints a line for each command, with the purpose of the command.
func TestHelp_NamesEveryCommand(t *testing.T) {
	var all commands
	parser, err := kong.New(&all, kong.Name("jjm"), kong.ExplicitGroups(groups()))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	c := &cli{out: bufio.NewWriter(&out)}
	if err := errors.Join(c.overview(parser.Model), c.out.Flush()); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ") {
			for _, node := range parser.Model.Leaves(false) {
				words, found := strings.CutPrefix(strings.TrimSpace(line), strings.TrimPrefix(node.Path(), "jjm "))
				if found && strings.HasPrefix(words, " ") && strings.HasSuffix(words, " "+node.Help) {
					named[node.Path()] = true
				}
			}
		}
	}
	for _, node := range parser.Model.Leaves(false) {
		if !named[node.Path()] {
			t.Errorf("jjm --help does not name %s", node.Path())
		}
	}
}

func TestParse_FlagsAndArgumentsMixUpToTheDashes(t *testing.T) {
	var all commands
	parser, err := kong.New(&all, kong.Name("jjm"), kong.ExplicitGroups(groups()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(gathered(parser.Model,
		[]string{"lookup", "1", "--json", "2", "--socket=/s", "--state", "x", "--", "--state"})); err != nil {
		t.Fatal(err)
	}
	if l := all.Lookup; !l.JSON || l.Socket != "/s" || l.State != "x" || strings.Join(l.IDs, " ") != "1 2 --state" {
		t.Errorf("%+v", l)
	}
}

func TestCodeOf_EveryKindHasItsExitCode(t *testing.T) {
	gone := &client.Unreachable{Socket: "/s", Err: errors.New("refused")}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{jjm.Errorf(jjm.Conflict, "x"), 1},
		{jjm.Errorf(jjm.Invalid, "x"), 2},
		{jjm.Errorf(jjm.Gone, "x"), 3},
		{gone, 4},
		{jjm.Errorf(jjm.Busy, "x"), 4},
		{jjm.Errorf(jjm.Denied, "x"), 6},
		{jjm.Errorf(jjm.Internal, "x"), 8},
		{jjm.Errorf(jjm.Ambiguous, "lost: %w", gone), 8},
		{errors.New("x"), 8},
		{fmt.Errorf("x: %w", context.Canceled), 130},
		{fmt.Errorf("x: %w", &exit{exitRefused, errors.New("y")}), 5},
	} {
		if got := codeOf(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

// Problems with a job file that may disappear at a retry do not refuse the job file. One problem that is a mistake in
// the job file refuses it.
func TestRefused_ABusyProgramIsNoRefusal(t *testing.T) {
	busy := jjm.Problem{Where: "job.toml:1", Field: "type", Text: "2 programs run already: try again", Busy: true}
	wrong := jjm.Problem{Field: "name", Text: "too long"}
	for _, c := range []struct {
		problems jjm.Problems
		want     int
		text     string
	}{
		{jjm.Problems{busy}, exitUnreachable, "not accepted for now"},
		{jjm.Problems{busy, wrong}, exitRefused, "refused"},
	} {
		err := refused("job.toml", wire.ErrorOf(c.problems.Err()).Err())
		if got := codeOf(err); got != c.want || !strings.Contains(err.Error(), c.text) ||
			!strings.Contains(err.Error(), busy.Text) {
			t.Errorf("%v: exit code %d, want %d and %q", err, got, c.want, c.text)
		}
	}
}

// The program jjm stays small: only the daemon's program may link the packages of the store, the engine and the batch
// systems.
func TestLinks_NothingOfTheDaemon(t *testing.T) {
	out, err := exec.Command(needs.Program(t, "go", "golang-go"), "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	heavy := map[string]bool{"net/http": true, "log/slog": true, "testing": true,
		"jjm/internal/api/server": true, "jjm/internal/storage/store": true, "jjm/internal/engine": true,
		"jjm/internal/app": true, "jjm/xmldb": true}
	for dep := range strings.Lines(string(out)) {
		dep = strings.TrimSpace(dep)
		if heavy[dep] || strings.HasPrefix(dep, "modernc.org/") {
			t.Errorf("jjm links %s", dep)
		}
	}
}

// BenchmarkExec measures the CPU time of a whole run of "jjm lookup", and of a program that only parses one flag. jjm
// lookup should need at most 2.5 times as much CPU time as that program.
func BenchmarkExec(b *testing.B) {
	dir := b.TempDir()
	flagOnly := "package main\nimport (\"flag\";\"fmt\")\nfunc main() { j := flag.Bool(\"json\", false, \"\"); flag.Parse(); fmt.Println(*j, flag.Args()) }\n"
	if err := os.WriteFile(filepath.Join(dir, "flagonly.go"), []byte(flagOnly), 0o600); err != nil {
		b.Fatal(err)
	}
	f := servertest.New()
	f.Put(servertest.Job{UID: os.Getuid(),
		Status: wire.Status{Lookup: wire.Lookup{ID: 17, Status: "running", GRAM: jjm.GRAMActive}}})
	b.Setenv("JJM_SOCKET", servertest.Serve(b, f.Verbs(), server.Config{}, nil).Socket)
	for _, c := range []struct{ name, pkg string }{{"FlagOnly", filepath.Join(dir, "flagonly.go")}, {"Lookup", "."}} {
		program := filepath.Join(dir, c.name)
		if out, err := exec.Command("go", "build", "-o", program, c.pkg).CombinedOutput(); err != nil {
			b.Fatalf("build %s: %v: %s", c.pkg, err, out)
		}
		args := map[string][]string{"Lookup": {"lookup", "17"}}[c.name]
		b.Run(c.name, func(b *testing.B) {
			var cpu int64
			for b.Loop() {
				cmd := exec.Command(program, args...)
				cmd.Stdout = io.Discard
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
				cpu += use.Utime.Nano() + use.Stime.Nano()
			}
			b.ReportMetric(float64(cpu)/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}
