package metrics

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// Config is the section [metrics] of the configuration.
type Config struct {
	// Listen is the address where Prometheus scrapes the daemon: ADDRESS:PORT, or the absolute path of a Unix socket. If
	// it is empty, nothing listens.
	Listen string `toml:"listen"`
	// Allow determines who may connect: "" for this machine only, "anyone" for every host that reaches the address.
	Allow string `toml:"allow"`
}

// anyone is the value of Allow that admits other hosts.
const anyone = "anyone"

// Socket reports whether Listen is the path of a Unix socket.
func (c Config) Socket() bool { return strings.HasPrefix(c.Listen, "/") }

// maxSocket is the maximum length of the path of a Unix socket in bytes (unix(7): sun_path has 108 bytes with the final
// 0).
const maxSocket = 107

// Check returns every mistake in the settings.
func (c Config) Check() (ps jjm.Problems) {
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "metrics." + field, Text: fmt.Sprintf(format, args...)})
	}
	if c.Allow != "" && c.Allow != anyone {
		bad("allow", "%.40q: want \"anyone\", or nothing to admit only this machine", c.Allow)
	}
	switch {
	case c.Listen == "" && c.Allow == anyone:
		bad("allow", "admits other hosts, but nothing listens: set metrics.listen, such as \"0.0.0.0:9137\"")
		return ps
	case c.Listen == "":
		return ps
	case c.Socket():
		if filepath.Clean(c.Listen) != c.Listen || len(c.Listen) > maxSocket {
			bad("listen", "%.120q: want the plain path of a socket of at most %d bytes, such as \"/run/jjm/metrics.sock\"",
				c.Listen, maxSocket)
		}
		if c.Allow == anyone {
			bad("allow", "does not apply to a Unix socket, which only this machine can reach: remove it, or set "+
				"metrics.listen to ADDRESS:PORT")
		}
		return ps
	}
	host, port, err := net.SplitHostPort(c.Listen)
	number, numErr := strconv.ParseUint(port, 10, 16)
	ip := net.ParseIP(host)
	switch {
	case err != nil || numErr != nil || number == 0 || ip == nil && host != "localhost":
		bad("listen", "%.120q: want an IP address or localhost with a port, such as \"127.0.0.1:9137\" or \"[::1]:9137\", "+
			"or the absolute path of a Unix socket", c.Listen)
	case ip != nil && !ip.IsLoopback() && c.Allow != anyone:
		bad("listen", "%s can be reached by other hosts, and metrics have no password: everybody there would see how much "+
			"this site runs. Listen on 127.0.0.1, or set metrics.allow = \"anyone\"", c.Listen)
	}
	return ps
}
