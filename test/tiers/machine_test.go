package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"jjm/internal/testkit/await"
)

func TestLockMachine_ASecondRunWaitsAndSaysForWhom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockMachine(path, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	locked := make(chan error)
	go func() {
		unlockSecond, err := lockMachine(path, writer)
		if err == nil {
			unlockSecond()
		}
		locked <- err
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil || !strings.Contains(line, "waiting") || !strings.Contains(line, fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("it says %q, %v", line, err)
	}
	select {
	case err := <-locked:
		t.Fatalf("two runs have the machine, error %v", err)
	default:
	}
	unlock()
	if err := await.Receive(t, "the lock", locked); err != nil {
		t.Error(err)
	}
}

// runnerVar names the environment variable with the command that TestRunner runs in the same way as a step.
const runnerVar = "JJM_TIERS_RUNNER"

func TestRunner(t *testing.T) {
	command := os.Getenv(runnerVar)
	if command == "" {
		return // only TestReaper_NothingOutlivesAKilledRunner starts the runner
	}
	runtime.LockOSThread()
	cmd := exec.Command("sh", "-c", command)
	cmd.Stdout = os.Stdout
	if _, err := newReaper().run(cmd); err != nil {
		t.Fatal(err)
	}
}

func TestReaper_NothingOutlivesAKilledRunner(t *testing.T) {
	runner := exec.Command(os.Args[0], "-test.run=^TestRunner$")
	runner.Env = append(os.Environ(), "JJM_BEDS=", runnerVar+
		"=exec sh ../../scripts/testbed/with.sh sh -c 'sleep 86400 & echo started; wait'")
	out, err := runner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "started\n" {
		t.Fatalf("the runner says %q, %v", line, err)
	}
	if err := runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() { // each process that the runner has started keeps the runner's output open
		rest, err := io.ReadAll(lines)
		ended <- fmt.Sprintf("%s%v", rest, err)
	}()
	if rest := await.Receive(t, "the end of all that the runner has started", ended); rest != "<nil>" {
		t.Errorf("then comes %q", rest)
	}
	_ = runner.Wait() // killed
}

// Compilers have one thread each; test programs have as many as without this program.
func TestOfProgram_HasItsOwnThreads(t *testing.T) {
	env := []string{"A=1", "GOMAXPROCS=1", "B=2"}
	for own, want := range map[string][]string{"": {"A=1", "B=2"}, "7": {"A=1", "B=2", "GOMAXPROCS=7"}} {
		if got := ofProgram(env, own); !slices.Equal(got, want) {
			t.Errorf("own threads %q: %q, want %q", own, got, want)
		}
	}
}
