package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"jjm/adapters"
)

// shims is a folder of scripts of sh(1) that stand before the real commands.
// Each notes its process id and those of its children.
type shims struct {
	dir string
	// pids has a line "COMMAND PID" for each that ran, and "acted 0" where the
	// real command had ended before the shim went wrong.
	pids string
}

// fault is a way for a command to go wrong.
type fault struct {
	// body is run by each shim; "$real" is the real command.
	body string
	// acts is set where the real command runs all the same.
	acts bool
	// pretends is set where the command ends with 0 and has done nothing.
	pretends bool
	// empty is set where nothing is printed and the exit code is 0.
	empty bool
	// missing is set where there is no command at all.
	missing bool
	// hangs is set where only a deadline ends it.
	hangs bool
}

// half prints the first half of what the real command prints, without a line
// end after it.
const half = `out=$("$real" "$@"; echo x); printf %s "$out" | head -c $((${#out} / 2)) | { text=$(cat; echo x); text=${text%x}; printf %s "${text%
}"; }`

// faults are the ways to go wrong, by name.
func faults() map[string]fault {
	return map[string]fault{
		"hangs":      {body: `sleep 300 & echo "sleep $!" >>"$pids"; wait $!`, hangs: true},
		"hangs late": {body: `"$real" "$@" >/dev/null 2>&1; echo "acted 0" >>"$pids"; sleep 300 & echo "sleep $!" >>"$pids"; wait $!`, acts: true, hangs: true},
		"banner out": {body: `echo 'Welcome to the cluster. 7 nodes are down on Monday.'; exec "$real" "$@"`, acts: true},
		"banner err": {body: `echo 'WARNING: 3 daemons are being upgraded' >&2; exec "$real" "$@"`, acts: true},
		"garbage":    {body: `printf 'x7\001\377 <no> {"an": answer\n\n42 |'`, pretends: true},
		"lost reply": {body: `"$real" "$@" >/dev/null 2>&1; exit 137`, acts: true},
		"killed":     {body: half + `; kill -KILL $$`, acts: true},
		"fails":      {body: `"$real" "$@"; exit 1`, acts: true},
		"refuses":    {body: `echo 'cannot connect to the server: Connection refused' >&2; exit 1`},
		"empty":      {body: `exit 0`, pretends: true, empty: true},
		"cut":        {body: half, acts: true},
		"missing":    {missing: true},
	}
}

// before makes shims before the real commands; those named in well only count.
func (s *suite) before(f fault, well ...string) shims {
	s.Helper()
	dir := s.TempDir()
	sh := shims{dir: filepath.Join(dir, "bin"), pids: filepath.Join(dir, "pids")}
	for path, mode := range map[string]os.FileMode{dir: 0o755, sh.dir: 0o755} {
		if err := os.MkdirAll(path, mode); err != nil {
			s.Fatalf("%v", err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			s.Fatalf("%v", err)
		}
	}
	if err := os.WriteFile(sh.pids, nil, 0o666); err != nil {
		s.Fatalf("%v", err)
	}
	for _, name := range s.Commands {
		body := f.body
		if slices.Contains(well, name) {
			body = `exec "$real" "$@"`
		} else if f.missing {
			continue
		}
		text := fmt.Sprintf("#!/bin/sh\nreal=%s\npids=%s\necho %s $$ >>\"$pids\"\n%s\n",
			adapters.Quote(filepath.Join(s.Bin, name)), adapters.Quote(sh.pids), adapters.Quote(name), body)
		if err := writeProgram(filepath.Join(sh.dir, name), text); err != nil {
			s.Fatalf("%v", err)
		}
	}
	return sh
}

// writeProgram writes an executable file, and no process is forked meanwhile:
// the child would hold it open until its exec, and nobody could run it then
// (execve(2), ETXTBSY).
func writeProgram(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o755) // whatever the umask
}

// ran lists the commands that ran, without the first ones.
func (sh shims) ran(without int) []string {
	text, _ := os.ReadFile(sh.pids)
	var names []string
	for line := range bytes.Lines(text) {
		if name, _, ok := strings.Cut(string(line), " "); ok {
			names = append(names, name)
		}
	}
	return names[without:]
}

// leftovers wants all processes of the shims to be gone soon.
func (s *suite) leftovers(sh shims) {
	s.Helper()
	text, err := os.ReadFile(sh.pids)
	if err != nil {
		s.Fatalf("%v", err)
	}
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := ""
		for line := range strings.Lines(string(text)) {
			name, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
			if n, err := strconv.Atoi(pid); err == nil && lives(n) {
				left += " " + name + " " + pid
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(end) {
			s.Errorf("processes of the commands were left:%s", left)
			return
		}
	}
}

// lives reports whether a process exists and is more than a zombie, which only
// its parent can take away (proc(5), stat).
func lives(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, ok := strings.Cut(string(stat), ") ")
	return ok && !strings.HasPrefix(after, "Z")
}
