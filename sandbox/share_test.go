package sandbox

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"jjm/internal/testkit/needs"
)

func TestShare_OneFileAndNothingElse(t *testing.T) {
	needs.Root(t, "to look as others do")
	dir := needs.PublicDir(t)
	a, err := OpenArea(filepath.Join(dir, "alice"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	none := iter.Seq2[TarEntry, error](func(func(TarEntry, error) bool) {})
	for _, id := range []string{"jobs/17/output/a.17.tar", "jobs/18/output/a.18.tar"} {
		if _, err := a.WriteTar(t.Context(), id, "a", none, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.WriteJob(Job{Grid: 17}); err != nil {
		t.Fatal(err)
	}
	const alice, admin, mallory = 70001, 70009, 70002
	for range 2 {
		if err := a.Share("jobs/17/output/a.17.tar", alice, admin, 0); err != nil {
			t.Fatal(err)
		}
	}
	open := func(name string) func() error {
		return func() error {
			f, err := os.Open(filepath.Join(dir, "alice", name))
			if err == nil {
				f.Close()
			}
			return err
		}
	}
	for uid, may := range map[int]bool{alice: true, admin: true, mallory: false} {
		if err := needs.As(uid, open("jobs/17/output/a.17.tar")); (err == nil) != may {
			t.Errorf("uid %d opens the tar: %v", uid, err)
		}
		for _, name := range []string{".", "jobs", "jobs/17", "jobs/17/output", "jobs/17/job.json",
			"jobs/18/output/a.18.tar"} {
			if err := needs.As(uid, open(name)); !errors.Is(err, os.ErrPermission) {
				t.Errorf("uid %d opens %s: %v", uid, name, err)
			}
		}
		if err := needs.As(uid, func() error {
			return os.Truncate(filepath.Join(dir, "alice/jobs/17/output/a.17.tar"), 0)
		}); err == nil {
			t.Errorf("uid %d wrote the tar", uid)
		}
	}
	if err := os.Symlink("/etc/shadow", filepath.Join(dir, "alice/jobs/17/output/link")); err != nil {
		t.Fatal(err)
	}
	if err := a.Share("jobs/17/output/link", alice); err == nil {
		t.Error("a link was followed")
	}
}

// A daemon that runs all jobs as a service account sets the access lists itself, only on its own files.
func TestShare_LeavesOthersFilesAlone(t *testing.T) {
	needs.Root(t, "to make files of others")
	dir := needs.PublicDir(t)
	a, err := OpenArea(filepath.Join(dir, "alice"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.WriteJob(Job{Grid: 17}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "alice/jobs/17/job.json")
	if err := os.Chown(name, 70003, 70003); err != nil {
		t.Fatal(err)
	}
	if err := a.Share("jobs/17/job.json", 70001); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a file of uid 70003 is shared: %v", err)
	}
	if n, err := unix.Getxattr(name, "system.posix_acl_access", make([]byte, 1000)); err == nil {
		t.Errorf("it has an access list of %d bytes", n)
	}
	if err := errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := a.Share("jobs/17/job.json", 70001); err == nil {
		t.Error("a FIFO is shared")
	}
}
