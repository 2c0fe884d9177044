package main

import (
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// server is the name of the only host.
const server = "pbshost"

// version is the version that was recorded.
const version = "23.06.06"

// idle is how long a server without work stays.
const idle = 10 * time.Minute

// settings are taken from the environment of the command that started the server.
type settings struct {
	torque  bool
	slots   int
	history bool
	pause   time.Duration
	stuck   time.Duration
	// hostPorts is the number of reserved ports of the host; 0 for no bound.
	hostPorts int
}

func settingsFrom(env map[string]string) settings {
	s := settings{torque: env["FAKEPBS_DIALECT"] == "torque", slots: 8, history: env["FAKEPBS_HISTORY"] != "off",
		stuck: 300 * time.Millisecond}
	if n, err := strconv.Atoi(env["FAKEPBS_SLOTS"]); err == nil {
		s.slots = n
	}
	s.hostPorts, _ = strconv.Atoi(env["FAKEPBS_PORTS"])
	if v, err := time.ParseDuration(env["FAKEPBS_STUCK"]); err == nil {
		s.stuck = v
	}
	s.pause, _ = time.ParseDuration(env["FAKEPBS_WAIT"])
	return s
}

// complex is the whole PBS complex: its server, scheduler and node.
type complex struct {
	settings
	dir   string
	queue map[string]*queue

	mu        sync.Mutex // guards what follows
	next      int
	jobs      []*job // by sequence number
	free      int
	maxArray  int
	maxQueued int // of one user, in all queues; 0 for no limit
	busy      time.Time
	ended     bool
	used      []portUse
	all       sync.WaitGroup // for running jobs
}

// queue has the settings that a client can notice.
type queue struct {
	enabled   bool
	started   bool
	maxQueued int // of one user
	maxWall   int // seconds
	acl       string
	to        string // of a routing queue
}

// newComplex returns a complex with the queues of the recorded one.
func newComplex(dir string, s settings) *complex {
	return &complex{
		settings: s, dir: dir, next: 1, free: s.slots, maxArray: 20000, busy: time.Now(),
		queue: map[string]*queue{
			"workq":     {enabled: true, started: true},
			"routeq":    {enabled: true, started: true, to: "workq"},
			"disabledq": {started: true},
			"aclq":      {enabled: true, started: true, acl: "nobody"},
			"limitq":    {enabled: true, started: true, maxQueued: 2, maxWall: 3600},
		},
	}
}

// serve runs the server.
func serve(dir string, env []string) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	for _, sub := range []string{"jobs", "spool", "faults"} {
		if err := os.MkdirAll(sub, 0o777); err != nil {
			return err
		}
	}
	vars := environment(env)
	for name := range strings.FieldsSeq(vars["FAKEPBS_FAULTS"]) {
		if err := os.WriteFile(filepath.Join("faults", name), nil, 0o666); err != nil {
			return err
		}
	}
	_ = os.Remove("socket")
	l, err := net.Listen("unix", "socket")
	if err != nil {
		return err
	}
	if err := os.Chmod("socket", 0o777); err != nil {
		return err
	}
	c := newComplex(dir, settingsFrom(vars))
	go c.watch(l)
	for {
		conn, err := l.Accept()
		if err != nil {
			c.shutdown()
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		go c.answer(conn, l)
	}
}

func (c *complex) answer(conn net.Conn, l net.Listener) {
	defer conn.Close()
	var q request
	if err := gob.NewDecoder(conn).Decode(&q); err != nil {
		return
	}
	if q.Verb == "stop" {
		c.shutdown()
		_ = gob.NewEncoder(conn).Encode(response{})
		_ = l.Close()
		return
	}
	_ = gob.NewEncoder(conn).Encode(c.do(q))
}

// watch ends a server that nobody needs: its folder is gone, or nothing has happened for
// idle.
func (c *complex) watch(l net.Listener) {
	for range time.Tick(500 * time.Millisecond) {
		_, err := os.Stat(filepath.Join(c.dir, "socket"))
		c.mu.Lock()
		quiet := time.Since(c.busy) > idle && c.free == c.slots
		c.mu.Unlock()
		if err != nil || quiet {
			_ = l.Close()
			return
		}
	}
}

// shutdown kills running jobs, and waits for them.
func (c *complex) shutdown() {
	c.mu.Lock()
	c.ended = true
	for _, j := range c.jobs {
		for _, t := range j.tasks {
			if t.proc != nil {
				killSession(t.proc.PID, true)
			}
		}
	}
	c.mu.Unlock()
	c.all.Wait()
}

// do answers one command.
func (c *complex) do(q request) response {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = time.Now()
	c.misbehave()
	defer c.schedule()
	if len(q.Args) == 1 && q.Args[0] == "--version" {
		return c.versionOf()
	}
	rest, n, all := c.connect(q)
	switch {
	case all:
		return c.perform(q)
	case n > 1:
		return c.outOfPorts(q.Verb, c.perform(rest))
	}
	return c.outOfPorts(q.Verb, response{Stdout: emptyListing(q.Args)})
}

// perform answers a command that reached the server.
func (c *complex) perform(q request) response {
	if r, is := c.spoiled(q); is {
		return r
	}
	switch q.Verb {
	case "qsub":
		return c.qsub(q)
	case "qalter":
		return c.qalter(q)
	case "qstat":
		return c.qstat(q)
	case "qselect":
		return c.qselect(q)
	case "qdel":
		return c.qdel(q)
	case "qhold", "qrls":
		return c.qhold(q)
	case "pbsnodes":
		return c.pbsnodes()
	case "qmgr":
		return c.qmgr(q)
	}
	return response{Exit: 99, Stderr: fmt.Appendf(nil, "fakepbs: no verb %q\n", q.Verb)}
}

func (c *complex) versionOf() response {
	if c.torque {
		return response{Stdout: []byte("Version: 6.1.2\nCommit: 661e092552de43a785c15d39a3634a541d86898e\n")}
	}
	return response{Stdout: []byte("pbs_version = " + version + "\n")}
}

// forget removes jobs from memory.
func (c *complex) forget(which func(*job) bool) {
	kept := c.jobs[:0]
	for _, j := range c.jobs {
		if !which(j) {
			kept = append(kept, j)
		}
	}
	clear(c.jobs[len(kept):])
	c.jobs = kept
}

// The errors of the batch protocol that clients meet. Their exit code is the number modulo
// 256.
const (
	errUnknownJob   = 15001
	errNoAttribute  = 15002
	errInvalid      = 15004
	errPermission   = 15007
	errBadHost      = 15008
	errNoServer     = 15010
	errBadValue     = 15014
	errUnknownQueue = 15018
	errQueueOff     = 15021
	errResource     = 15035
	errQueueLimits  = 15036
	errNoMom        = 15070
	errArraySize    = 15107
	errNodesSelect  = 15110
	errHistory      = 15139
	errUserLimit    = 15142
	errSubjobEnded  = 15159
)

var texts = map[int]string{
	errUnknownJob:   "Unknown Job Id",
	errInvalid:      "Invalid request",
	errPermission:   "Unauthorized Request ",
	errUnknownQueue: "Unknown queue",
	errQueueOff:     "Queue is not enabled",
	errQueueLimits:  "Job violates queue and/or server resource limits",
	errNoMom:        "Server could not connect to MOM",
	errArraySize:    "Array job exceeds server or queue size limit",
	errHistory:      "Job has finished",
	errSubjobEnded:  "Request invalid for finished array subjob",
}
