package main

import (
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

	"jjm"
	"jjm/gate"
	"jjm/gate/client"
	"jjm/gate/gatetest"
	"jjm/internal/needs"
	"jjm/wire"
)

func TestCommands_EveryOneHasAnExampleThatParses(t *testing.T) {
	for _, g := range groups() {
		for _, cmd := range g.commands {
			words := strings.Fields(strings.Split(cmd.example, " && ")[0])
			if len(words) < 2 || words[0] != "jjm" || words[1] != cmd.name {
				t.Errorf("%s: example %q", cmd.name, cmd.example)
				continue
			}
			v := cmd.make()
			if _, ok := v.(passer); ok {
				continue
			}
			if help, err := parse(cmd, v, words[2:]); help || err != nil {
				t.Errorf("%s: example %q: %v", cmd.name, cmd.example, err)
			}
			if _, ok := v.(taker); ok != (cmd.max != 0) {
				t.Errorf("%s: its arguments are declared one way only", cmd.name)
			}
		}
	}
}

func TestParse_FlagsAndArgumentsMixUpToTheDashes(t *testing.T) {
	cmd := lookupCommand()
	l := &lookup{}
	if _, err := parse(cmd, l, []string{"1", "--json", "2", "--socket=/s", "--", "--state"}); err != nil {
		t.Fatal(err)
	}
	if !l.JSON || l.Socket != "/s" || strings.Join(l.IDs, " ") != "1 2 --state" {
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

// TestLinks_NothingThatMakesTheStartSlow keeps "jjm lookup" cheap.
func TestLinks_NothingThatMakesTheStartSlow(t *testing.T) {
	out, err := exec.Command(needs.Program(t, "go", "golang-go"), "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	slow := map[string]bool{"net": true, "net/http": true, "os/user": true, "runtime/cgo": true, "log/slog": true, "testing": true,
		"jjm/gate": true, "jjm/store": true, "jjm/engine": true, "jjm/app": true, "jjm/xmldb": true}
	for dep := range strings.Lines(string(out)) {
		dep = strings.TrimSpace(dep)
		if slow[dep] || strings.HasPrefix(dep, "modernc.org/") || strings.HasPrefix(dep, "github.com/") {
			t.Errorf("jjm links %s", dep)
		}
	}
}

// BenchmarkExec measures the CPU of a whole run of "jjm lookup", and of a
// program that reads one flag: at most 2.5 times as much is the aim.
func BenchmarkExec(b *testing.B) {
	dir := b.TempDir()
	flagOnly := "package main\nimport (\"flag\";\"fmt\")\nfunc main() { j := flag.Bool(\"json\", false, \"\"); flag.Parse(); fmt.Println(*j, flag.Args()) }\n"
	if err := os.WriteFile(filepath.Join(dir, "flagonly.go"), []byte(flagOnly), 0o600); err != nil {
		b.Fatal(err)
	}
	f := gatetest.New()
	f.Put(gatetest.Job{UID: os.Getuid(), Status: wire.Status{Lookup: wire.Lookup{ID: 17, Status: "running", GRAM: jjm.GRAMActive}}})
	b.Setenv("JJM_SOCKET", gatetest.Serve(b, f, gate.Config{}, nil).Socket)
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
