package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// benchIn returns a bench below a folder, and its output.
func benchIn(t *testing.T, dir string) (*bench, *strings.Builder) {
	t.Helper()
	var said strings.Builder
	b := &bench{ctx: t.Context(), size: tiny()}
	b.say = func(format string, args ...any) { said.WriteString(fmt.Sprintf(format+"\n", args...)) }
	if err := b.prepare(bin.Dir(t), dir, ""); err != nil {
		t.Fatal(err)
	}
	return b, &said
}

// While a bench uses a bed alone, other users must wait. Otherwise the next user would remove the bed's jobs or rebuild
// the bed, and the bench would wait for its jobs in vain.
func TestBed_NobodyEmptiesItMeanwhile(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	needs.Root(t, "to start Slurm")
	needs.Debian(t)
	b, _ := benchIn(t, t.TempDir())
	t.Cleanup(b.clean)
	t.Chdir("../..")
	d, err := b.bed("slurm", true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.leaveBeds)
	if _, _, err := d.run(b, "", "squeue", "-h"); err != nil {
		t.Error(err)
	}
	dir := os.Getenv("JJM_TESTBED")
	if dir == "" {
		dir = "/tmp"
	}
	if exec.Command("flock", "-ns", filepath.Join(dir, "jjm-testbed-slurm.lock"), "true").Run() == nil {
		t.Error("others may use the bed")
	}
}

func TestEnter_EndsWithTheBench(t *testing.T) {
	t.Setenv("JJM_TESTBED", t.TempDir())
	h, err := testbed.Enter("nosuch", true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	b := &bench{ctx: ctx, say: func(string, ...any) {}}
	stop()
	if _, err := b.enter("nosuch", true); !errors.Is(err, context.Canceled) {
		t.Errorf("a bench that is stopped waits on: %v", err)
	}
	if err := h.Leave(); err != nil {
		t.Error(err)
	}
}

func TestUntilOf_TellsWhatIsNotOverAndKeepsTheFolder(t *testing.T) {
	dir, err := os.MkdirTemp("", "jb") // the length of a socket's path is limited: unix(7)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b, said := benchIn(t, dir)
	j, err := b.startDaemon(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	a, err := b.submitTo(j, "type = \"script\"\nname = \"endless\"\n[params]\ncommand = [\"/bin/sleep\", \"600\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	id := a.Submit.ID
	if err := b.until(j, id, "it runs", func(c wire.Counts) bool { return c.Running == 1 }); err != nil {
		t.Fatal(err)
	}
	const vain = 10 * time.Millisecond // provoked: the moon is never blue
	err = b.untilOf(j, "the moon is blue", vain, func() (bool, error) { return false, nil })
	if !errors.Is(err, errVain) || !strings.Contains(err.Error(), "the moon is blue") ||
		!strings.Contains(err.Error(), j.state) {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"grid job " + id.String(), id.String() + ".0", "running", "CLUSTER", j.logPath()} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("nothing is said of %q:\n%s", want, said)
		}
	}
	err = b.killAndWait(j, id)
	if err = errors.Join(err, j.close()); err != nil {
		t.Error(err)
	}
	b.clean()
	if _, err := os.Stat(filepath.Join(j.state, "store.db")); err != nil {
		t.Errorf("the folder is gone: %v", err)
	}
	if _, err := os.Stat(b.shared); err == nil {
		t.Error("another folder stays too")
	}
}
