// Command plainjobs does only the necessary work that jjm does for a local job, for the program /bin/true. A wrapper
// claims the job, makes its folder, runs the program, and reports with one sync. A spawner runs as many wrappers at the
// same time as there are processors, and reads their reports. The program checks nothing, survives no crash and keeps
// no history. The bench compares it with jjm's wrapper and daemon in the same run, because machines differ by a factor
// of two.
//
//	plainjobs run DIR N         the wrapper of job N below DIR
//	plainjobs spawn DIR COUNT   all jobs; prints the CPU per job in milliseconds, as JSON
//
// Any error ends the program.
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

func main() {
	do := map[string]func(dir string, n int){"run": wrap, "spawn": spawn}
	do[os.Args[1]](os.Args[2], must(strconv.Atoi(os.Args[3])))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "plainjobs:", err)
		os.Exit(1)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

// assignment is the input of the wrapper, and result its report.
type assignment struct {
	Argv []string
	Env  map[string]string
}

type result struct {
	Claim                claim
	Started, Ended, Log  string
	Exit                 int
	UserMS, SysMS, RSSKB int64
}

type claim struct {
	Holder, Host string
	PID          int
	Time         string
}

func now() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// wrap runs one job.
func wrap(dir string, n int) {
	runtime.GOMAXPROCS(1)
	root := must(os.OpenRoot(dir))
	var job assignment
	check(json.Unmarshal(must(root.ReadFile("assign.json")), &job))
	r := result{Claim: claim{"wrapper", must(os.Hostname()), os.Getpid(), now()}, Started: now()}
	// Only one of several processes can make the link.
	temp := fmt.Sprintf("claims/.tmp-%d", n)
	check(errors.Join(root.WriteFile(temp, must(json.Marshal(r.Claim)), 0o600),
		root.Link(temp, fmt.Sprintf("claims/%d", n)), root.Remove(temp)))
	work := fmt.Sprintf("jobs/%d/attempt/work", n)
	check(root.MkdirAll(work, 0o700))
	attempt := must(root.OpenRoot(filepath.Dir(work)))
	r.Log = now() + " INFO start\n"
	check(errors.Join(attempt.WriteFile("log", []byte(r.Log), 0o600),
		attempt.WriteFile("heartbeat", []byte(now()+"\n"), 0o600)))
	execute(attempt, filepath.Join(dir, work), &job, &r)
	r.Ended = now()
	r.Log += now() + " SUCCEEDED -\n" + now() + " INFO end\n"
	check(attempt.WriteFile("log", []byte(r.Log), 0o600))
	// The result appears completely or not at all.
	temp = fmt.Sprintf("done/.tmp-%d", n)
	f := must(root.Create(temp))
	must(f.Write(must(json.Marshal(r))))
	check(errors.Join(f.Sync(), f.Close(), root.Rename(temp, fmt.Sprintf("done/%d.json", n))))
}

// execute runs the program to its end.
func execute(attempt *os.Root, work string, job *assignment, r *result) {
	cmd := exec.Command(job.Argv[0], job.Argv[1:]...)
	cmd.Dir, cmd.Env = work, os.Environ()
	for name, value := range job.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stdout, stderr := must(attempt.Create("stdout")), must(attempt.Create("stderr"))
	cmd.Stdout, cmd.Stderr = stdout, stderr
	var u syscall.Rusage
	check(errors.Join(cmd.Run(), stdout.Close(), stderr.Close(), syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u)))
	r.Exit, r.UserMS, r.SysMS, r.RSSKB = cmd.ProcessState.ExitCode(), u.Utime.Nano()/1e6, u.Stime.Nano()/1e6, u.Maxrss
}

// spawn runs all jobs, and reads their reports.
func spawn(dir string, count int) {
	program := must(os.Executable())
	for _, name := range []string{"claims", "done", "jobs"} {
		check(os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	text := must(json.Marshal(assignment{Argv: []string{"/bin/true"}, Env: map[string]string{"PLAIN": "1"}}))
	check(os.WriteFile(filepath.Join(dir, "assign.json"), text, 0o600))
	var spawners sync.WaitGroup
	for first := range runtime.NumCPU() {
		spawners.Go(func() {
			for n := first; n < count; n += runtime.NumCPU() {
				cmd := exec.Command(program, "run", dir, strconv.Itoa(n))
				cmd.Stderr = os.Stderr
				must(cmd.Output())
				var r result
				check(json.Unmarshal(must(os.ReadFile(filepath.Join(dir, "done", strconv.Itoa(n)+".json"))), &r))
			}
		})
	}
	spawners.Wait()
	per := func(who int) float64 {
		var u syscall.Rusage
		check(syscall.Getrusage(who, &u))
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6 / float64(count)
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]float64{"Wrapper": per(syscall.RUSAGE_CHILDREN),
		"Spawner": per(syscall.RUSAGE_SELF)}))
}
