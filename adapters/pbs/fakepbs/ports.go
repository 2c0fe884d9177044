package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// portLife is how long a port stays in use after its connection (TIME_WAIT).
const portLife = time.Minute

// portUse is the connections of one command.
type portUse struct {
	at time.Time
	n  int
}

// now returns the time by which ports become free: that in the file clock, if there is one.
func (c *complex) now() time.Time {
	text, _ := os.ReadFile(filepath.Join(c.dir, "clock"))
	if at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text))); err == nil {
		return at
	}
	return time.Now()
}

// connect takes a port of the host for a command, and one for each id that qstat is given
// (reserved_ports). It writes the number of connections into the file connections. It
// returns the command without the ids for which there was no port left, the number of
// ports, and whether there was one for each connection.
func (c *complex) connect(q request) (rest request, n int, all bool) {
	now, inUse, kept := c.now(), 0, c.used[:0]
	for _, u := range c.used {
		if now.Sub(u.at) < portLife {
			kept, inUse = append(kept, u), inUse+u.n
		}
	}
	want, rest := 0, q
	rest.Args = nil
	for i, word := range append([]string{"1"}, q.Args...) {
		isID := i > 0 && q.Verb == "qstat" && word[0] >= '0' && word[0] <= '9'
		fits := c.hostPorts == 0 || inUse+n < c.hostPorts
		if i == 0 || isID {
			want++
			if fits {
				n++
			}
		}
		if i > 0 && (!isID || fits) {
			rest.Args = append(rest.Args, word)
		}
	}
	c.used = append(kept, portUse{now, n})
	if f, err := os.OpenFile(filepath.Join(c.dir, "connections"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err == nil {
		fmt.Fprintf(f, "%d %d %s %s\n", now.UnixNano(), n, q.Verb, strings.Join(q.Args, " "))
		f.Close()
	}
	return rest, n, n == want
}

// outOfPorts adds what a command prints if a port was missing (reserved_ports,
// ports_exit255.json). r is the answer about the ids that had a port.
func (c *complex) outOfPorts(verb string, r response) response {
	const quiet = "pbs_iff: cannot connect to host\npbs_iff: all reserved ports in use\n"
	if c.fault("ports-quiet") {
		r.Stderr = append([]byte(quiet), r.Stderr...)
		return r
	}
	r.Exit = 255
	r.Stderr = fmt.Appendf(nil, "%spbs_iff: cannot connect to host\nauth: error returned: -1\n"+
		"auth: Unable to authenticate connection (%s:15001)\n%s: cannot connect to server %s (errno=-1)\n",
		quiet, server, verb, server)
	return r
}
