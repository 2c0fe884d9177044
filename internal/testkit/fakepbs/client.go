package main

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	jjmrun "jjm/internal/sys/run"
)

// request is one command as the server sees it.
type request struct {
	Verb  string
	Args  []string
	Env   map[string]string
	Dir   string
	User  string
	Stdin []byte
}

// response is what the command prints, and its exit code.
type response struct {
	Stdout, Stderr []byte
	Exit           int
	// Die makes the client kill itself before it has printed anything.
	Die bool
	// Endless makes the client print Stdout again and again.
	Endless bool
}

// call is a command of PBS: it passes everything to the server.
func call(dir, verb string, args []string) int {
	if r, out := offline(dir, verb, args); out {
		return deliver(r)
	}
	q := request{Verb: verb, Args: args, Env: environment(), User: caller()}
	q.Dir, _ = os.Getwd()
	if verb == "qsub" && scriptFile(args) == "" {
		q.Stdin, _ = io.ReadAll(os.Stdin)
	}
	r, err := ask(dir, q)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakepbs: no server:", err)
		return 99
	}
	return deliver(r)
}

func deliver(r response) int {
	if r.Die {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	_, _ = os.Stdout.Write(r.Stdout)
	for r.Endless {
		if _, err := os.Stdout.Write(r.Stdout); err != nil {
			return 1
		}
	}
	_, _ = os.Stderr.Write(r.Stderr)
	return r.Exit
}

func environment() map[string]string {
	env := map[string]string{}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return env
}

// caller returns the user who calls, as the kernel knows it; FAKEPBS_USER replaces it in
// tests with several users.
func caller() string {
	if name := os.Getenv("FAKEPBS_USER"); name != "" {
		return name
	}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		return u.Username
	}
	return "u" + strconv.Itoa(os.Getuid())
}

// ask sends a request to the server of a folder, and starts one if there is none.
func ask(dir string, q request) (response, error) {
	var r response
	c, err := dial(dir)
	if err != nil {
		if c, err = start(dir); err != nil {
			return r, err
		}
	}
	defer c.Close()
	if err := gob.NewEncoder(c).Encode(q); err != nil {
		return r, err
	}
	return r, gob.NewDecoder(c).Decode(&r)
}

// dial connects to a socket through its folder's descriptor, because the path of a socket
// may have only 107 bytes.
func dial(dir string) (net.Conn, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/socket", f.Fd()))
}

// start makes sure that exactly one server runs; a lock guards that.
func start(dir string) (net.Conn, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "starting"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, err
	}
	if c, err := dial(dir); err == nil {
		return c, nil
	}
	if err := launch(dir); err != nil {
		return nil, err
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if c, err := dial(dir); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("the server in %s did not come up; see its file log", dir)
}

// launch starts the server of a folder.
func launch(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	p, err := jjmrun.Detach(jjmrun.Detached{
		Argv: []string{self, "serve"}, Dir: "/", Env: os.Environ(), Stdout: log, Stderr: log,
	})
	if err != nil {
		return err
	}
	return p.Close()
}

// stop ends the server of a folder, if there is one, and waits until its jobs have ended.
func stop(dir string) error {
	c, err := dial(dir)
	if err != nil {
		return nil
	}
	defer c.Close()
	if err := gob.NewEncoder(c).Encode(request{Verb: "stop"}); err != nil {
		return err
	}
	if err := gob.NewDecoder(c).Decode(&response{}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
