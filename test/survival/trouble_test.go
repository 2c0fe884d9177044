package survival_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// TestSurvival_WrapperKilled kills wrappers by KILL, with and without a running daemon. The attempts are lost and
// retried within the limits, and surviving processes of the application are killed.
func TestSurvival_WrapperKilled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		down  bool
		level string
	}{
		{"daemon sees it", false, "WORKER"},
		{"daemon is down", true, "GRID"}, // because the embedded batch system reports ABORTED
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, settings{slots: 4})
			d := design{jobs: 4, glf: true, mix: "hang", key: "once"}
			s.startReady()
			id := s.submitted(d)
			s.started(d, 4)
			if c.down {
				s.kill()
			}
			s.killWrappers(4)
			if c.down {
				s.startReady()
			}
			s.final(id)
			e := s.verify(id, d)
			for n, attempts := range e.attempts {
				if len(attempts) != 2 {
					t.Errorf("local job %d had %d attempts, want 2", n, len(attempts))
					continue
				}
				if v := attempts[0].Verdict; v.Level != c.level || v.Action != jjm.Retry {
					t.Errorf("attempt 0 of local job %d was judged %s %s (%s), want %s retry", n, v.Level, v.Action, v.Text, c.level)
				}
			}
		})
	}
}

// killWrappers kills the wrappers that hold claims.
func (s *site) killWrappers(want int) {
	s.t.Helper()
	claims, err := filepath.Glob(filepath.Join(s.state, "work", "*", "bulks", "*", "claims", "*"))
	if err != nil || len(claims) != want {
		s.t.Fatalf("%d claims, want %d: %v", len(claims), want, err)
	}
	for _, file := range claims {
		text, err := os.ReadFile(file)
		var c jjm.Claim
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		if err == nil && c.PID > 1 {
			err = syscall.Kill(c.PID, syscall.SIGKILL)
		}
		if err != nil {
			s.t.Fatalf("kill the wrapper of %s: %v", file, err)
		}
	}
}

// TestSurvival_FullDisk fills the disk of state and work while local jobs run.
func TestSurvival_FullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t, settings{slots: 4, retry: 20, state: smallDisk(t, "size=24m")})
	before := design{jobs: 12, glf: true, seconds: 2, key: "before", loose: true}
	after := design{jobs: 10, glf: true, mix: "", key: "after"}
	s.startReady()
	first := s.submitted(before)
	s.started(before, 4)

	ballast := fill(t, s.state)
	a, err := client.Call(context.Background(), s.client(), wire.VerbSubmit(),
		wire.SubmitRequest{Submit: &wire.Submit{Name: "survival.toml", Text: after.text(s), BaseDir: s.dir}})
	if err == nil {
		t.Errorf("a grid job was accepted on a full disk: %+v", a.Submit)
	} else if kind := jjm.KindOf(err); kind != jjm.Busy || !saysFull(err.Error()) {
		t.Errorf("on a full disk a submission is refused with %q (%v), want busy, and that the disk is full", err, kind)
	}
	for range 150 { // meanwhile local jobs end, and others try to start
		l := must(s, wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(first.String())}).Lookup[0]
		if l.Error != nil {
			t.Fatalf("lookup on a full disk: %v", l.Error)
		}
		time.Sleep(pollEvery)
	}
	select {
	case <-s.d.done:
		t.Fatalf("the daemon ended on a full disk: %v", s.d.err)
	default:
	}
	if !saysFull(s.logText()) {
		t.Error("the log does not say that the disk is full")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	second := s.submitted(after)
	s.final(first)
	s.final(second)
	s.verify(first, before)
	s.startReady()
	s.verify(second, after)
}

func saysFull(text string) bool {
	return strings.Contains(text, "no space left") || strings.Contains(text, "disk is full") ||
		strings.Contains(text, "full disk")
}

// smallDisk mounts a small file system, which only root can do.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	needs.Root(t, "to mount a small disk")
	dir, err := os.MkdirTemp(shortTemp(), "jjmd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	return needs.Tmpfs(t, dir, options)
}

// fill writes a file until the disk is full to the last block.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zeros := make([]byte, 4096)
	for n := 0; ; n++ {
		if _, err := f.Write(zeros); errors.Is(err, syscall.ENOSPC) {
			return path
		} else if err != nil || n > 1<<16 {
			t.Fatalf("fill the disk with %d blocks: %v", n, err)
		}
	}
}

// TestSurvival_ReadOnlyState starts daemons that cannot write to a path that they need. Each names the path and the
// remedy, and ends.
func TestSurvival_ReadOnlyState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, s *site) (path string)
	}{
		{"folder", func(t *testing.T, s *site) string {
			check(t, os.Chmod(s.state, 0o555))
			return s.state
		}},
		{"store", func(t *testing.T, s *site) string {
			s.startReady()
			s.stop()
			file := filepath.Join(s.state, "store.db")
			check(t, os.Chmod(file, 0o400))
			return file
		}},
		{"work", func(t *testing.T, s *site) string {
			check(t, os.WriteFile(filepath.Join(s.state, "work"), nil, 0o644))
			return filepath.Join(s.state, "work")
		}},
		{"spool", func(t *testing.T, s *site) string {
			dir := filepath.Join(s.state, "clusters")
			check(t, os.Mkdir(dir, 0o555), own(dir, s.uid))
			return dir
		}},
		{"disk", func(t *testing.T, s *site) string {
			needs.Root(t, "to mount a read-only disk")
			check(t, syscall.Mount("tmpfs", s.state, "tmpfs", syscall.MS_RDONLY, ""))
			t.Cleanup(func() { check(t, syscall.Unmount(s.state, syscall.MNT_DETACH)) })
			return s.state
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := settings{slots: 1}
			if os.Getuid() == 0 {
				set.uid = nobody // root can write to everything
			}
			s := newSite(t, set)
			path := c.prepare(t, s)
			_ = os.Truncate(s.log, 0)
			d := s.start("")
			select {
			case <-d.done:
			case <-time.After(aliveWithin):
				t.Fatalf("%s: the daemon serves, although it cannot write %s:\n%s", await.Hung, path, tail(s.logText(), 10))
			}
			log := s.logText()
			if code := d.cmd.ProcessState.ExitCode(); code < 1 {
				t.Errorf("exit code %d, want one of a failure", code)
			}
			if remedy := strings.Contains(log, "make ") || strings.Contains(log, "check "); !remedy ||
				!strings.Contains(log, path) {
				t.Errorf("the daemon does not name %s and what can be done:\n%s", path, log)
			}
			if strings.Count(log, "\n") > 4 || strings.Contains(log, "goroutine") {
				t.Errorf("the daemon says more than people read:\n%s", log)
			}
			_ = os.Chmod(s.state, 0o755)
		})
	}
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// own changes the owner of a folder to the account of the daemon, if that is not the test's.
func own(dir string, uid int) error {
	if uid == 0 {
		return nil
	}
	return os.Chown(dir, uid, uid)
}
