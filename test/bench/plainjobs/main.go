// Command plainjobs does only the necessary work that jjm does for a local job, for the program /bin/true. A wrapper
// claims the job, makes its folder, runs the program, and reports with one sync. A spawner runs as many wrappers at the
// same time as there are processors, and reads their reports. The program checks nothing, survives no crash and keeps
// no history. The bench compares it with jjm's wrapper and daemon in the same run, because machines differ by a factor
// of two.
//
//	plainjobs run DIR N         the wrapper of job N below DIR
//	plainjobs spawn DIR COUNT   all jobs; prints the CPU per job in milliseconds, as JSON
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// spent is the output of spawn: the CPU time per job in milliseconds, of the wrapper including /bin/true, and of the
// spawner.
type spent struct {
	Wrapper, Spawner float64
}

func main() {
	if err := do(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plainjobs:", err)
		os.Exit(1)
	}
}

func do(args []string) error {
	if len(args) == 3 {
		n, err := strconv.Atoi(args[2])
		switch {
		case err != nil:
			return err
		case args[0] == "run":
			return wrap(args[1], n)
		case args[0] == "spawn":
			return spawn(args[1], n)
		}
	}
	return errors.New("want: run DIR N, or spawn DIR COUNT")
}

// assignment is the input of the wrapper, and result its report.
type assignment struct {
	Argv []string          `json:"argv"`
	Env  map[string]string `json:"env"`
}

type result struct {
	Claim   claim  `json:"claim"`
	Started string `json:"started"`
	Ended   string `json:"ended"`
	Exit    int    `json:"exit"`
	UserMS  int64  `json:"user_ms"`
	SysMS   int64  `json:"sys_ms"`
	RSSKB   int64  `json:"rss_kb"`
	Log     string `json:"log"`
}

type claim struct {
	Holder string `json:"holder"`
	Host   string `json:"host"`
	PID    int    `json:"pid"`
	Time   string `json:"time"`
}

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// wrap runs one job.
func wrap(dir string, n int) error {
	runtime.GOMAXPROCS(1)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	var job assignment
	text, err := root.ReadFile("assign.json")
	if err = errors.Join(err, json.Unmarshal(text, &job)); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	r := result{Claim: claim{"wrapper", host, os.Getpid(), now()}, Started: now()}
	if err := take(root, n, r.Claim); err != nil {
		return err
	}
	work := fmt.Sprintf("jobs/%d/attempt/work", n)
	if err := root.MkdirAll(work, 0o700); err != nil {
		return err
	}
	attempt, err := root.OpenRoot(filepath.Dir(work))
	if err != nil {
		return err
	}
	r.Log = now() + " INFO start\n"
	if err := errors.Join(attempt.WriteFile("log", []byte(r.Log), 0o600),
		attempt.WriteFile("heartbeat", []byte(now()+"\n"), 0o600)); err != nil {
		return err
	}
	if err := execute(attempt, filepath.Join(dir, work), &job, &r); err != nil {
		return err
	}
	r.Ended = now()
	r.Log += now() + " SUCCEEDED -\n" + now() + " INFO end\n"
	if err := attempt.WriteFile("log", []byte(r.Log), 0o600); err != nil {
		return err
	}
	return report(root, n, &r)
}

// take claims a job: only one of several processes can make the link.
func take(root *os.Root, n int, c claim) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	temp, name := fmt.Sprintf("claims/.tmp-%d", n), fmt.Sprintf("claims/%d", n)
	return errors.Join(root.WriteFile(temp, text, 0o600), root.Link(temp, name), root.Remove(temp))
}

// execute runs the program to its end.
func execute(attempt *os.Root, work string, job *assignment, r *result) error {
	cmd := exec.Command(job.Argv[0], job.Argv[1:]...)
	cmd.Dir, cmd.Env = work, os.Environ()
	for name, value := range job.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stdout, err1 := attempt.Create("stdout")
	stderr, err2 := attempt.Create("stderr")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := errors.Join(err1, err2)
	if err == nil {
		err = cmd.Run()
	}
	var u syscall.Rusage
	err = errors.Join(err, stdout.Close(), stderr.Close(), syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
	if err != nil {
		return err
	}
	r.Exit, r.UserMS, r.SysMS, r.RSSKB = cmd.ProcessState.ExitCode(), u.Utime.Nano()/1e6, u.Stime.Nano()/1e6, u.Maxrss
	return nil
}

// report writes the result completely or not at all.
func report(root *os.Root, n int, r *result) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temp := fmt.Sprintf("done/.tmp-%d", n)
	f, err := root.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close(), root.Rename(temp, fmt.Sprintf("done/%d.json", n)))
}

// spawn runs all jobs, and reads their reports.
func spawn(dir string, count int) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range []string{"claims", "done", "jobs"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	text, err := json.Marshal(assignment{Argv: []string{"/bin/true"}, Env: map[string]string{"PLAIN": "1"}})
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "assign.json"), text, 0o600)); err != nil {
		return err
	}
	var (
		spawners sync.WaitGroup
		failed   = make([]error, runtime.NumCPU())
	)
	for first := range failed {
		spawners.Go(func() {
			for n := first; n < count && failed[first] == nil; n += len(failed) {
				failed[first] = one(program, dir, n)
			}
		})
	}
	spawners.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	var children, self syscall.Rusage
	if err := errors.Join(syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children),
		syscall.Getrusage(syscall.RUSAGE_SELF, &self)); err != nil {
		return err
	}
	per := func(u syscall.Rusage) float64 { return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6 / float64(count) }
	return json.NewEncoder(os.Stdout).Encode(spent{per(children), per(self)})
}

// one starts the wrapper of a job, waits for its end, and reads its result.
func one(program, dir string, n int) error {
	out, err := exec.Command(program, "run", dir, strconv.Itoa(n)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("job %d: %w: %s", n, err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "done", strconv.Itoa(n)+".json"))
	if err != nil {
		return err
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil || r.Exit != 0 {
		return fmt.Errorf("job %d: exit %d, %w", n, r.Exit, err)
	}
	return nil
}
