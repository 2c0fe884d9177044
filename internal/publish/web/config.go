package web

import (
	"context"
	"fmt"
	"net"
	"net/textproto"
	"path/filepath"
	"strconv"
	"strings"

	"jjm/internal/jjm"
	"jjm/internal/sys/asuser"
)

// Config is the section [web] of the configuration.
type Config struct {
	// Listen is the address at which the page is served: ADDRESS:PORT of this machine, or the absolute path of a Unix
	// socket. If it is empty, nothing listens.
	Listen string `toml:"listen"`
	// Tokens is the path of a file with a token for each account; see [ReadTokens]. "" means that no token is accepted.
	Tokens string `toml:"tokens"`
	// UserHeader is the header in which a proxy names the reader's account. The header is only used in requests on a Unix
	// socket from a process of the account Proxy.
	UserHeader string `toml:"user_header"`
	Proxy      string `toml:"proxy"`
}

// maxSocket is the longest path of a Unix socket in bytes (unix(7): sun_path has 108 bytes with the final 0).
const maxSocket = 107

// Socket reports whether Listen is the path of a Unix socket.
func (c Config) Socket() bool { return strings.HasPrefix(c.Listen, "/") }

// Check returns every mistake in the values of the settings.
func (c Config) Check() (ps jjm.Problems) {
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "web." + field, Text: fmt.Sprintf(format, args...)})
	}
	if text := c.checkListen(); text != "" {
		bad("listen", "%s", text)
	}
	if c.Tokens != "" && filepath.Clean(c.Tokens) != c.Tokens || c.Tokens != "" && !filepath.IsAbs(c.Tokens) {
		bad("tokens", "%.120q: want the plain absolute path of a file, such as \"/etc/jjm/web-tokens\"", c.Tokens)
	}
	switch {
	case c.UserHeader != "" && !headerName(c.UserHeader):
		bad("user_header", "%.60q: want the name of a header of the proxy's own, such as \"X-Remote-User\"", c.UserHeader)
	case c.UserHeader != "" && c.Proxy == "":
		bad("user_header", "no account may set it: set web.proxy to the account of the proxy, such as \"www-data\"")
	case c.UserHeader != "" && c.Listen != "" && !c.Socket():
		bad("user_header", "anybody can set it on %.60s: set web.listen to the absolute path of a Unix socket", c.Listen)
	}
	switch {
	case c.Proxy != "" && c.UserHeader == "":
		bad("proxy", "has no effect without web.user_header: set web.user_header, such as \"X-Remote-User\", or remove it")
	case c.Proxy != "":
		if _, err := asuser.Find(context.Background(), c.Proxy); err != nil {
			bad("proxy", "%v", err)
		}
	}
	const unheard = "has no effect, because nothing listens: set web.listen, such as \"/run/jjm/web.sock\""
	if c.Tokens != "" && c.Listen == "" {
		bad("tokens", unheard)
	}
	if c.UserHeader != "" && c.Listen == "" {
		bad("user_header", unheard)
	}
	return ps
}

// checkListen returns the problem with Listen, "" if there is none.
func (c Config) checkListen() string {
	switch {
	case c.Listen == "":
		return ""
	case c.Socket() && (filepath.Clean(c.Listen) != c.Listen || len(c.Listen) > maxSocket):
		return fmt.Sprintf("%.120q: want the plain path of a socket of at most %d bytes, such as \"/run/jjm/web.sock\"",
			c.Listen, maxSocket)
	case c.Socket():
		return ""
	}
	host, port, err := net.SplitHostPort(c.Listen)
	number, numErr := strconv.ParseUint(port, 10, 16)
	ip := net.ParseIP(host)
	switch {
	case err != nil || numErr != nil || number == 0 || ip == nil && host != "localhost":
		return fmt.Sprintf("%.120q: want an address of this machine with a port, such as \"127.0.0.1:9138\" or "+
			"\"[::1]:9138\", or the absolute path of a Unix socket", c.Listen)
	case ip != nil && !ip.IsLoopback():
		return fmt.Sprintf("%.120s can be reached by other hosts, and the page is not encrypted: listen on 127.0.0.1 or "+
			"on a Unix socket, and let a proxy with https serve other hosts", c.Listen)
	}
	return ""
}

// headerName reports whether a proxy may use the name for its own header. It returns false for a header that any client
// may send.
func headerName(name string) bool {
	plain := strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
	}) < 0
	switch textproto.CanonicalMIMEHeaderKey(name) {
	case "", "Authorization", "Host", "Cookie", "User-Agent", "Accept", "Referer", "Connection":
		return false
	}
	return plain && len(name) <= 60
}
