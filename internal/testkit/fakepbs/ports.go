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
	now, inUse := c.now(), 0
	c.used = slices.DeleteFunc(c.used, func(u portUse) bool { return now.Sub(u.at) >= portLife })
	for _, u := range c.used {
		inUse += u.n
	}
	fits := func() bool { return c.hostPorts == 0 || inUse+n < c.hostPorts }
	if all = fits(); all {
		n++
	}
	rest = q
	rest.Args = nil
	for _, word := range q.Args {
		isID := q.Verb == "qstat" && word[0] >= '0' && word[0] <= '9'
		switch {
		case !isID:
			rest.Args = append(rest.Args, word)
		case fits():
			n++
			rest.Args = append(rest.Args, word)
		default:
			all = false
		}
	}
	c.used = append(c.used, portUse{now, n})
	if f, err := os.OpenFile(filepath.Join(c.dir, "connections"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err == nil {
		fmt.Fprintf(f, "%d %d %s %s\n", now.UnixNano(), n, q.Verb, strings.Join(q.Args, " "))
		f.Close()
	}
	return rest, n, all
}
