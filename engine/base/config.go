package base

import (
	"fmt"
	"time"

	"jjm"
	"jjm/plan"
)

// Config is the engine's part of the configuration. Every duration is positive
// after Defaults.
type Config struct {
	// Poll is how often each cluster is listed when nothing asks for it sooner;
	// slow listings stretch it, at most to PollMax if that is longer.
	Poll    jjm.Duration `toml:"poll"`
	PollMax jjm.Duration `toml:"poll_max"`
	// UnknownWarn is how long a cluster may give no listing, a local job be
	// missing from listings, or a bulk be in doubt, before health warns.
	UnknownWarn jjm.Duration `toml:"unknown_warn"`
	// Harvest is how often the bulks' done folders are looked at, beside the
	// kernel's notifications, which do not see other hosts' writes.
	Harvest jjm.Duration `toml:"harvest"`
	// ResultSettle is how long to wait for a wrapper's result after the batch
	// system said that the job is over: a shared file system shows it late.
	ResultSettle jjm.Duration `toml:"result_settle"`
	// BatchSettle is how long a result waits for the batch system's last word,
	// which may outrank it: out of memory, out of time (decision R4).
	BatchSettle jjm.Duration `toml:"batch_settle"`
	// Command is the deadline of one command of a batch system.
	Command jjm.Duration `toml:"command"`
	// CancelAgain is how often a cancel that has not been confirmed is repeated.
	CancelAgain jjm.Duration `toml:"cancel_again"`
	// AbsentListings and AbsentFor bound absence (decision R2): a job must be
	// missing from so many healthy listings over so long a time.
	AbsentListings int          `toml:"absent_listings"`
	AbsentFor      jjm.Duration `toml:"absent_for"`
	// HoldMaxAge is the longest that a hold of either kind may last (decision R5):
	// by the batch system, or by the application. HoldMaxAgeGLF is that of jobs
	// which report by a GBS log file, whose holds wait for a person.
	HoldMaxAge    jjm.Duration `toml:"hold_max_age"`
	HoldMaxAgeGLF jjm.Duration `toml:"hold_max_age_glf"`
	// Hold are the site's rules about what the batch systems hold.
	Hold []plan.HoldRule `toml:"hold"`
	// HeartbeatStale is when a running wrapper's heartbeat counts as gone.
	HeartbeatStale jjm.Duration `toml:"heartbeat_stale"`
	// Heartbeat and Grace are passed to the wrapper.
	Heartbeat jjm.Duration `toml:"heartbeat"`
	Grace     jjm.Duration `toml:"grace"`
	// Backoff is the unit of the wait after an unhandled failure: min(2^k, 60)
	// units after the k-th; 0 disables it.
	Backoff jjm.Duration `toml:"backoff"`
	// MaxLocalJobs caps the local jobs of one grid job.
	MaxLocalJobs int `toml:"max_local_jobs"`
	// MaxGridJobsPerUser caps the live grid jobs of one account: further ones are
	// refused. A grid job is live until its output is packed and its last record is
	// written. MaxLocalJobsPerUser refuses further grid jobs while so many local jobs
	// of the account are live. 0 = no bound.
	MaxGridJobsPerUser  int `toml:"max_grid_jobs_per_user"`
	MaxLocalJobsPerUser int `toml:"max_local_jobs_per_user"`
	// MinFreeBytes and MinFreeFiles are what is kept free of the file systems of the
	// work areas and of the records, at most a hundredth of each: with less no new
	// work is taken. 0 = nothing.
	MinFreeBytes int64 `toml:"min_free_bytes"`
	MinFreeFiles int64 `toml:"min_free_files"`
	// MaxFiles caps the files of one dataset: a step sorts all that it can cut in
	// memory, some 500 bytes for each.
	MaxFiles int `toml:"max_files"`
	// DatasetPoll is how often an open dataset's source is looked at again, and
	// work that waits for something is looked at.
	DatasetPoll jjm.Duration `toml:"dataset_poll"`
	// MaxAttempts is how many local jobs may process a file, one after the other,
	// if the first ones fail (decision R7); 1 = only one.
	MaxAttempts int `toml:"max_attempts"`
	// RecommendedCPU and MaxCPU bound a local job, in CPU seconds; 0 = not set.
	RecommendedCPU float64 `toml:"recommended_cpu"`
	MaxCPU         float64 `toml:"max_cpu"`
	// MaxPending is how many local jobs may wait inside one cluster.
	MaxPending int `toml:"max_pending"`
	// MaxWorkBytesPerUser and MaxWorkFilesPerUser are how much may lie in the work area
	// of one account before nothing new of it is taken or submitted; 0 = no bound.
	MaxWorkBytesPerUser int64 `toml:"max_work_bytes_per_user"`
	MaxWorkFilesPerUser int64 `toml:"max_work_files_per_user"`
	// MaxInputBytes caps the inputs of one grid job in all, which the daemon copies
	// into the work area; 0 = no cap.
	MaxInputBytes int64 `toml:"max_input_bytes"`
	// MaxInputFiles caps what has a name in one folder that is an input; 0 = no cap.
	MaxInputFiles int64 `toml:"max_input_files"`
	// MaxTarBytes caps the output tar; 0 = no cap. Without one a sparse file of
	// a job could fill the disk.
	MaxTarBytes int64 `toml:"max_tar_bytes"`
	// MaxOutputBytes caps one collected file of a local job; 0 = no cap.
	MaxOutputBytes int64 `toml:"max_output_bytes"`
	// Retry are the site's retry limits, which a job file may override.
	Retry jjm.Limits `toml:"retry"`
	// RunningFirst swaps rules 1 and 2 of the Ganga master status.
	RunningFirst bool `toml:"running_first"`
	// ExitNotDone is the exit code of a grid job of several local jobs that is not done,
	// 1 to 255 (decision R11).
	ExitNotDone int `toml:"exit_not_done"`
	// PublishEvery is the least time between two writings of one record.
	PublishEvery jjm.Duration `toml:"publish_every"`
	// Workers is how many grid jobs may be prepared, cut or collected at once.
	Workers int `toml:"workers"`
}

// Defaults are the settings of a site that sets nothing.
func Defaults() Config {
	absence := plan.DefaultAbsenceRules()
	return Config{
		Poll:               jjm.Duration(10 * time.Second),
		PollMax:            jjm.Duration(5 * time.Minute),
		UnknownWarn:        jjm.Duration(15 * time.Minute),
		Harvest:            jjm.Duration(time.Second),
		ResultSettle:       jjm.Duration(30 * time.Second),
		BatchSettle:        jjm.Duration(2 * time.Second),
		Command:            jjm.Duration(30 * time.Second),
		CancelAgain:        jjm.Duration(30 * time.Second),
		ExitNotDone:        1,
		AbsentListings:     absence.Listings,
		AbsentFor:          jjm.Duration(absence.Age),
		HoldMaxAge:         jjm.Duration(24 * time.Hour),
		HoldMaxAgeGLF:      jjm.Duration(30 * 24 * time.Hour),
		HeartbeatStale:     jjm.Duration(2 * time.Hour),
		Heartbeat:          jjm.Duration(30 * time.Second),
		Grace:              jjm.Duration(20 * time.Second),
		Backoff:            jjm.Duration(time.Minute),
		MaxLocalJobs:       100_000,
		MaxFiles:           2_000_000,
		MinFreeBytes:       64 << 20,
		MinFreeFiles:       1000,
		MaxGridJobsPerUser: 50_000,
		DatasetPoll:        jjm.Duration(time.Minute),
		MaxAttempts:        3, // maxAttempt of JEDI
		MaxPending:         100_000,
		MaxInputBytes:      16 << 30,
		MaxInputFiles:      20_000,
		MaxTarBytes:        64 << 30,
		MaxOutputBytes:     4 << 30,
		Retry:              jjm.DefaultLimits(),
		PublishEvery:       jjm.Duration(time.Second),
		Workers:            4,
	}
}

// Check finds settings out of range.
func (c Config) Check() jjm.Problems {
	var ps jjm.Problems
	positive := func(field string, d jjm.Duration) {
		if d <= 0 {
			ps = append(ps, jjm.Problem{Field: "engine." + field, Text: "want a duration above 0, such as 10s"})
		}
	}
	positive("poll", c.Poll)
	positive("unknown_warn", c.UnknownWarn)
	positive("harvest", c.Harvest)
	positive("command", c.Command)
	positive("cancel_again", c.CancelAgain)
	positive("absent_for", c.AbsentFor)
	positive("hold_max_age", c.HoldMaxAge)
	positive("hold_max_age_glf", c.HoldMaxAgeGLF)
	positive("heartbeat_stale", c.HeartbeatStale)
	positive("heartbeat", c.Heartbeat)
	positive("publish_every", c.PublishEvery)
	positive("dataset_poll", c.DatasetPoll)
	atLeast := func(field string, n, least int) {
		if n < least {
			ps = append(ps, jjm.Problem{Field: "engine." + field, Text: "want a whole number of at least " + Itoa(least)})
		}
	}
	atLeast("absent_listings", c.AbsentListings, 1)
	atLeast("max_local_jobs", c.MaxLocalJobs, 1)
	atLeast("max_grid_jobs_per_user", c.MaxGridJobsPerUser, 0)
	atLeast("max_local_jobs_per_user", c.MaxLocalJobsPerUser, 0)
	atLeast("min_free_bytes", int(c.MinFreeBytes), 0)
	atLeast("min_free_files", int(c.MinFreeFiles), 0)
	atLeast("max_files", c.MaxFiles, 1)
	atLeast("max_attempts", c.MaxAttempts, 1)
	atLeast("max_pending", c.MaxPending, 1)
	atLeast("workers", c.Workers, 1)
	if c.ExitNotDone < 1 || c.ExitNotDone > 255 {
		ps = append(ps, jjm.Problem{Field: "engine.exit_not_done", Text: "want an exit code that is no success, 1 to 255"})
	}
	return append(ps, checkHolds("engine.hold", c.Hold)...)
}

// checkHolds finds what is wrong with rules.
func checkHolds(field string, rules []plan.HoldRule) jjm.Problems {
	var ps jjm.Problems
	for i, r := range rules {
		for _, p := range r.Check() {
			p.Field = fmt.Sprintf("%s[%d].%s", field, i, p.Field)
			ps = append(ps, p)
		}
	}
	return ps
}
