package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// running submits a job of mallory's that keeps running. It returns the grid job and the folder of its bulk.
func (s *siege) running() (id, bulk string) {
	s.t.Helper()
	id = s.Submit(s.mallory, site.Script("sleep 3600"))
	s.Until("mallory's job runs", func() bool {
		claims, _ := filepath.Glob(s.Dir + "/s/work/" + s.mallory.Name + "/bulks/*/claims/*")
		if len(claims) > 0 {
			bulk = filepath.Dir(filepath.Dir(claims[0]))
		}
		return bulk != "" && len(s.mallory.Processes("sleep")) > 0
	})
	return id, bulk
}

// mute mounts file systems of mallory's that never answer. asked returns an error if a file system is not mounted or
// answers.
func (s *siege) mute(on ...string) (asked func() error) {
	s.t.Helper()
	var all []*needs.FUSE
	for _, path := range on {
		f := needs.MountFUSE(s.t, path, s.mallory.UID)
		f.Freeze()
		all = append(all, f)
	}
	return func() error {
		mounts, err := os.ReadFile("/proc/self/mounts")
		if err != nil {
			return err
		}
		for _, path := range on {
			if !strings.Contains(string(mounts), " "+path+" fuse ") {
				return fmt.Errorf("nothing is mounted on %s", path)
			}
		}
		for i := range all {
			if err := silent(on[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// silent returns an error if stat(1) of a path ends, because the file system then answers.
func silent(path string) error {
	ctx, cancel := context.WithCancel(context.Background())
	look := exec.CommandContext(ctx, "/bin/stat", path)
	if err := look.Start(); err != nil {
		cancel()
		return err
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = look.Wait() }()
	defer cancel()
	for range 1000 {
		select {
		case <-ended:
			return fmt.Errorf("%s answers", path)
		default:
		}
		wchan, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", look.Process.Pid))
		if strings.Contains(string(wchan), "request_wait_answer") || strings.HasPrefix(string(wchan), "fuse") {
			return nil
		}
		runtime.Gosched()
	}
	return nil // the call has not returned
}

// Mallory mounts file systems that never answer on every folder of hers that the daemon opens: the folders of her bulk
// and her area. She also mounts one on the end record of her job.
func TestFiles_FileSystemsThatAnswerNothingAsOwner(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	s := besiege(t, site.Settings{RunAs: "owner"})
	var asked func() error
	s.withstands(attack{
		name: "FUSE that answers nothing on all folders of an area",
		begin: func() {
			_, bulk := s.running()
			ends, err := filepath.Glob(s.Dir + "/s/*/*/*/*/end")
			s.Must(err)
			more, err := filepath.Glob(s.Dir + "/s/*/*/*/end")
			s.Must(err)
			area := s.Dir + "/s/work/" + s.mallory.Name
			on := []string{}
			for _, end := range append(ends, more...) {
				if info, err := os.Stat(end); err == nil && owned(info, s.mallory.UID) {
					on = append(on, end)
				}
			}
			if len(on) == 0 {
				s.t.Fatal("no folder of end records is found")
			}
			on = append(on, bulk+"/done", bulk+"/progress", bulk+"/claims", area+"/jobs", area)
			asked = s.mute(on...)
		},
		inForce: func() error { return asked() },
		end:     func() { s.inForce(attack{name: "at the end", inForce: asked}) },
	})
}

// If all jobs run as a service account, mallory owns no work area. Her file systems that never answer are on her inputs
// and on the files that she drops.
func TestFiles_FileSystemsThatAnswerNothingAsService(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	service := site.Account(t)
	s := besiege(t, site.Settings{RunAs: "service", As: service, Gate: `mode = "0666"`})
	var asked func() error
	s.withstands(attack{
		name: "FUSE that answers nothing on inputs and dropped files",
		begin: func() {
			drop, home := s.drop(), s.Home(s.mallory)
			s.Must(os.Chmod(home, 0o755))
			s.Must(os.Mkdir(home+"/data", 0o755))
			s.Must(os.Chown(home+"/data", s.mallory.UID, s.mallory.GID))
			s.Stop() // otherwise the daemon takes the file before anything is mounted on it
			dropped := filepath.Join(drop, "mine.xml")
			s.Must(os.WriteFile(dropped, nil, 0o644))
			s.Must(os.Chown(dropped, s.mallory.UID, s.mallory.GID))
			asked = s.mute(home+"/data", dropped)
			s.Start()
			s.refused(full(20, 4), site.Script("true", "[[inputs]]", "path = "+strconv.Quote(home+"/data/file")),
				"a file system of uid")
		},
		inForce: func() error { return asked() },
		end:     func() { s.inForce(attack{name: "at the end", inForce: asked}) },
	})
}

// refused makes mallory submit a job file n times in parallel. Each submission is refused, and the error contains why.
func (s *siege) refused(n int, job, why string) {
	s.t.Helper()
	file := filepath.Join(s.Home(s.mallory), "refused.toml")
	s.Must(os.WriteFile(file, []byte(job), 0o644))
	answers := make(chan error, n)
	for range n {
		go func() {
			_, err := s.JJM(s.mallory, "submit", file)
			answers <- err
		}()
	}
	for range n {
		select {
		case err := <-answers:
			if err == nil || !strings.Contains(err.Error(), why) {
				s.t.Fatalf("submit: %v: want %q", err, why)
			}
		case <-time.After(hang):
			s.t.Fatal("a submission is not answered, " + await.Hung)
		}
	}
}

// drop returns the folder in which accounts leave fragments.
func (s *siege) drop() string {
	s.t.Helper()
	var found string
	s.Must(filepath.WalkDir(s.Dir+"/s", func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode()&os.ModeSticky != 0 && filepath.Base(path) != "spool" {
			found = path
		}
		return nil
	}))
	if found == "" {
		s.t.Fatal("there is no drop folder")
	}
	return found
}

// Mallory replaces files and folders by pipes, links and other folders, swaps them in a loop, and holds leases on her
// files.
func TestFiles_PipesLinksLeasesAndSwappedFolders(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	s := besiege(t, site.Settings{RunAs: "owner"})
	var swapper *exec.Cmd
	var leases []*os.File
	s.withstands(attack{
		name: "FIFOs, links, leases, folders swapped in a loop",
		begin: func() {
			_, bulk := s.running()
			area := s.Dir + "/s/work/" + s.mallory.Name
			for _, name := range []string{bulk + "/assign"} {
				leases = append(leases, s.lease(name))
			}
			swapper = s.mallory.As("/bin/sh", "-c", swap, "sh", area, bulk)
			s.Must(swapper.Start())
			s.Until("folders are swapped", func() bool {
				_, err := os.Lstat(bulk + "/swapped")
				return err == nil
			})
			for range full(50, 5) {
				s.Submit(s.mallory, site.Script("echo x"))
			}
		},
		inForce: func() error {
			if len(s.mallory.Processes("sh")) == 0 {
				return errors.New("nobody swaps folders")
			}
			return nil
		},
		end: func() {
			s.mallory.KillAll()
			_ = swapper.Wait()
			for _, f := range leases {
				f.Close()
			}
		},
	})
}

// swap is a script that replaces an area's folders and files by other things, in a loop.
const swap = `cd "$2" || exit 1
mkfifo done/0.json done/1.json progress/0 pipe; ln -s /dev/zero done/2.json; ln -s /etc/shadow progress/1
ln -s /proc/self/mem done/3.json; mkdir done/4.json
for f in job.glf stdout stderr heartbeat; do for d in "$1"/jobs/*/*/*/attempt.0; do rm -f "$d/$f"; mkfifo "$d/$f"; done; done
for d in "$1"/jobs/*; do ln -s / "$d/output"; done
while :; do
	for d in done progress claims; do
		mv $d $d.real; ln -s /etc $d; : >swapped; rm $d; mkfifo $d; rm $d; mv $d.real $d
	done
	mv "$1/jobs" "$1/jobs.real"; mkfifo "$1/jobs"; rm "$1/jobs"; mv "$1/jobs.real" "$1/jobs"
	sleep 0.02
done`

// lease takes a write lease on a file of mallory's, which only its owner can do.
func (s *siege) lease(name string) *os.File {
	s.t.Helper()
	var f *os.File
	s.Must(needs.As(s.mallory.UID, func() (err error) {
		if f, err = os.OpenFile(name, os.O_RDWR, 0); err != nil {
			return err
		}
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
		return err
	}))
	return f
}

func owned(info os.FileInfo, uid int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}
