package farm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// server is a batch system in memory that runs the jobs on this machine, up to slots jobs simultaneously.
type server struct {
	mu    sync.Mutex
	jobs  []*running
	slots int
	host  string
}

type running struct {
	job
	user, script string
	held         bool
	process      *os.Process
}

func newServer(t adaptertest.TB) *httptest.Server {
	host, err := os.Hostname()
	if err != nil {
		t.Fatalf("%v", err)
	}
	s := &server{slots: 8, host: host}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /jobs", s.submit)
	mux.HandleFunc("GET /jobs", s.list)
	mux.HandleFunc("POST /jobs/{id}/{op}", s.control)
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	t.Cleanup(s.stop)
	return h
}

func (s *server) submit(w http.ResponseWriter, r *http.Request) {
	var in struct{ User, Name, Script string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Script == "" {
		http.Error(w, "want a script", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &running{user: in.User, script: in.Script}
	j.ID, j.Name, j.State = fmt.Sprint(7000+len(s.jobs)), jjm.Tag(in.Name), "waiting"
	j.Submitted = jjm.At(time.Now())
	s.jobs = append(s.jobs, j)
	s.next()
	answer(w, map[string]string{"id": j.ID})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := []job{}
	for _, j := range s.jobs {
		if j.user == r.FormValue("user") {
			jobs = append(jobs, j.job)
		}
	}
	answer(w, map[string]any{"jobs": jobs, "total": len(jobs)})
}

func (s *server) control(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.ID != r.PathValue("id") || j.user != r.FormValue("user") || string(j.Name) != r.FormValue("name") {
			continue
		}
		switch op := r.PathValue("op"); {
		case op == "cancel" && j.State == "running":
			j.State = "cancelled"
			_ = syscall.Kill(-j.process.Pid, syscall.SIGKILL)
		case op == "cancel" && (j.State == "waiting" || j.State == "held"):
			j.State, j.Ended = "cancelled", jjm.At(time.Now())
		case op == "hold" && j.State == "waiting":
			j.State = "held"
		case op == "release" && j.State == "held":
			j.State = "waiting"
		}
		s.next()
		answer(w, map[string]string{"id": j.ID})
		return
	}
	http.Error(w, "no such job", http.StatusNotFound)
}

// next starts waiting jobs while slots are free. The caller holds s.mu.
func (s *server) next() {
	busy := 0
	for _, j := range s.jobs {
		if j.process != nil && j.Ended == 0 {
			busy++
		}
	}
	for _, j := range s.jobs {
		if j.State != "waiting" || busy >= s.slots {
			continue
		}
		cmd := exec.Command("/bin/sh")
		cmd.Stdin = strings.NewReader(j.script)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "FARM_ID=" + j.ID}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		busy++
		j.State, j.Started, j.Host = "running", jjm.At(time.Now()), s.host
		if err := cmd.Start(); err != nil {
			j.State, j.Exit, j.Ended = "failed", 127, j.Started
			continue
		}
		j.process = cmd.Process
		go s.wait(j, cmd)
	}
}

func (s *server) wait(j *running, cmd *exec.Cmd) {
	_ = cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	j.Ended = jjm.At(time.Now())
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case j.State == "cancelled":
	case status.Signaled():
		j.State, j.Signal = "failed", int(status.Signal())
	default:
		j.Exit = status.ExitStatus()
		j.State = map[bool]string{true: "done", false: "failed"}[j.Exit == 0]
	}
	s.next()
}

// stop ends all running jobs.
func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.process != nil && j.Ended == 0 {
			_ = syscall.Kill(-j.process.Pid, syscall.SIGKILL)
		}
	}
}

func open(t adaptertest.TB, url string) *Adapter {
	a, err := New("farm", adapters.Env{}, func(config any) error {
		config.(*Config).URL = url
		return nil
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return a.(*Adapter)
}
