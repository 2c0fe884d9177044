package main

import (
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	jjmrun "jjm/internal/sys/run"
)

// request is the request of one command to the server.
type request struct {
	Verb       string
	Args       []string
	User       string
	Home, Zone string // HOME and TZ
	Stdin      []byte
}

// response holds the output of the command and its exit code.
type response struct {
	Stdout, Stderr []byte
	Exit           int
	// Endless makes the client print Stdout again and again.
	Endless bool
}

// call carries out a command of PBS and returns its exit code. The server answers every command, except
// --version and commands that a fault keeps from the server.
func call(dir, verb string, args []string) int {
	if slices.Equal(args, []string{"--version"}) {
		fmt.Println("pbs_version = " + version)
		return 0
	}
	r, out := offline(dir, verb, args)
	if !out {
		q := request{Verb: verb, Args: args, User: caller(), Home: os.Getenv("HOME"), Zone: os.Getenv("TZ")}
		if verb == "qsub" {
			q.Stdin, _ = io.ReadAll(os.Stdin)
		}
		var err error
		if r, err = ask(dir, q); err != nil {
			fmt.Fprintln(os.Stderr, "fakepbs: no server:", err)
			return 99
		}
	}
	if fault(dir, verb+"-killed") {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return r.deliver()
}

// deliver prints a response and returns the exit code.
func (r response) deliver() int {
	_, _ = os.Stdout.Write(r.Stdout)
	for r.Endless {
		if _, err := os.Stdout.Write(r.Stdout); err != nil {
			return 1
		}
	}
	_, _ = os.Stderr.Write(r.Stderr)
	return r.Exit
}

// caller returns the value of FAKEPBS_USER, which tests with several users set, or else the name of this process' user.
func caller() string {
	if name := os.Getenv("FAKEPBS_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "u" + strconv.Itoa(os.Getuid())
}

// ask sends a request to the server of a folder, and starts one if there is none. If several
// commands start one, the first that has the address stays.
func ask(dir string, q request) (response, error) {
	c, err := dial(dir)
	if err != nil {
		if err := launch(dir); err != nil {
			return response{}, err
		}
	}
	for tries := 0; err != nil && tries < 6000; tries++ {
		time.Sleep(5 * time.Millisecond)
		c, err = dial(dir)
	}
	if err != nil {
		return response{}, fmt.Errorf("it did not come up in %s (see its file log): %w", dir, err)
	}
	defer c.Close()
	return exchange(c, q)
}

func exchange(c net.Conn, q request) (r response, err error) {
	if err := gob.NewEncoder(c).Encode(q); err != nil {
		return r, err
	}
	return r, gob.NewDecoder(c).Decode(&r)
}

// dial connects to the server of a folder.
func dial(dir string) (net.Conn, error) { return net.Dial("unix", socket(dir)) }

// socket returns the server's address. It is abstract, not a file, because the path of a socket may have only 107
// bytes.
func socket(dir string) string { return fmt.Sprintf("@fakepbs-%x", sha256.Sum224([]byte(dir))) }

// launch starts the server of a folder.
func launch(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
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

// stop ends the server of a folder, if there is one, and waits until the server closes the connection. The server does
// that when its jobs have ended.
func stop(dir string) error {
	c, err := dial(dir)
	if err != nil {
		return nil
	}
	defer c.Close()
	if _, err := exchange(c, request{Verb: "stop"}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
