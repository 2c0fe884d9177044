package fetch

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"jjm/internal/jjm"
)

// Config holds a site's settings for fetching.
type Config struct {
	// MaxBytes is the largest size of one file; 0 means no limit.
	MaxBytes int64 `toml:"max_bytes"`
	// MaxTime is the largest total time of the transfers of one file, without the waits between tries.
	MaxTime jjm.Duration `toml:"max_time"`
	// MinRate is the number of bytes per second that must arrive, on average over a minute.
	MinRate int64 `toml:"min_rate"`
	// Tries is the number of tries of one file that may fail in a row.
	Tries int `toml:"tries"`
	// ParallelPerUser is the number of files of one account that are fetched at the same time; 0 means that URLs are
	// refused.
	ParallelPerUser int `toml:"parallel_per_user"`
	// Networks are the private networks from which files may be fetched, such as "10.1.0.0/16".
	Networks []string `toml:"networks"`
	// Certificates is a file with further trusted certificates (PEM), or a folder of such files; "" means only the
	// certificates of this machine.
	Certificates string `toml:"certificates"`
}

// Defaults returns the default settings.
func Defaults() Config {
	return Config{MaxBytes: 4 << 30, MaxTime: jjm.Duration(6 * time.Hour), MinRate: 1000, Tries: 10, ParallelPerUser: 4,
		Networks: []string{}}
}

// Check returns the problems of the settings.
func (c Config) Check() (ps jjm.Problems) {
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
	}
	if c.MaxBytes < 0 {
		bad("max_bytes", "%d: want a number of bytes, or 0 for no cap", c.MaxBytes)
	}
	if c.MaxTime <= 0 {
		bad("max_time", "want a duration above 0, such as 6h")
	}
	if c.MinRate < 0 {
		bad("min_rate", "%d: want bytes a second, or 0", c.MinRate)
	}
	if c.Tries < 1 {
		bad("tries", "%d: want at least 1", c.Tries)
	}
	if c.ParallelPerUser < 0 {
		bad("parallel_per_user", "%d: want a number, or 0 for none", c.ParallelPerUser)
	}
	for i, text := range c.Networks {
		if _, err := netip.ParsePrefix(text); err != nil {
			bad(fmt.Sprintf("networks[%d]", i), "%.60q: want a network, such as 10.1.0.0/16 or fd00:1::/32", text)
		}
	}
	if c.Certificates != "" && !filepath.IsAbs(c.Certificates) {
		bad("certificates", "%.200q: want an absolute path", c.Certificates)
	}
	return ps
}

// Order returns the order for an input, with the limits of the settings. The caller must set Root and File.
func (c Config) Order(in *jjm.Input, credential string) Order {
	return Order{URL: in.Path, Credential: credential, SHA256: in.SHA256, MaxBytes: c.MaxBytes, MaxTime: c.MaxTime,
		MinRate: c.MinRate, Networks: c.Networks, Certificates: c.Certificates}
}

// The first and the longest wait after failed tries, and the longest wait that a server may request (Retry-After).
const (
	firstWait     = 2 * time.Second
	longWait      = 5 * time.Minute
	maxRetryAfter = time.Hour
)

// Pause returns the wait after a number of failed tries in a row. asked is the wait that the server requested after the
// last try.
func Pause(vain int, asked time.Duration) time.Duration {
	wait := longWait
	if vain < 10 {
		wait = min(firstWait<<max(vain-1, 0), longWait)
	}
	return max(wait, min(asked, maxRetryAfter))
}
