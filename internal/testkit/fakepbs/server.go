package main

import (
	"cmp"
	"encoding/gob"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	server  = "pbshost"        // the only host
	version = "23.06.06"       // the recorded one
	idle    = 10 * time.Minute // how long a server without work stays
)

// settings are taken from the environment of the command that started the server.
type settings struct {
	slots     int
	pause     time.Duration
	stuck     time.Duration
	hostPorts int // reserved ports of the host; 0 for no bound
}

// complex is the whole PBS complex: its server, scheduler and node.
type complex struct {
	settings
	dir   string
	queue map[string]*queue

	mu        sync.Mutex // guards what follows
	history   bool
	next      int
	jobs      []*job // by sequence number
	free      int
	maxArray  int
	maxQueued int // of one user, in all queues; 0 for no limit
	busy      time.Time
	ended     bool
	ports     []time.Time    // when those in use were taken
	all       sync.WaitGroup // for running jobs
}

// queue has the settings that a client can notice.
type queue struct {
	disabled  bool
	stopped   bool
	maxQueued int // of one user
	maxWall   int // seconds
	acl       string
}

// newComplex returns a complex with the queues of the recorded complex.
func newComplex(dir string) *complex {
	c := &complex{
		dir: dir, history: os.Getenv("FAKEPBS_HISTORY") != "off", next: 1, maxArray: 20000, busy: time.Now(),
		queue: map[string]*queue{
			"workq": {}, "disabledq": {disabled: true}, "aclq": {acl: "nobody"}, "limitq": {maxQueued: 2, maxWall: 3600},
		},
	}
	c.slots, c.hostPorts = cmp.Or(number(os.Getenv("FAKEPBS_SLOTS")), 8), number(os.Getenv("FAKEPBS_PORTS"))
	c.free = c.slots
	c.pause, _ = time.ParseDuration(os.Getenv("FAKEPBS_WAIT"))
	c.stuck, _ = time.ParseDuration(cmp.Or(os.Getenv("FAKEPBS_STUCK"), "300ms"))
	return c
}

// serve runs the server.
func serve(dir string) error {
	l, err := net.Listen("unix", socket(dir)) // an error if there is another server
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "faults"), 0o777); err != nil {
		return err
	}
	for name := range strings.FieldsSeq(os.Getenv("FAKEPBS_FAULTS")) {
		if err := begin(dir, name); err != nil {
			return err
		}
	}
	c := newComplex(dir)
	go c.watch(l)
	for {
		conn, err := l.Accept()
		if err != nil { // watch or a request to stop has closed it
			c.kill(false)
			c.all.Wait()
			return nil
		}
		go c.answer(conn, l)
	}
}

// answer answers one request. After a request to stop it never returns: the connection closes when the server's process
// ends.
func (c *complex) answer(conn net.Conn, l net.Listener) {
	defer conn.Close()
	var q request
	if err := gob.NewDecoder(conn).Decode(&q); err != nil {
		return
	}
	if q.Verb == "stop" {
		_ = l.Close()
		select {}
	}
	_ = gob.NewEncoder(conn).Encode(c.do(q))
}

// watch carries out the work that no command asks for: it starts jobs that have waited for the scheduler,
// ends jobs over a limit, and ends a server that is no longer needed, because its folder is gone or
// because nothing has happened for idle.
func (c *complex) watch(l net.Listener) {
	for range time.Tick(50 * time.Millisecond) {
		_, err := os.Stat(c.dir)
		c.mu.Lock()
		c.schedule()
		c.enforce()
		quiet := time.Since(c.busy) > idle && c.free == c.slots
		c.mu.Unlock()
		if err != nil || quiet {
			_ = l.Close()
			return
		}
	}
}

// kill kills the running jobs. With again set they run again later. Otherwise no job starts any more.
func (c *complex) kill(again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = c.ended || !again
	for _, t := range c.running {
		t.rerun = again
		killSession(t.proc.PID, true)
	}
}

// running yields the tasks that have a process.
func (c *complex) running(yield func(*job, *task) bool) {
	for _, j := range c.jobs {
		for _, t := range j.tasks {
			if t.proc != nil && !yield(j, t) {
				return
			}
		}
	}
}

// do answers one command: normally if there is a port for each of its connections, else as PBS does without ports.
func (c *complex) do(q request) response {
	c.misbehave()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = time.Now()
	defer c.schedule()
	rest, n, all := c.connect(q)
	switch {
	case all:
		return c.perform(q)
	case n > 1:
		return c.outOfPorts(q.Verb, c.perform(rest))
	}
	return c.outOfPorts(q.Verb, response{Stdout: emptyListing(q.Args)})
}

// perform carries out a command that has reached the server.
func (c *complex) perform(q request) response {
	v := verbs[q.Verb]
	o, bad := parse(q.Args, v.options)
	if bad != "" {
		return response{Exit: 2, Stderr: fmt.Appendf(nil, "%s: invalid option -- '%s'\n", q.Verb, bad)}
	}
	return v.do(c, q, o)
}

// forget removes jobs from memory.
func (c *complex) forget(which func(*job) bool) { c.jobs = slices.DeleteFunc(c.jobs, which) }

// refusal is an error of the batch protocol, or a complaint of a client. The exit code is its
// number modulo 256.
type refusal struct {
	code int
	text string
}

// The errors that jjm meets.
var (
	errMalformed    = &refusal{1, "illegally formed job identifier:"}
	errUnknownJob   = &refusal{15001, "Unknown Job Id"}
	errInvalid      = &refusal{15004, "Invalid request"}
	errPermission   = &refusal{15007, "Unauthorized Request "}
	errUnknownQueue = &refusal{15018, "Unknown queue"}
	errQueueOff     = &refusal{15021, "Queue is not enabled"}
	errQueueLimits  = &refusal{15036, "Job violates queue and/or server resource limits"}
	errNoMom        = &refusal{15070, "Server could not connect to MOM"}
	errArraySize    = &refusal{15107, "Array job exceeds server or queue size limit"}
	errHistory      = &refusal{15139, "Job has finished"}
	errQueueUser    = &refusal{15142, "would exceed queue generic's per-user limit"}
	errServerUser   = &refusal{15142, "would exceed complex's per-user limit"}
	errSubjobEnded  = &refusal{15159, "Request invalid for finished array subjob"}
)

func (r *refusal) exit() int { return r.code & 0xFF }

// number returns the number in text; 0 if text is not a number.
func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
