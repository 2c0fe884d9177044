package web

import (
	"strings"
	"testing"
)

func TestConfig_CheckNamesTheFieldAndTheRemedy(t *testing.T) {
	const socket = "/run/jjm/web.sock"
	for name, c := range map[string]struct {
		config      Config
		field, text string // of the only problem; "" if there is no problem
	}{
		"off":                  {Config{}, "", ""},
		"loopback":             {Config{Listen: "127.0.0.1:9138"}, "", ""},
		"loopback of IPv6":     {Config{Listen: "[::1]:9138"}, "", ""},
		"localhost":            {Config{Listen: "localhost:9138"}, "", ""},
		"socket":               {Config{Listen: socket}, "", ""},
		"tokens":               {Config{Listen: "127.0.0.1:9138", Tokens: "/etc/jjm/web-tokens"}, "", ""},
		"proxy":                {Config{Listen: socket, UserHeader: "X-Remote-User", Proxy: "root"}, "", ""},
		"every address":        {Config{Listen: "0.0.0.0:9138"}, "listen", "let a proxy with https serve other hosts"},
		"an address":           {Config{Listen: "192.0.2.1:9138"}, "listen", "can be reached by other hosts"},
		"no host":              {Config{Listen: ":9138"}, "listen", `such as "127.0.0.1:9138"`},
		"port 0":               {Config{Listen: "127.0.0.1:0"}, "listen", "with a port"},
		"path with dots":       {Config{Listen: "/run/../x"}, "listen", "plain path of a socket"},
		"long path":            {Config{Listen: "/run/" + strings.Repeat("x", 110)}, "listen", "at most 107 bytes"},
		"relative tokens":      {Config{Listen: socket, Tokens: "tokens"}, "tokens", "absolute path of a file"},
		"tokens, no listener":  {Config{Tokens: "/etc/t"}, "tokens", "nothing listens: set web.listen"},
		"header, no listener":  {Config{UserHeader: "X-U", Proxy: "root"}, "user_header", "nothing listens: set web.listen"},
		"header by TCP":        {Config{Listen: "[::1]:1", UserHeader: "X-U", Proxy: "root"}, "user_header", "a Unix socket"},
		"header without proxy": {Config{Listen: socket, UserHeader: "X-U"}, "user_header", "set web.proxy"},
		"a header of clients": {Config{Listen: socket, UserHeader: "authorization", Proxy: "root"}, "user_header",
			`such as "X-Remote-User"`},
		"no header":            {Config{Listen: socket, UserHeader: "X U", Proxy: "root"}, "user_header", `"X U": want`},
		"proxy without header": {Config{Listen: socket, Proxy: "root"}, "proxy", "set web.user_header"},
		"unknown proxy": {Config{Listen: socket, UserHeader: "X-U", Proxy: "no-such-account"}, "proxy",
			"no account of this machine"},
	} {
		ps := c.config.Check()
		switch {
		case c.text == "" && len(ps) > 0:
			t.Errorf("%s: %v", name, ps)
		case c.text != "" && (len(ps) != 1 || ps[0].Field != "web."+c.field || !strings.Contains(ps[0].Text, c.text)):
			t.Errorf("%s: want web.%s with %q, got %v", name, c.field, c.text, ps)
		}
	}
}
