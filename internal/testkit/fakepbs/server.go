package main

import (
	"cmp"
	"encoding/gob"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
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
	slots   int
	history bool
	pause   time.Duration
	stuck   time.Duration
	// hostPorts is the number of reserved ports of the host; 0 for no bound.
	hostPorts int
}

func settingsFrom(env map[string]string) settings {
	s := settings{slots: 8, history: env["FAKEPBS_HISTORY"] != "off", hostPorts: number(env["FAKEPBS_PORTS"])}
	s.slots = cmp.Or(number(env["FAKEPBS_SLOTS"]), s.slots)
	s.pause, _ = time.ParseDuration(env["FAKEPBS_WAIT"])
	s.stuck, _ = time.ParseDuration(cmp.Or(env["FAKEPBS_STUCK"], "300ms"))
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
	disabled  bool
	stopped   bool
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
			"workq": {}, "routeq": {to: "workq"}, "disabledq": {disabled: true}, "aclq": {acl: "nobody"},
			"limitq": {maxQueued: 2, maxWall: 3600},
		},
	}
}

// serve runs the server.
func serve(dir string, env map[string]string) error {
	for _, sub := range []string{"jobs", "faults"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			return err
		}
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	for name := range strings.FieldsSeq(env["FAKEPBS_FAULTS"]) {
		if err := begin(dir, name); err != nil {
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
	c := newComplex(dir, settingsFrom(env))
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
	for t := range c.running {
		killSession(t.proc.PID, true)
	}
	c.mu.Unlock()
	c.all.Wait()
}

// running yields the tasks that have a process.
func (c *complex) running(yield func(*task) bool) {
	for _, j := range c.jobs {
		for _, t := range j.tasks {
			if t.proc != nil && !yield(t) {
				return
			}
		}
	}
}

// do answers one command.
func (c *complex) do(q request) response {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = time.Now()
	c.misbehave()
	defer c.schedule()
	if slices.Equal(q.Args, []string{"--version"}) {
		return response{Stdout: []byte("pbs_version = " + version + "\n")}
	}
	rest, n, all := c.connect(q)
	switch {
	case all:
		return verbs[q.Verb](c, q)
	case n > 1:
		return c.outOfPorts(q.Verb, verbs[q.Verb](c, rest))
	}
	return c.outOfPorts(q.Verb, response{Stdout: emptyListing(q.Args)})
}

// forget removes jobs from memory.
func (c *complex) forget(which func(*job) bool) { c.jobs = slices.DeleteFunc(c.jobs, which) }

// refusal is an error of the batch protocol, or a complaint of a client. The exit code is its
// number modulo 256.
type refusal struct {
	code int
	text string
	help bool // the usage follows
}

// The errors that clients meet.
var (
	errUnknownJob   = &refusal{code: 15001, text: "Unknown Job Id"}
	errInvalid      = &refusal{code: 15004, text: "Invalid request"}
	errPermission   = &refusal{code: 15007, text: "Unauthorized Request "}
	errUnknownQueue = &refusal{code: 15018, text: "Unknown queue"}
	errQueueOff     = &refusal{code: 15021, text: "Queue is not enabled"}
	errQueueLimits  = &refusal{code: 15036, text: "Job violates queue and/or server resource limits"}
	errNoMom        = &refusal{code: 15070, text: "Server could not connect to MOM"}
	errArraySize    = &refusal{code: 15107, text: "Array job exceeds server or queue size limit"}
	errHistory      = &refusal{code: 15139, text: "Job has finished"}
	errQueueUser    = &refusal{code: 15142, text: "would exceed queue generic's per-user limit"}
	errServerUser   = &refusal{code: 15142, text: "would exceed complex's per-user limit"}
	errSubjobEnded  = &refusal{code: 15159, text: "Request invalid for finished array subjob"}
)

// exit is the exit code.
func (r *refusal) exit() int { return r.code & 0xFF }

// number returns the number that text is; 0 for none.
func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
