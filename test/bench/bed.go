package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"jjm/internal/testkit/testbed"
)

// bed is a real batch system of scripts/testbed.
type bed struct {
	name     string
	bin      string            // the folder of its commands
	env      map[string]string // the environment of the commands
	uid, gid int               // the account of the bed's jobs
	user     string
}

// errNoBed is the error of a section if this machine cannot run the real batch systems.
var errNoBed = errors.New("NOT MEASURED: the real batch systems are installed and started as root on Debian only")

// bed starts a test bed and returns its folders and accounts. Like a test, the bench is a user of the bed until the
// section ends. If a bed has no user, the next user removes its jobs or rebuilds it. If alone is set, other users wait
// until the section ends; this is for sections that wait for an empty queue and cancel all jobs. The error is errNoBed
// if the machine has no beds.
func (b *bench) bed(name string, alone bool) (*bed, error) {
	if _, err := os.Stat("/etc/debian_version"); err != nil || os.Geteuid() != 0 {
		return nil, errNoBed
	}
	hold, err := b.enter(name, alone)
	if err != nil {
		return nil, err
	}
	b.holds = append(b.holds, hold)
	script := filepath.Join("scripts", "testbed", name+".sh")
	ask := func(verb string) (string, error) {
		cmd := exec.CommandContext(b.ctx, script, verb)
		cmd.Env = append(os.Environ(), hold.Env()...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%s %s: %w: %s", script, verb, err, out)
		}
		return string(out), err
	}
	if _, err := ask("up"); err != nil {
		return nil, err
	}
	if !alone {
		if err := hold.Share(); err != nil {
			return nil, err
		}
	}
	text, err := ask("env")
	if err != nil {
		return nil, err
	}
	return readBed(name, text)
}

// enter waits until the bench may use a bed, and prints a message while it waits.
func (b *bench) enter(name string, alone bool) (*testbed.Hold, error) {
	type entered struct {
		hold *testbed.Hold
		err  error
	}
	in := make(chan entered, 1)
	go func() { // the goroutine ends with the program if the lock never comes
		h, err := testbed.Enter(name, alone)
		in <- entered{h, err}
	}()
	for {
		select {
		case e := <-in:
			return e.hold, e.err
		case <-b.ctx.Done():
			return nil, b.ctx.Err()
		case <-time.After(5 * time.Second): // pause: between two messages
			b.say("  waiting for the users of the test bed %s", name)
		}
	}
}

// leaveBeds ends the use of the beds that a section used.
func (b *bench) leaveBeds() {
	for _, h := range b.holds {
		_ = h.Leave() // the program's end would release the lock anyway
	}
	b.holds = nil
}

// readBed reads the lines NAME=value that a bed's script prints.
func readBed(name, text string) (*bed, error) {
	d := &bed{name: name, env: map[string]string{}}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch rest, isEnv := strings.CutPrefix(key, "ENV_"); {
		case isEnv:
			d.env[rest] = value
		case key == "BIN":
			d.bin = value
		case key == "OWNER":
			d.user = value
		}
	}
	u, err := user.Lookup(d.user)
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	d.uid, d.gid = uid, gid
	return d, errors.Join(err1, err2)
}

// run runs one of the bed's commands and returns its output and its cost.
func (d *bed) run(b *bench, stdin string, argv ...string) (string, executed, error) {
	cmd := exec.CommandContext(b.ctx, filepath.Join(d.bin, argv[0]), argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	for name, value := range d.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdin, cmd.Dir = strings.NewReader(stdin), "/tmp"
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := executed{wall: time.Since(began)}
	if cmd.ProcessState != nil {
		took.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if err != nil {
		err = fmt.Errorf("%v: %w: %s", argv, err, out)
	}
	return string(out), took, err
}

// daemon starts a daemon whose only cluster is this bed, as the account of the bed's jobs. bin is the folder of the
// batch system's commands: the bed's own commands or shims.
func (d *bed) daemon(b *bench, kind, bin string) (*realDaemon, error) {
	var env []string
	for name, value := range d.env {
		env = append(env, fmt.Sprintf("%s = %q", name, value))
	}
	text := fmt.Sprintf("log = \"warn\"\n[[cluster]]\nname = %q\nkind = %q\nbin = %q\nenv = {%s}\n",
		kind, kind, bin, strings.Join(env, ", "))
	dir, err := os.MkdirTemp("/tmp", "jjm-bench-")
	if err != nil {
		return nil, err
	}
	b.made = append(b.made, dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	j, err := b.startDaemonAs(dir, text, d.credential())
	if err == nil {
		j.bed = d
	}
	return j, err
}
