package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// portLife is how long a port stays in use after its connection (TIME_WAIT).
const portLife = time.Minute

// now returns the time by which ports become free: the time in the file clock if that exists, else the real time.
func (c *complex) now() time.Time {
	text, _ := os.ReadFile(filepath.Join(c.dir, "clock"))
	if at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text))); err == nil {
		return at
	}
	return time.Now()
}

// connect takes a port of the host for a command, and one for each id of a qstat (recorded in reserved_ports). It
// writes the number of connections into the file connections. It returns the command without the ids for which no port
// was left, the number of ports, and whether there was a port for each connection.
func (c *complex) connect(q request) (rest request, n int, all bool) {
	now := c.now()
	c.ports = slices.DeleteFunc(c.ports, func(used time.Time) bool { return now.Sub(used) >= portLife })
	all = true
	take := func() bool {
		if c.hostPorts > 0 && len(c.ports) >= c.hostPorts {
			all = false
			return false
		}
		c.ports = append(c.ports, now)
		n++
		return true
	}
	take()
	rest = q
	rest.Args = slices.DeleteFunc(slices.Clone(q.Args), func(word string) bool {
		return q.Verb == "qstat" && word[0] >= '0' && word[0] <= '9' && !take()
	})
	if f, err := os.OpenFile(filepath.Join(c.dir, "connections"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err == nil {
		fmt.Fprintf(f, "%d %d %s %s\n", now.UnixNano(), n, q.Verb, strings.Join(q.Args, " "))
		f.Close()
	}
	return rest, n, all
}
