package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func fault(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, "faults", name))
	return err == nil
}

func (c *complex) fault(name string) bool { return fault(c.dir, name) }

// begin begins a fault.
func begin(dir, name string) error {
	return os.WriteFile(filepath.Join(dir, "faults", name), nil, 0o666)
}

// offline plays the faults that keep a command from its server. Each command has its own text for
// a server that does not answer.
func offline(dir, verb string, args []string) (r response, out bool) {
	for fault(dir, "frozen") {
		time.Sleep(10 * time.Millisecond)
	}
	if fault(dir, "unauthorized") {
		return response{Exit: 255, Stderr: []byte(noIff + noIff + unauthenticated(verb))}, true
	}
	r.Exit = 15010 & 0xFF
	text := fmt.Sprintf("%s: cannot connect to server %s (errno=15010)\n", verb, server)
	switch verb {
	case "qdel":
		text = "Couldn't connect to cluster: " + server + "\n"
	case "pbsnodes":
		r.Exit, text = 1, "pbsnodes: cannot connect to server "+server+", error=15010\n"
	case "qstat":
		r.Exit, r.Stdout = 255, emptyListing(args) // looks like a good answer, but is wrong
	}
	r.Stderr = []byte("Connection refused\n" + text)
	return r, fault(dir, "refused")
}

// emptyListing returns the output of a command that prints JSON if the server did not answer; nil for other commands.
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

// outOfPorts adds the messages and the exit code of a command for which a port was missing
// (reserved_ports, ports_exit255.json). r is the answer about the ids that had a port.
func (c *complex) outOfPorts(verb string, r response) response {
	const quiet = noIff + "pbs_iff: all reserved ports in use\n"
	if c.fault("ports-quiet") {
		r.Stderr = append([]byte(quiet), r.Stderr...)
		return r
	}
	r.Exit, r.Stderr = 255, []byte(quiet+noIff+unauthenticated(verb))
	return r
}

// misbehave plays the faults of the server itself.
func (c *complex) misbehave() {
	if c.fault("lost-history") {
		c.mu.Lock()
		c.forget((*job).done)
		c.mu.Unlock()
	}
	if os.Remove(filepath.Join(c.dir, "faults", "rerun")) == nil {
		c.kill(true)
	}
}
