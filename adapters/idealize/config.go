package idealize

import (
	"time"

	"jjm/internal/jjm"
)

// Config holds the settings of one cluster's idealizer. The caller of Wrap must set Command if it is zero.
type Config struct {
	// Command is the deadline for the commands of one call. The time that commands wait for their turns does not count.
	Command jjm.Duration `toml:"command"`
	// ParallelCommands is the largest number of calls in progress at the same time. If it is two or more, one place is
	// reserved for cancel, hold and release.
	ParallelCommands int `toml:"parallel_commands"`
	// CommandsPerMinute is the largest number of commands started within any 60 seconds; 0 means no limit. A tenth of
	// the number is reserved for cancel, hold and release, but at least one command if the number is 2 or more. Each
	// command of a call waits for its own turn; the call keeps its place meanwhile.
	CommandsPerMinute int `toml:"commands_per_minute"`
	// BreakerFailures is the number of consecutive commands without an answer after which no more commands are sent; 0
	// means that the breaker never opens.
	BreakerFailures int `toml:"breaker_failures"`
	// BreakerWait is the time from the opening of the breaker to the first probe. It doubles with every failed probe,
	// up to BreakerWaitMax.
	BreakerWait    jjm.Duration `toml:"breaker_wait"`
	BreakerWaitMax jjm.Duration `toml:"breaker_wait_max"`
	// RetryFor is the time for which a call that certainly did nothing is repeated before its error is returned; 0s
	// means no repetition.
	RetryFor jjm.Duration `toml:"retry_for"`
}

// Defaults returns the settings of a cluster whose section is empty.
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

// Check returns a problem for each setting out of range. The Field of a problem is the key without the section.
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
