package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func fault(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, "faults", name))
	return err == nil
}

func (c *complex) fault(name string) bool { return fault(c.dir, name) }

func begin(dir, name string) error {
	return os.WriteFile(filepath.Join(dir, "faults", name), nil, 0o666)
}

// offline imitates the faults in which a command does not reach its server. If there is such a fault, out is true and r
// is the response. Each command has its own text for a server that does not answer.
func offline(dir, verb string, args []string) (r Response, out bool) {
	for fault(dir, "frozen") {
		time.Sleep(10 * time.Millisecond)
	}
	if fault(dir, "unauthorized") {
		return Response{Exit: 255, Stderr: []byte(noIff + noIff + unauthenticated(verb))}, true
	}
	if !fault(dir, "refused") {
		return Response{}, false
	}
	r.Exit = 15010 & 0xFF
	text := fmt.Sprintf("%s: cannot connect to server %s (errno=15010)\n", verb, server)
	switch verb {
	case "qdel":
		text = "Couldn't connect to cluster: " + server + "\n"
	case "pbsnodes":
		r.Exit, text = 1, "pbsnodes: cannot connect to server "+server+", error=15010\n"
	case "qstat":
		r.Exit, r.Stdout = 255, emptyListing(args) // this looks like a good answer, but is wrong
	}
	r.Stderr = []byte("Connection refused\n" + text)
	return r, true
}

// emptyListing returns the JSON that a command prints although the server did not answer. It returns nil for commands
// that print no JSON.
func emptyListing(args []string) []byte {
	if !strings.Contains(strings.Join(args, " "), "-F json") {
		return nil
	}
	return jsonText(nil)
}

const noIff = "pbs_iff: cannot connect to host\n"

func unauthenticated(verb string) string {
	return fmt.Sprintf("auth: error returned: -1\nauth: Unable to authenticate connection (%s:15001)\n"+
		"%s: cannot connect to server %s (errno=-1)\n", server, verb, server)
}

// outOfPorts returns the response to a command for which a port was missing, with the recorded messages and exit code
// (reserved_ports, ports_exit255.json). r is the response about the ids that had a port. Exit code 0 was recorded only
// for a qstat with ids.
func (c *complex) outOfPorts(q Request, r Response) Response {
	const quiet = noIff + "pbs_iff: all reserved ports in use\n"
	if namesIDs(q) && c.fault("ports-quiet") {
		r.Stderr = append([]byte(quiet), r.Stderr...)
		return r
	}
	r.Exit, r.Stderr = 255, []byte(quiet+noIff+unauthenticated(q.Verb))
	return r
}

// namesIDs reports whether a command is a qstat with ids.
func namesIDs(q Request) bool {
	return q.Verb == "qstat" && slices.ContainsFunc(q.Args, isID)
}

func isID(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }

// portLife is how long a port stays in use after its connection (TIME_WAIT).
const portLife = time.Minute

// now returns the time by which ports become free. If the file clock exists, that is the time in this file, otherwise
// the real time.
func (c *complex) now() time.Time {
	text, _ := os.ReadFile(filepath.Join(c.dir, "clock"))
	if at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text))); err == nil {
		return at
	}
	return time.Now()
}

// connect takes a port of the host for a command, and for a qstat another port for each id (recorded in
// reserved_ports). It adds a line with the number of connections to the file connections. It returns the command
// without the ids for which no port was left, the number of ports that it took, and whether there was a port for each
// connection.
func (c *complex) connect(q Request) (rest Request, n int, all bool) {
	now := c.now()
	c.ports = slices.DeleteFunc(c.ports, func(used time.Time) bool { return now.Sub(used) >= portLife })
	free := max(0, cmp.Or(number(os.Getenv("FAKEPBS_PORTS")), math.MaxInt)-len(c.ports))
	rest, n = q, 1
	rest.Args = slices.DeleteFunc(slices.Clone(q.Args), func(word string) bool {
		id := q.Verb == "qstat" && isID(word)
		if id {
			n++
		}
		return id && n > free
	})
	all, n = n <= free, min(n, free)
	c.ports = append(c.ports, slices.Repeat([]time.Time{now}, n)...)
	if f, err := os.OpenFile(filepath.Join(c.dir, "connections"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err == nil {
		fmt.Fprintf(f, "%d %d %s %s\n", now.UnixNano(), n, q.Verb, strings.Join(q.Args, " "))
		f.Close()
	}
	return rest, n, all
}
