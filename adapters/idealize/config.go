package idealize

import (
	"time"

	"jjm"
)

// Config are the settings of one cluster's idealizer. A zero Command is given
// by whoever wraps; the others have their defaults from Defaults.
type Config struct {
	// Command is the deadline of the commands of one call, without the time in
	// which they wait for their turns.
	Command jjm.Duration `toml:"command"`
	// ParallelCommands is how many commands may run at once. With two or more,
	// one place is kept for cancel, hold and release.
	ParallelCommands int `toml:"parallel_commands"`
	// CommandsPerMinute is the most commands begun within any 60 seconds; 0 =
	// no ceiling. A tenth, at least one of two, is kept for cancel, hold and
	// release. Of a call that needs several commands each waits for its turn;
	// the call keeps its place meanwhile.
	CommandsPerMinute int `toml:"commands_per_minute"`
	// BreakerFailures is how many commands in a row may get no answer before
	// no more are sent; 0 = the breaker never opens.
	BreakerFailures int `toml:"breaker_failures"`
	// BreakerWait is the time from there to the first probe. It doubles with
	// every probe in vain, up to BreakerWaitMax.
	BreakerWait    jjm.Duration `toml:"breaker_wait"`
	BreakerWaitMax jjm.Duration `toml:"breaker_wait_max"`
	// RetryFor is how long what certainly did not happen is tried again, for
	// the call at hand; 0s = never.
	RetryFor jjm.Duration `toml:"retry_for"`
}

// Defaults are the settings of a cluster whose section sets nothing.
func Defaults() Config {
	return Config{
		Command:           jjm.Duration(30 * time.Second),
		ParallelCommands:  4,
		CommandsPerMinute: 300,
		BreakerFailures:   3,
		BreakerWait:       jjm.Duration(10 * time.Second),
		BreakerWaitMax:    jjm.Duration(2 * time.Minute),
		RetryFor:          jjm.Duration(5 * time.Second),
	}
}

// Check finds settings out of range. The fields of the problems are bare keys.
func (c Config) Check() jjm.Problems {
	var ps jjm.Problems
	bad := func(field, text string) { ps = append(ps, jjm.Problem{Field: field, Text: text}) }
	if c.Command <= 0 {
		bad("command", "want a duration above 0, such as 30s")
	}
	if c.ParallelCommands < 1 {
		bad("parallel_commands", "want a whole number of at least 1")
	}
	if c.CommandsPerMinute < 0 {
		bad("commands_per_minute", "want a whole number, or 0 for no ceiling")
	}
	if c.BreakerFailures < 0 {
		bad("breaker_failures", "want a whole number, or 0 for no breaker")
	}
	if c.BreakerWait <= 0 {
		bad("breaker_wait", "want a duration above 0, such as 10s")
	}
	if c.BreakerWaitMax < c.BreakerWait {
		bad("breaker_wait_max", "want at least breaker_wait")
	}
	return ps
}
