package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/programs"
)

// daemon is a real daemon in a separate folder.
type daemon struct {
	b      *bench
	cmd    *exec.Cmd
	state  string
	client client.Client
}

// onDaemon starts jjm-daemon with a configuration, as an account, in a separate folder below dir, calls do, and ends
// the daemon. If do fails, it describes the daemon, and the folder stays.
//
// The folder stays until the end of the run anyway, because ext4 without a journal checks every inode that was deleted
// in the last minute before it makes a new inode (recently_deleted in fs/ext4/ialloc.c of Linux). The check would count
// as CPU time of the next run.
func (b *bench) onDaemon(dir, config string, as *syscall.Credential, do func(*daemon)) {
	state := must(os.MkdirTemp(dir, "daemon-"))
	path := filepath.Join(state, "jjm.toml")
	check(os.WriteFile(path, []byte("log = \"warn\"\n"+config), 0o644))
	if as != nil {
		check(os.Chown(state, int(as.Uid), int(as.Gid)))
	}
	log := must(os.Create(filepath.Join(state, "daemon.log")))
	d := &daemon{b: b, state: state, client: client.Client{Socket: filepath.Join(state, "jjm.sock")}}
	d.cmd = exec.CommandContext(b.ctx, filepath.Join(b.bin, "jjm-daemon"), "serve")
	d.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + state, "JJM_STATE=" + state, "JJM_CONFIG=" + path}
	d.cmd.Stderr, d.cmd.SysProcAttr = log, &syscall.SysProcAttr{Setsid: true, Credential: as}
	check(d.cmd.Start())
	err := try(func() {
		await.True(b, "the daemon answers", func() bool {
			_, err := client.Call(b.ctx, &d.client, wire.VerbPing(), wire.PingRequest{})
			return err == nil
		})
		do(d)
	})
	if err != nil && b.ctx.Err() == nil {
		err = d.explain(err)
	}
	// A service manager ends the daemon in the same way.
	check(errors.Join(err, d.cmd.Process.Signal(syscall.SIGTERM), d.cmd.Wait(), log.Close()))
}

// explain describes what is not over and keeps the daemon's folder. It returns err with the name of the folder.
func (d *daemon) explain(err error) error {
	for _, args := range [][]string{{"list"}, {"clusters"}} {
		cmd := exec.CommandContext(d.b.ctx, filepath.Join(d.b.bin, "jjm"), args...)
		cmd.Env = append(os.Environ(), "JJM_STATE="+d.state)
		out, err := cmd.CombinedOutput()
		const most = 4000 // bytes
		d.b.say("jjm %s, %v:\n%s", args[0], err, out[:min(len(out), most)])
	}
	d.b.say("the end of its log:\n%s", programs.LogEnd(filepath.Join(d.state, "daemon.log")))
	d.b.keep(d.state)
	return fmt.Errorf("%w; the daemon's folder stays: %s", err, d.state)
}

func (d *daemon) pid() int { return d.cmd.Process.Pid }

func (d *daemon) peakMB() float64 { return peakMB(strconv.Itoa(d.pid())) }

// request sends a request to the daemon and returns the answer.
func request[Req wire.Request, Ans wire.Answer](d *daemon, v wire.Verb[Req, Ans], req Req) Ans {
	return must(client.Call(d.b.ctx, &d.client, v, req))
}

// submit submits a job file and returns the id. If the daemon runs as another account, that account owns the grid job,
// although root submits it.
func (d *daemon) submit(text string) string {
	return request(d, wire.VerbSubmit(), wire.SubmitRequest{
		Submit: &wire.Submit{Name: "job.toml", Text: text, BaseDir: d.state}}).Submit.ID.String()
}

// script returns a job file that runs a command count times, in a queue unless queue is "".
func script(count int, queue string, command ...string) string {
	if queue != "" {
		queue = fmt.Sprintf("[request]\nqueue = %q\n", queue)
	}
	return fmt.Sprintf("type = \"script\"\nname = \"bench\"\n%s[params]\ncommand = [\"%s\"]\ncount = %d\n", queue,
		strings.Join(command, `", "`), count)
}

// finish submits a job file, waits until the grid job is done, and returns how long that took.
func (d *daemon) finish(text string) time.Duration {
	began, status := time.Now(), ""
	req := wire.WaitRequest{Many: wire.Refs(d.submit(text))}
	check(client.Watch(d.b.ctx, &d.client, wire.VerbWait(), req, func(a wire.StatusAnswer) error {
		status = a.Status[0].Lookup.Status
		return nil
	}))
	if status != jjm.Done.String() {
		check(fmt.Errorf("the grid job is %s", status))
	}
	return time.Since(began) // figure: for the table of make bench
}

func (d *daemon) lookup(id string) wire.Lookup {
	l := request(d, wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(id)}).Lookup[0]
	check(l.Error.Err())
	return l
}

// until waits until the counts of a grid job are as wanted.
func (d *daemon) until(id, what string, ok func(wire.Counts) bool) {
	d.b.until(what, func() bool { return ok(d.lookup(id).Counts) })
}

// kill kills a grid job, and returns how long the answer took, and the end of the grid job.
func (d *daemon) kill(id string) (answered, over time.Duration) {
	began := time.Now()
	check(request(d, wire.VerbKill(), wire.KillRequest{Many: wire.Refs(id)}).Kill[0].Error.Err())
	answered = time.Since(began)
	d.b.until("the killed grid job is over", func() bool {
		var st jjm.GridStatus
		check(st.UnmarshalText([]byte(d.lookup(id).Status)))
		return st.Final()
	})
	return answered, time.Since(began)
}
