package gatekeepers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

// A user can change the user's own grami, the file that describes a job for A-REX's scripts. If the grami names another
// user's job, a scan, which runs as root, delivers no file of that job.
func TestARCScript_ActsOnNobodyElsesJob(t *testing.T) {
	needs.Root(t, "to act for others, as A-REX does")
	dir, err := os.MkdirTemp("", "jjm-gk-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	nobody := account(t, "nobody")
	c := &control{site: openSite(t, dir, nobody, localCluster), dir: filepath.Join(dir, "control")}
	for _, sub := range []string{"processing", "session"} {
		if err := os.MkdirAll(filepath.Join(c.dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.start()
	victim := c.add(t, "1", "echo mine")
	as := &syscall.Credential{Uid: uint32(nobody.UID), Gid: uint32(nobody.GID)}
	if out, code := c.run(t, as, "submit", victim); code != 0 {
		t.Fatalf("submit: exit code %d\n%s", code, out)
	}
	await(t, "it is done", func() bool { return len(c.list()) == 1 && final(c.list()[0].Lookup.Status) })
	c.owner = account(t, "daemon") // another account
	thief := c.add(t, "2", "true")
	f, err := os.OpenFile(thief, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(f, "joboption_jobid=%s\n", jjm.HandleOf(nobody.UID, "arc-1"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, _ := c.run(t, nil, "scan", c.dir)
	if !strings.Contains(out, "the job of its owner") || exists(filepath.Join(c.dir, "job.2.lrms_done")) ||
		exists(filepath.Join(c.dir, "session", "2", "out.txt")) {
		t.Errorf("a foreign job was served:\n%s", out)
	}
	if !exists(filepath.Join(c.dir, "job.1.lrms_done")) {
		t.Errorf("the owner's own was not:\n%s", out)
	}
	c.owner = nobody
}
