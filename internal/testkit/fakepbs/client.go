package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	jjmrun "jjm/internal/sys/run"
	"jjm/internal/testkit/await"
)

// Request is a command for the server.
type Request struct {
	Verb       string
	Args       []string
	User       string
	Home, Zone string // HOME and TZ
	Stdin      []byte
}

// Response holds the output of a command and its exit code.
type Response struct {
	Stdout, Stderr []byte
	Exit           int
	Endless        bool // the client prints Stdout again and again
}

// call carries out a command of PBS and returns its exit code. The server answers all commands, except --version and
// commands that do not reach the server because of a fault.
func call(dir, verb string, args []string) int {
	if slices.Equal(args, []string{"--version"}) {
		fmt.Println("pbs_version = " + version)
		return 0
	}
	r, out := offline(dir, verb, args)
	if !out {
		q := Request{Verb: verb, Args: args, User: caller(), Home: os.Getenv("HOME"), Zone: os.Getenv("TZ")}
		if verb == "qsub" {
			q.Stdin, _ = io.ReadAll(os.Stdin)
		}
		if err := ask(dir, q, &r); err != nil {
			fmt.Fprintln(os.Stderr, "fakepbs: no server:", err)
			return 99
		}
	}
	if fault(dir, verb+"-killed") {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	for again := true; again; again = r.Endless {
		if _, err := os.Stdout.Write(r.Stdout); err != nil {
			return 1
		}
	}
	_, _ = os.Stderr.Write(r.Stderr)
	return r.Exit
}

// caller returns the name of the calling user: the value of FAKEPBS_USER, which tests with several users set, or else
// the name of this process's user.
func caller() string {
	name := os.Getenv("FAKEPBS_USER")
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	return name
}

// ask sends a request to the server of a folder and stores the response in r. If there is no server, ask starts one. If
// several commands start a server, only the server that gets the address first stays.
func ask(dir string, q Request, r *Response) error {
	c, err := rpc.Dial("unix", socket(dir))
	if err != nil {
		if err := launch(dir); err != nil {
			return err
		}
	}
	for end := time.Now().Add(await.Guard(2 * time.Minute)); err != nil && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		c, err = rpc.Dial("unix", socket(dir))
	}
	if err != nil {
		return fmt.Errorf("it did not come up in %s (see its file log): %w", dir, err)
	}
	defer c.Close()
	return c.Call("PBS.Do", q, r)
}

// socket returns the server's address. The address is an abstract name instead of a file, because the path of a socket
// may have only 107 bytes.
func socket(dir string) string { return fmt.Sprintf("@fakepbs-%x", sha256.Sum224([]byte(dir))) }

func launch(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "faults"), 0o777); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	p, err := jjmrun.Detach(jjmrun.Detached{
		Argv: []string{"/proc/self/exe", "serve"}, Dir: "/", Env: os.Environ(), Stdout: log, Stderr: log,
	})
	if err != nil {
		return err
	}
	return p.Close()
}

// stop ends the server of a folder, if there is one. The server closes the connection when its jobs have ended.
func stop(dir string) error {
	c, err := rpc.Dial("unix", socket(dir))
	if err != nil {
		return nil
	}
	defer c.Close()
	if err := c.Call("PBS.Stop", Request{}, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return nil
}
