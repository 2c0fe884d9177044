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

// shims is a folder of shell scripts that replace the real commands. Each script records its process id and the ids of
// its children.
type shims struct {
	dir string
	// pids is a file to which each shim that runs adds a line "COMMAND PID". A line "acted 0" means that the real command
	// had ended before the shim failed.
	pids string
}

// fault describes one way in which a command can fail.
type fault struct {
	// body is the text of the shim; "$real" is the real command.
	body string
	// acts is set if the shim runs the real command in spite of the fault.
	acts bool
	// pretends is set if the command exits with 0 without having acted.
	pretends bool
	// empty is set if the command prints nothing and exits with 0.
	empty bool
	// missing is set if the command does not exist.
	missing bool
	// hangs is set if the command runs until a deadline ends it.
	hangs bool
}

// half prints the first half of the real command's output, without a newline after it.
const half = `out=$("$real" "$@"; echo x); printf %s "$out" | head -c $((${#out} / 2)) | { text=$(cat; echo x); text=${text%x}; printf %s "${text%
}"; }`

// faults returns the faults by name.
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

// putShims creates shims in place of the real commands. The commands named in well stay correct: their shims only
// record the run and then run the real command.
func (s *suite) putShims(f fault, well ...string) shims {
	s.Helper()
	dir := s.TempDir()
	sh := shims{dir: filepath.Join(dir, "bin"), pids: filepath.Join(dir, "pids")}
	for path, mode := range map[string]os.FileMode{dir: 0o755, sh.dir: 0o755} {
		if err := os.MkdirAll(path, mode); err != nil {
			s.Fatalf("%v", err)
		}
		if err := os.Chmod(path, mode); err != nil { // independent of the umask
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

// writeProgram writes an executable file. It prevents forks meanwhile: a child process would have the file open for
// writing until its exec, and executing the file would fail with ETXTBSY (execve(2)).
func writeProgram(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o755) // independent of the umask
}

// ran returns the names of the commands that ran, in order. It leaves out the first commands; without is their number.
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

// noLeftovers checks that all processes of the shims end soon.
func (s *suite) noLeftovers(sh shims) {
	s.Helper()
	text, err := os.ReadFile(sh.pids)
	if err != nil {
		s.Fatalf("%v", err)
	}
	for end := time.Now().Add(s.Patience); ; time.Sleep(20 * time.Millisecond) {
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

// lives reports whether a process exists and is not a zombie; only its parent can remove a
// zombie (proc(5), stat).
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
