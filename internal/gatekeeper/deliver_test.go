package gatekeeper

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/servertest"
)

// collected makes the tar of grid job 1 with the files of its local jobs.
func collected(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range append(files, "manifest.json") {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: "plain/" + f, Size: int64(len(f)), Mode: 0o644,
			ModTime: time.Unix(1_700_000_000, 0)}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// over adds an ended grid job with n local jobs to the fake daemon, and returns its lookup. Its tar contains the files.
func (s *site) over(t *testing.T, n int, files ...string) wire.Lookup {
	t.Helper()
	l := wire.Lookup{ID: 1, Status: "done", GRAM: jjm.GRAMDone, Counts: wire.Counts{Total: n}}
	s.fake.Put(servertest.Job{UID: s.UID, Tar: collected(t, files...), Status: wire.Status{Lookup: l}})
	return l
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func TestDeliver_WritesEachFileOrAnEmptyOne(t *testing.T) {
	s := open(t)
	l := s.over(t, 2, "plain.1.0.stdout", "plain.1.0.a.b.root", "plain.1.1.stdout", "jjm.log", "record/record.xml")
	dir := t.TempDir()
	wants := []Delivery{{"stdout", dir + "/out"}, {"stderr", dir + "/err"}, {"sub/a.b.root", dir + "/x"},
		{WholeTar, dir + "/all.tar"}, {WholeTar, dir + "/second.tar"}, {"none", dir + "/none"}}
	mover := &Deliverer{Client: s.Client}
	for range 2 { // a second call changes nothing
		absent, err := mover.DeliverEach(t.Context(), l, wants)
		if err != nil || len(absent) != 2 || absent[0].Name != "stderr" || absent[1].Name != "none" {
			t.Fatalf("absent %v, %v", absent, err)
		}
		whole := string(collected(t, "plain.1.0.stdout", "plain.1.0.a.b.root", "plain.1.1.stdout", "jjm.log",
			"record/record.xml"))
		for to, want := range map[string]string{"out": "plain.1.0.stdoutplain.1.1.stdout", "err": "", "none": "",
			"x":       "plain.1.0.a.b.root",
			"all.tar": whole, "second.tar": whole} {
			if got := read(t, filepath.Join(dir, to)); got != want {
				t.Errorf("%s holds %.80q", to, got)
			}
		}
		if left, _ := filepath.Glob(dir + "/.*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestDeliver_DoesNotWriteADeliveredFileAgain(t *testing.T) {
	s := open(t)
	l := s.over(t, 1, "plain.1.0.stdout")
	to := filepath.Join(t.TempDir(), "out")
	var before os.FileInfo
	for range 2 {
		if _, err := (&Deliverer{Client: s.Client}).DeliverEach(t.Context(), l, []Delivery{{"stdout", to}}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(to)
		if err != nil || before != nil && !os.SameFile(before, info) {
			t.Errorf("written again: %v", err)
		}
		before = info
	}
}

func TestDeliver_DoesNotFollowLinks(t *testing.T) {
	s := open(t)
	l := s.over(t, 1, "plain.1.0.stdout", "plain.1.0.stderr")
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("mine"), 0o600), os.Symlink(secret, dir+"/out"),
		syscall.Mkfifo(dir+"/err", 0o600)); err != nil {
		t.Fatal(err)
	}
	mover := &Deliverer{Client: s.Client}
	wants := []Delivery{{"stdout", dir + "/out"}, {"stderr", dir + "/err"}}
	if err := mover.CreateEmpty(wants); err != nil {
		t.Error(err)
	}
	if _, err := mover.DeliverEach(t.Context(), l, wants); err != nil {
		t.Fatal(err)
	}
	if read(t, secret) != "mine" || read(t, dir+"/out") != "plain.1.0.stdout" ||
		read(t, dir+"/err") != "plain.1.0.stderr" {
		t.Error("a link was followed, or a pipe written to")
	}
	for _, to := range []string{"relative", dir + "/no/such/out", ""} {
		if _, err := mover.DeliverEach(t.Context(), l, []Delivery{{"stdout", to}}); err == nil {
			t.Errorf("delivered to %q", to)
		}
	}
}

// If the process is root, Deliver writes the copies of outputs with only the rights of their owner.
func TestDeliver_WritesWithTheOwnersRights(t *testing.T) {
	needs.Root(t, "to act for others")
	s := open(t)
	l := s.over(t, 1, "plain.1.0.stdout")
	base := t.TempDir()
	mine, theirs := base+"/mine", base+"/theirs"
	if err := errors.Join(os.Mkdir(mine, 0o755), os.Mkdir(theirs, 0o755), os.Chown(theirs, 65534, 65534),
		os.Symlink(mine, theirs+"/link"), os.Chmod(base, 0o755), os.Chmod(filepath.Dir(base), 0o755)); err != nil {
		t.Fatal(err)
	}
	mover := &Deliverer{Client: s.Client, Owner: &jjm.Owner{UID: 65534, GID: 65534}}
	if _, err := mover.DeliverEach(t.Context(), l, []Delivery{{"stdout", theirs + "/out"}}); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(theirs + "/out"); err != nil || info.Sys().(*syscall.Stat_t).Uid != 65534 {
		t.Errorf("%v, %v", info, err)
	}
	for _, to := range []string{mine + "/out", theirs + "/link/out"} {
		if _, err := mover.DeliverEach(t.Context(), l, []Delivery{{"stdout", to}}); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: %v", to, err)
		}
	}
	if err := (asOwner{owner: &jjm.Owner{}}).do(func() error { return nil }); err == nil && os.Geteuid() != 0 {
		t.Error("an owner without a number was acted for")
	}
	if os.Geteuid() != 0 {
		t.Error("the process lost its own rights")
	}
}

func TestDeliver_ReadsTheTarIfNoDaemonAnswers(t *testing.T) {
	s := open(t)
	l := s.over(t, 1, "plain.1.0.stdout")
	dir := t.TempDir()
	l.Tar = dir + "/1.tar"
	if err := os.WriteFile(l.Tar, collected(t, "plain.1.0.stdout"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.server.Stop()
	mover := &Deliverer{Client: s.Client}
	if _, err := mover.DeliverEach(t.Context(), l, []Delivery{{"stdout", dir + "/out"}}); err != nil ||
		read(t, dir+"/out") != "plain.1.0.stdout" {
		t.Error(err)
	}
	l.Tar = dir + "/gone.tar"
	if _, err := mover.DeliverEach(t.Context(), l, []Delivery{{"stdout", dir + "/out2"}}); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("neither daemon nor tar: %v", err)
	}
}

// The owner can replace the folders on the path to the tar. Therefore a process of root opens the tar with only the
// rights of the owner.
func TestDeliver_RefusesATarThatTheOwnerCannotRead(t *testing.T) {
	needs.Root(t, "to act for others")
	s := open(t)
	l := s.over(t, 1, "plain.1.0.stdout")
	dir := needs.PublicDir(t)
	if err := errors.Join(os.Mkdir(dir+"/theirs", 0o755), os.Chown(dir+"/theirs", 65534, 65534),
		os.Mkdir(dir+"/others", 0o700),
		os.WriteFile(dir+"/others/1.tar", collected(t, "plain.1.0.stdout"), 0o600),
		os.Symlink(dir+"/others", dir+"/theirs/output")); err != nil {
		t.Fatal(err)
	}
	l.Tar = dir + "/theirs/output/1.tar"
	s.server.Stop()
	mover := &Deliverer{Client: s.Client, Owner: &jjm.Owner{UID: 65534, GID: 65534}}
	_, err := mover.DeliverEach(t.Context(), l, []Delivery{{"stdout", dir + "/theirs/out"}})
	if !errors.Is(err, os.ErrPermission) {
		t.Errorf("what is closed to the owner: %v", err)
	}
	if _, err := os.Lstat(dir + "/theirs/out"); err == nil {
		t.Error("another's tar was delivered")
	}
}

func TestPersist_TriesAgainUntilTheSubmissionIsDecided(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails []error
		kind  jjm.Kind
		calls int
	}{
		{"at once", nil, 0, 1},
		{"after trouble", []error{jjm.Errorf(jjm.Busy, "full"), jjm.Errorf(jjm.Ambiguous, "lost"),
			jjm.Errorf(jjm.Internal, "defect"), errors.New("?")}, 0, 5},
		{"refused", []error{jjm.Errorf(jjm.Busy, "full"), jjm.Errorf(jjm.Invalid, "wrong")}, jjm.Invalid, 2},
		{"denied", []error{jjm.Errorf(jjm.Denied, "no")}, jjm.Denied, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys := map[string]bool{}
			calls := 0
			_, err := Persist(t.Context(), time.Minute, Job{}, func(_ context.Context, j Job) (Receipt, error) {
				keys[j.Key] = true
				if calls++; calls <= len(c.fails) {
					return Receipt{}, c.fails[calls-1]
				}
				return Receipt{}, nil
			})
			if jjm.KindOf(err) != c.kind || calls != c.calls || len(keys) != 1 || keys[""] {
				t.Errorf("%v after %d calls with keys %v", err, calls, keys)
			}
		})
	}
	_, err := Persist(t.Context(), time.Millisecond, Job{Key: "k"}, func(context.Context, Job) (Receipt, error) {
		return Receipt{}, fmt.Errorf("no")
	})
	if jjm.KindOf(err) != jjm.Busy {
		t.Errorf("out of patience: %v", err)
	}
}
