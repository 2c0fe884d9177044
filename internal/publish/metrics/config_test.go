package metrics

import (
	"strings"
	"testing"
)

func TestConfig_CheckNamesTheFieldAndTheRemedy(t *testing.T) {
	long := "/run/" + strings.Repeat("x", 110)
	for name, c := range map[string]struct {
		config      Config
		field, text string // of the only problem; "" if there is no problem
	}{
		"off":                     {Config{}, "", ""},
		"loopback":                {Config{Listen: "127.0.0.1:9137"}, "", ""},
		"another loopback":        {Config{Listen: "127.3.2.1:9137"}, "", ""},
		"loopback of IPv6":        {Config{Listen: "[::1]:9137"}, "", ""},
		"localhost":               {Config{Listen: "localhost:9137"}, "", ""},
		"socket":                  {Config{Listen: "/run/jjm/scrapes"}, "", ""},
		"anyone":                  {Config{Listen: "0.0.0.0:9137", Allow: "anyone"}, "", ""},
		"anyone of IPv6":          {Config{Listen: "[::]:9137", Allow: "anyone"}, "", ""},
		"every address":           {Config{Listen: "0.0.0.0:9137"}, "listen", `metrics have no password`},
		"an address of a network": {Config{Listen: "192.0.2.1:9137"}, "listen", `set metrics.allow = "anyone"`},
		"every address of IPv6":   {Config{Listen: "[::]:9137"}, "listen", `Listen on 127.0.0.1`},
		"no host":                 {Config{Listen: ":9137"}, "listen", `such as "127.0.0.1:9137"`},
		"a name":                  {Config{Listen: "ce.example.org:9137", Allow: "anyone"}, "listen", "want an IP address"},
		"no port":                 {Config{Listen: "127.0.0.1"}, "listen", "with a port"},
		"port 0":                  {Config{Listen: "127.0.0.1:0"}, "listen", "with a port"},
		"large port":              {Config{Listen: "127.0.0.1:65536"}, "listen", "with a port"},
		"relative path":           {Config{Listen: "run/scrapes"}, "listen", "absolute path of a Unix socket"},
		"path with dots":          {Config{Listen: "/run/../scrapes"}, "listen", "plain path"},
		"long path":               {Config{Listen: long}, "listen", "at most 107 bytes"},
		"unknown word":            {Config{Listen: "127.0.0.1:1", Allow: "all"}, "allow", `"all": want "anyone"`},
		"anyone without listener": {Config{Allow: "anyone"}, "allow", "nothing listens: set metrics.listen"},
		"anyone at a socket":      {Config{Listen: "/run/scrapes", Allow: "anyone"}, "allow", "only this machine can reach"},
	} {
		ps := c.config.Check()
		switch {
		case c.text == "" && len(ps) > 0:
			t.Errorf("%s: %v", name, ps)
		case c.text != "" && (len(ps) != 1 || ps[0].Field != "metrics."+c.field || !strings.Contains(ps[0].Text, c.text)):
			t.Errorf("%s: want %s with %q, got %v", name, c.field, c.text, ps)
		}
	}
}
