package notify

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"jjm/internal/formats/mailaddress"
	"jjm/internal/jjm"
)

// Config holds the site's settings for notices.
type Config struct {
	// Mail is a program with its arguments. It reads a message and sends it to the recipients in the headers, like
	// sendmail -t. If Mail is empty, no mail is sent.
	Mail []string `toml:"mail"`
	// From is the sender of the messages; "" means the program's default sender.
	From string `toml:"from"`
	// Command is a program with its arguments. It reads an event as JSON. If Command is empty, no program runs.
	Command []string `toml:"command"`
	// CallbacksPerUser is the number of servers in the job files of one account that are called at the same time. 0 means
	// that job files may not have a callback.
	CallbacksPerUser int `toml:"callbacks_per_user"`
	// Patience is the time after which a notice that cannot be delivered is given up.
	Patience jjm.Duration `toml:"patience"`
}

// Defaults returns the default settings: no notices.
func Defaults() Config {
	return Config{Mail: []string{}, Command: []string{}, Patience: jjm.Duration(24 * time.Hour)}
}

// On reports whether the site sends notices or calls servers.
func (c Config) On() bool { return c.Addresses() || c.CallbacksPerUser > 0 }

// Addresses reports whether the site passes the ends of grid jobs to the addresses in job files, by mail or through the
// program.
func (c Config) Addresses() bool { return len(c.Mail) > 0 || len(c.Command) > 0 }

// maxCallbacksPerUser is the largest value of CallbacksPerUser. Each call is a process.
const maxCallbacksPerUser = 64

// Check returns all mistakes in the settings.
func (c Config) Check() (ps jjm.Problems) {
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "notify." + field, Text: fmt.Sprintf(format, args...)})
	}
	for _, program := range []struct {
		field string
		argv  []string
	}{{"mail", c.Mail}, {"command", c.Command}} {
		for i, arg := range program.argv {
			if i == 0 && !filepath.IsAbs(arg) {
				bad(program.field, "%.200q: want a program with an absolute path, then its arguments", arg)
			} else if strings.ContainsRune(arg, 0) {
				bad(program.field, "%.200q: contains a NUL character", arg)
			}
		}
	}
	if err := mailaddress.Check(c.From); c.From != "" && err != nil {
		bad("from", "%.60q: %v", c.From, err)
	}
	if c.From != "" && len(c.Mail) == 0 {
		bad("from", "has no effect without notify.mail: set notify.mail too, or leave it out")
	}
	if n := c.CallbacksPerUser; n < 0 || n > maxCallbacksPerUser {
		bad("callbacks_per_user", "%d: want 1 to %d, or 0 for no call-backs", n, maxCallbacksPerUser)
	}
	if c.Patience <= 0 {
		bad("patience", "want a duration above 0, such as 24h")
	}
	return ps
}
