package main

import (
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"syscall"
)

// childWord is the hidden command: "bench child".
const childWord = "child"

// profileEnv names the folder of CPU profiles.
const profileEnv = "JJM_BENCH_PROFILE"

// pipe connects bench and child.
type pipe struct {
	io.Reader
	io.WriteCloser
}

// childMain serves calls until the bench closes the pipe, and returns the exit code.
func childMain() int {
	err := try(func() {
		if dir := os.Getenv(profileEnv); dir != "" {
			f := must(os.Create(filepath.Join(dir, fmt.Sprintf("child-%d.pprof", os.Getpid()))))
			check(pprof.StartCPUProfile(f))
			defer pprof.StopCPUProfile()
		}
		site, server := &Site{}, rpc.NewServer()
		check(errors.Join(server.Register(site), server.Register(&Tarrer{}), server.Register(&Cutter{})))
		server.ServeConn(pipe{os.Stdin, os.Stdout})
		check(site.close())
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: child:", err)
		return exitError
	}
	return exitOK
}

// inChild starts a child, calls do, and ends the child.
func (b *bench) inChild(do func(*rpc.Client)) {
	cmd := exec.CommandContext(b.ctx, must(os.Executable()), childWord)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // the kernel kills the child when its parent ends
	c := pipe{must(cmd.StdoutPipe()), must(cmd.StdinPipe())}
	check(cmd.Start())
	client := rpc.NewClient(c)
	err := try(func() { do(client) })
	check(errors.Join(err, client.Close(), cmd.Wait()))
}

// ask calls a method of a child and returns its answer.
func ask[T any](c *rpc.Client, method string, arg any) (answer T) {
	check(c.Call(method, arg, &answer))
	return answer
}
