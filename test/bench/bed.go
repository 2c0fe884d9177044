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
	"syscall"
	"time"
)

// bed is a real batch system of scripts/testbed.
type bed struct {
	bin      string            // the folder of its commands
	env      map[string]string // of its commands
	uid, gid int               // of its jobs
	user     string
}

// errNoBed is why the batch systems are not measured here.
var errNoBed = errors.New("NOT MEASURED: the real batch systems are installed and started as root on Debian only")

// bed starts a test bed and asks where everything is.
func (b *bench) bed(name string) (*bed, error) {
	if _, err := os.Stat("/etc/debian_version"); err != nil || os.Geteuid() != 0 {
		return nil, errNoBed
	}
	script := filepath.Join("scripts", "testbed", name+".sh")
	for _, verb := range []string{"up", "env"} {
		out, err := exec.CommandContext(b.ctx, script, verb).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w: %s", script, verb, err, out)
		}
		if verb == "env" {
			return readBed(string(out))
		}
	}
	return nil, nil
}

// readBed reads the lines NAME=value that a bed's script prints.
func readBed(text string) (*bed, error) {
	d := &bed{env: map[string]string{}}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch rest, isEnv := strings.CutPrefix(name, "ENV_"); {
		case isEnv:
			d.env[rest] = value
		case name == "BIN":
			d.bin = value
		case name == "OWNER":
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

// run runs one of the bed's commands and gives what it printed and how long it
// took.
func (d *bed) run(b *bench, stdin string, argv ...string) (string, time.Duration, error) {
	cmd := exec.CommandContext(b.ctx, filepath.Join(d.bin, argv[0]), argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	for name, value := range d.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdin, cmd.Dir = strings.NewReader(stdin), "/tmp"
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	if err != nil {
		err = fmt.Errorf("%v: %w: %s", argv, err, out)
	}
	return string(out), took, err
}

// daemon starts a daemon whose only cluster is this bed, as the account of its
// jobs. bin is the folder of the commands, the bed's own or one of shims.
func (d *bed) daemon(b *bench, kind, bin string) (*realDaemon, error) {
	var env []string
	for name, value := range d.env {
		env = append(env, fmt.Sprintf("%s = %q", name, value))
	}
	text := fmt.Sprintf("log = \"error\"\n[[cluster]]\nname = %q\nkind = %q\nbin = %q\nenv = {%s}\n",
		kind, kind, bin, strings.Join(env, ", "))
	dir, err := os.MkdirTemp("/tmp", "jjm-bench-")
	if err != nil {
		return nil, err
	}
	b.made = append(b.made, dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	return b.startDaemonAs(dir, text, &syscall.Credential{Uid: uint32(d.uid), Gid: uint32(d.gid)})
}
