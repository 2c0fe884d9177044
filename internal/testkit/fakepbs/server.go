package main

import (
	"cmp"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	server  = "pbshost"        // the only host
	version = "23.06.06"       // the recorded version of PBS
	idle    = 10 * time.Minute // how long a server without work stays running
)

// complex is the whole PBS complex: its server, scheduler and node.
type complex struct {
	dir     string
	address net.Listener
	slots   int
	queue   map[string]*queue

	mu        sync.Mutex // guards the fields below
	history   bool
	next      int
	jobs      []*job // jobs by sequence number
	free      int
	maxArray  int
	maxQueued int // maximum number of queued jobs of one user, in all queues; 0 for no limit
	busy      time.Time
	ended     bool
	ports     []time.Time    // times when the ports in use were taken
	all       sync.WaitGroup // waits for running jobs
}

// queue holds the settings of a queue that have an effect on clients.
type queue struct {
	disabled  bool
	stopped   bool
	maxQueued int // maximum number of queued jobs of one user
	maxWall   int // seconds
	acl       string
}

// newComplex returns a complex with the queues of the recorded complex.
func newComplex(dir string) *complex {
	c := &complex{
		dir: dir, slots: cmp.Or(number(os.Getenv("FAKEPBS_SLOTS")), 8), next: 1, maxArray: 20000,
		history: os.Getenv("FAKEPBS_HISTORY") != "off", busy: time.Now(),
		queue: map[string]*queue{
			"workq": {}, "disabledq": {disabled: true}, "aclq": {acl: "nobody"}, "limitq": {maxQueued: 2, maxWall: 3600},
		},
	}
	c.free = c.slots
	return c
}

func serve(dir string) error {
	l, err := net.Listen("unix", socket(dir)) // an error if there is another server
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(os.Getenv("FAKEPBS_FAULTS")) {
		if err := begin(dir, name); err != nil {
			return err
		}
	}
	c, commands := newComplex(dir), rpc.NewServer()
	if err := commands.RegisterName("PBS", c); err != nil {
		return err
	}
	c.address = l
	go c.watch()
	commands.Accept(l) // serves commands until watch or Stop closes l
	c.mu.Lock()
	c.kill(false)
	c.mu.Unlock()
	c.all.Wait()
	return nil
}

// watch starts jobs whose wait for the scheduler is over, and ends jobs that exceed a limit. It ends the server if its
// folder is gone, or if there was no work for the time idle.
func (c *complex) watch() {
	for range time.Tick(50 * time.Millisecond) {
		_, err := os.Stat(c.dir)
		c.mu.Lock()
		c.schedule()
		c.enforce()
		// provoked: nothing asks the server for the time idle
		quiet := time.Since(c.busy) > idle && c.free == c.slots
		c.mu.Unlock()
		if err != nil || quiet {
			_ = c.address.Close()
			return
		}
	}
}

// kill kills the running jobs. With again set, the jobs run again later; otherwise no further job starts. The caller
// must hold the lock.
func (c *complex) kill(again bool) {
	c.ended = c.ended || !again
	for _, t := range c.running {
		t.why = cmp.Or(t.why, only(again, "rerun"))
		killSession(t.proc.PID, syscall.SIGKILL)
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

// Do carries out one command. If a port is missing for one of its connections, Do responds like PBS without ports.
func (c *complex) Do(q Request, r *Response) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = time.Now()
	defer c.schedule()
	if c.fault("lost-history") {
		c.forget((*job).done)
	}
	if os.Remove(filepath.Join(c.dir, "faults", "rerun")) == nil {
		c.kill(true)
	}
	rest, n, all := c.connect(q)
	switch {
	case all:
		*r = c.perform(q)
	case n > 1:
		*r = c.outOfPorts(q, c.perform(rest))
	default:
		*r = c.outOfPorts(q, Response{Stdout: emptyListing(q.Args)})
	}
	return nil
}

// Stop ends the server. It never returns: the connection closes when the server's process ends.
func (c *complex) Stop(Request, *Response) error {
	_ = c.address.Close()
	select {}
}

func (c *complex) perform(q Request) Response {
	v := verbs[q.Verb]
	o, bad := parse(q.Args, v.options)
	if bad != "" {
		return Response{Exit: 2, Stderr: fmt.Appendf(nil, "%s: invalid option -- '%s'\n", q.Verb, bad)}
	}
	return v.do(c, q, o)
}

func (c *complex) forget(which func(*job) bool) { c.jobs = slices.DeleteFunc(c.jobs, which) }

// refusal is an error of the batch protocol, or a complaint of a client. The exit code is the error's number modulo
// 256.
type refusal struct {
	code int
	text string
}

// The errors that several commands return.
var (
	errMalformed  = &refusal{1, "illegally formed job identifier:"}
	errUnknownJob = &refusal{15001, "Unknown Job Id"}
	errPermission = &refusal{15007, "Unauthorized Request "}
	errHistory    = &refusal{15139, "Job has finished"}
)

// number returns the number in text, 0 if text is not a number.
func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
