package collector

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/publish/advertise"
)

// Config is the section [advertise] of the configuration.
type Config struct {
	// Site is the name of the site, different from the names of all other sites; "" means the name of the host.
	Site string `toml:"site"`
	// Collectors are the addresses of the brokers' collectors, HOST or HOST:PORT. If the list is empty, nothing is sent.
	Collectors []string `toml:"collectors"`
	// CLI locates the commands condor_advertise and condor_status.
	adapters.CLI
	// Interval is the time between two sendings of the ad. Lifetime is the time after which a collector drops an ad that
	// was not sent again.
	Interval jjm.Duration `toml:"interval"`
	Lifetime jjm.Duration `toml:"lifetime"`
	// Timeout is the deadline of one command. WithdrawTime is the deadline for withdrawing
	// the ad when the daemon stops.
	Timeout      jjm.Duration `toml:"timeout"`
	WithdrawTime jjm.Duration `toml:"withdraw_time"`
	// Quality is a QualityLevel_t of GLUE.
	Quality string `toml:"quality"`
	// Gatekeeper are the gatekeepers of the site.
	Gatekeeper []Gatekeeper `toml:"gatekeeper"`
}

// Gatekeeper is one [[advertise.gatekeeper]].
type Gatekeeper struct {
	Kind    string `toml:"kind"`
	Contact string `toml:"contact"`
}

// Defaults returns the default settings. HTCondor's own daemons send their ads every 5 minutes, and collectors drop
// these ads after 15 minutes (UPDATE_INTERVAL and CLASSAD_LIFETIME in HTCondor's manual). jjm sends its ad more often,
// because a broker that was restarted should not miss a site for 5 minutes.
func Defaults() Config {
	return Config{
		Collectors: []string{}, Interval: jjm.Duration(2 * time.Minute), Lifetime: jjm.Duration(15 * time.Minute),
		Timeout:      jjm.Duration(30 * time.Second),
		WithdrawTime: jjm.Duration(5 * time.Second), Quality: "production",
	}
}

// missable is the number of consecutive updates that may fail before the collector drops the ad.
const missable = 3

// Check returns every mistake in the settings.
func (c Config) Check() jjm.Problems {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "advertise." + field, Text: fmt.Sprintf(format, args...)})
	}
	between := func(field string, d jjm.Duration, least, most time.Duration) {
		if d.D() < least || d.D() > most {
			bad(field, "%v: want %v to %v", d, jjm.Duration(least), jjm.Duration(most))
		}
	}
	between("interval", c.Interval, time.Second, 24*time.Hour)
	between("timeout", c.Timeout, time.Second, 10*time.Minute)
	// Systemd kills the daemon if it has not stopped 30 s after the request to stop.
	between("withdraw_time", c.WithdrawTime, time.Second, 20*time.Second)
	if c.Lifetime < missable*c.Interval {
		bad("lifetime", "%v: want at least %d times interval, %v", c.Lifetime, missable, missable*c.Interval)
	}
	for _, p := range c.CLI.Check() {
		bad(p.Field, "%s", p.Text)
	}
	if levels := []string{"production", "pre-production", "testing", "development"}; !slices.Contains(levels, c.Quality) {
		bad("quality", "%.40q: want one of %q", c.Quality, levels)
	}
	if len(c.Site) > maxText {
		bad("site", "%.40q...: want at most %d bytes", c.Site, maxText)
	}
	for i, name := range c.Collectors {
		if !address(name) || slices.Index(c.Collectors, name) != i {
			bad(fmt.Sprintf("collectors[%d]", i), "%.80q: want HOST or HOST:PORT, each once, such as \"broker.example.org:9618\"",
				name)
		}
	}
	for i, g := range c.Gatekeeper {
		field := fmt.Sprintf("gatekeeper[%d].", i)
		if !slices.Contains(advertise.Kinds(), g.Kind) {
			bad(field+"kind", "%.40q: want one of %q", g.Kind, advertise.Kinds())
		}
		if g.Contact == "" || len(g.Contact) > maxText {
			bad(field+"contact", "%.40q: want the address that clients use, such as ce.example.org:2119/jobmanager-jjm", g.Contact)
		}
	}
	return ps
}

// maxText is the maximum length of a published name, in bytes.
const maxText = 1000

// address reports whether s can be the argument of condor_advertise -pool: one word that is
// not an option.
func address(s string) bool {
	return s != "" && len(s) <= maxText && !strings.HasPrefix(s, "-") &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == ',' })
}
