package collector

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"jjm"
	"jjm/adapters"
	"jjm/publish/advertise"
)

// Config is the section [advertise] of the configuration.
type Config struct {
	// Site is the site's name among sites; "" = the host's.
	Site string `toml:"site"`
	// Collectors are the addresses of the brokers' collectors, host or host:port;
	// none: nothing is sent.
	Collectors []string `toml:"collectors"`
	// CLI says where condor_advertise and condor_status are.
	adapters.CLI
	// Interval is the time from one sending to the next, Lifetime how long a
	// collector keeps an ad that is not renewed.
	Interval jjm.Duration `toml:"interval"`
	Lifetime jjm.Duration `toml:"lifetime"`
	// Timeout is the deadline of one command, WithdrawTime of the withdrawal when
	// the daemon stops.
	Timeout      jjm.Duration `toml:"timeout"`
	WithdrawTime jjm.Duration `toml:"withdraw_time"`
	// Quality is GLUE's QualityLevel_t.
	Quality string `toml:"quality"`
	// Gatekeeper are the site's doors.
	Gatekeeper []Gatekeeper `toml:"gatekeeper"`
}

// Gatekeeper is one [[advertise.gatekeeper]].
type Gatekeeper struct {
	Kind    string `toml:"kind"`
	Contact string `toml:"contact"`
}

// Defaults are the settings of a site that sets nothing. HTCondor's own daemons
// send every 5 minutes and are dropped after 15 (UPDATE_INTERVAL and
// CLASSAD_LIFETIME in its manual); a broker that starts anew should not miss a
// site for so long.
func Defaults() Config {
	return Config{
		Collectors: []string{}, Interval: jjm.Duration(2 * time.Minute), Lifetime: jjm.Duration(15 * time.Minute),
		Timeout:      jjm.Duration(30 * time.Second),
		WithdrawTime: jjm.Duration(5 * time.Second), Quality: "production",
	}
}

// missable is how many sendings in a row may fail before the ad is dropped.
const missable = 3

// Check finds every mistake in the settings.
func (c Config) Check() jjm.Problems {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "advertise." + field, Text: fmt.Sprintf(format, args...)})
	}
	between := func(field string, d jjm.Duration, least, most time.Duration) {
		if d.D() < least || d.D() > most {
			bad(field, "%v: want %v to %v", d, least, most)
		}
	}
	between("interval", c.Interval, time.Second, 24*time.Hour)
	between("timeout", c.Timeout, time.Second, 10*time.Minute)
	between("withdraw_time", c.WithdrawTime, time.Second, 20*time.Second) // systemd waits 30 s for the daemon's end
	if c.Lifetime < missable*c.Interval {
		bad("lifetime", "%v: want at least %d times interval, %v", c.Lifetime, missable, missable*c.Interval)
	}
	if err := c.CLI.Check(); err != nil {
		bad("bin", "%v", err)
	}
	if levels := []string{"production", "pre-production", "testing", "development"}; !slices.Contains(levels, c.Quality) {
		bad("quality", "%.40q: want one of %q", c.Quality, levels)
	}
	if len(c.Site) > maxText {
		bad("site", "%.40q...: want at most %d bytes", c.Site, maxText)
	}
	for i, name := range c.Collectors {
		if !address(name) || slices.Index(c.Collectors, name) != i {
			bad(fmt.Sprintf("collectors[%d]", i), "%.80q: want a host or host:port, once, such as \"broker.example.org:9618\"",
				name)
		}
	}
	for i, g := range c.Gatekeeper {
		field := fmt.Sprintf("gatekeeper[%d].", i)
		if !slices.Contains(advertise.Kinds(), g.Kind) {
			bad(field+"kind", "%.40q: want one of %q", g.Kind, advertise.Kinds())
		}
		if g.Contact == "" || len(g.Contact) > maxText {
			bad(field+"contact", "%.40q: want what clients call, such as ce.example.org:2119/jobmanager-jjm", g.Contact)
		}
	}
	return ps
}

// maxText is the longest name that is published, in bytes.
const maxText = 1000

// address reports whether a text can be given to condor_advertise -pool: one
// word that is no option.
func address(s string) bool {
	return s != "" && len(s) <= maxText && !strings.HasPrefix(s, "-") &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == ',' })
}
