package base

import (
	"fmt"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/policy/analyse/rule"
	"jjm/internal/policy/plan"
	"jjm/internal/sys/fetch"
)

// Config is the engine's part of the configuration. Defaults sets every duration to more than
// 0. etc/jjm.toml has the reason for each default.
type Config struct {
	// Poll is the time between two listings of a cluster if no event requires an earlier listing. Slow listings stretch
	// Poll, to PollMax at most.
	Poll    jjm.Duration `toml:"poll"`
	PollMax jjm.Duration `toml:"poll_max"`
	// UnknownWarn is the time after which the health report warns of a cluster that answers no listing, of a local job
	// that is missing from listings, or of a bulk whose submission is in doubt.
	UnknownWarn jjm.Duration `toml:"unknown_warn"`
	// Harvest is the time between two scans of the bulks' folders of results. The scans are needed in addition to the
	// kernel's notifications, because these do not report writes by other hosts.
	Harvest jjm.Duration `toml:"harvest"`
	// ResultSettle is how long jjm waits for the wrapper's result after the batch system reported the end of the job. A
	// shared file system may show the result late.
	ResultSettle jjm.Duration `toml:"result_settle"`
	// BatchSettle is how long the result of an attempt waits for the batch system's final report, because the report may
	// outrank the result: for example, it may say that the job ran out of memory or time (decision R4).
	BatchSettle jjm.Duration `toml:"batch_settle"`
	// Command is the deadline of one command of a batch system.
	Command jjm.Duration `toml:"command"`
	// CancelAgain is the time after which jjm repeats a cancel that was not confirmed.
	CancelAgain jjm.Duration `toml:"cancel_again"`
	// AbsentListings and AbsentFor define when a job counts as absent (decision R2): at least AbsentListings successful
	// listings in a row lack the job, over a time of at least AbsentFor.
	AbsentListings int          `toml:"absent_listings"`
	AbsentFor      jjm.Duration `toml:"absent_for"`
	// HoldMaxAge is how long the batch system or the application may hold a local job before the local job fails (decision
	// R5). HoldMaxAgeGLF is the same for jobs that report by a GBS log file; it is longer because their holds wait for a
	// person.
	HoldMaxAge    jjm.Duration `toml:"hold_max_age"`
	HoldMaxAgeGLF jjm.Duration `toml:"hold_max_age_glf"`
	// Hold are the site's rules about jobs that batch systems hold.
	Hold []plan.HoldRule `toml:"hold"`
	// Rule are the site's rules about how attempts end, in addition to the rules that jjm ships.
	Rule []rule.Rule `toml:"rule"`
	// HeartbeatStale is the age from which the last heartbeat of a wrapper no longer proves that the wrapper runs.
	HeartbeatStale jjm.Duration `toml:"heartbeat_stale"`
	// Heartbeat is the time between two heartbeats of the wrapper. Grace is how long the
	// wrapper waits between the signal that asks its application to end and the signal that
	// kills it.
	Heartbeat jjm.Duration `toml:"heartbeat"`
	Grace     jjm.Duration `toml:"grace"`
	// Backoff is the unit of the back-off, which is the wait before the next attempt of a local job after an unhandled
	// failure, a failure for which the application requested no retry. After the k-th unhandled failure, the wait is
	// min(2^k, 60) units. 0 = no back-off.
	Backoff jjm.Duration `toml:"backoff"`
	// MaxLocalJobs is the greatest number of local jobs of one grid job.
	MaxLocalJobs int `toml:"max_local_jobs"`
	// MaxGridJobsPerUser is the number of live grid jobs of an account from which further grid jobs are refused. A grid
	// job is live until its output is packed and its last record is written. MaxLocalJobsPerUser is the number of live
	// local jobs of an account from which further grid jobs are refused. 0 = no limit.
	MaxGridJobsPerUser  int `toml:"max_grid_jobs_per_user"`
	MaxLocalJobsPerUser int `toml:"max_local_jobs_per_user"`
	// MinFreeBytes and MinFreeFiles are numbers of free bytes and of free inodes in the file systems of the work areas and
	// of the records. Below either number no new work is accepted or submitted. A number that is more than a hundredth of
	// the file system's size is lowered to that. 0 = no limit.
	MinFreeBytes int64 `toml:"min_free_bytes"`
	MinFreeFiles int64 `toml:"min_free_files"`
	// MaxFiles is the greatest number of files in one dataset. It is limited because a step holds in memory all files that
	// it can still cut, some 500 bytes for each.
	MaxFiles int `toml:"max_files"`
	// DatasetPoll is the time between two reads of the source of an open dataset, and between two checks of a grid job
	// that waits for files.
	DatasetPoll jjm.Duration `toml:"dataset_poll"`
	// MaxAttempts is the greatest number of local jobs that may try the same file. The next local job is made after the
	// previous local job failed (decision R7).
	MaxAttempts int `toml:"max_attempts"`
	// MaxAutoResubmits is how often jjm automatically resubmits a failed local job of a grid job whose job file has
	// auto_resubmit; 0 = never. If AutoResubmitShare or more of the ended local jobs of a grid job failed, jjm resubmits
	// none of them. AutoResubmitShare must be above 0 and at most 1.
	MaxAutoResubmits  int     `toml:"max_auto_resubmits"`
	AutoResubmitShare float64 `toml:"auto_resubmit_share"`
	// AutoKill is the number of failed local jobs at which jjm kills a grid job of which no local job has completed,
	// unless the job file sets another number; 0 = never.
	AutoKill int `toml:"auto_kill"`
	// RecommendedCPU is the CPU time that a local job should need, and MaxCPU the CPU time that it may need at
	// most, in seconds; 0 = not set. Cutting by CPU time uses them (decision R20).
	RecommendedCPU float64 `toml:"recommended_cpu"`
	MaxCPU         float64 `toml:"max_cpu"`
	// MaxPending is the greatest number of local jobs that may wait in one batch system.
	MaxPending int `toml:"max_pending"`
	// MaxWorkBytesPerUser and MaxWorkFilesPerUser limit an account's work area. Above either limit, new grid jobs of
	// the account are refused and its local jobs are not submitted; 0 = no limit.
	MaxWorkBytesPerUser int64 `toml:"max_work_bytes_per_user"`
	MaxWorkFilesPerUser int64 `toml:"max_work_files_per_user"`
	// MaxInputBytes is the greatest sum of the sizes of one grid job's inputs, which the daemon copies into the work area;
	// 0 = no limit.
	MaxInputBytes int64 `toml:"max_input_bytes"`
	// MaxInputFiles is the greatest number of files, folders and links in an input that is a folder; 0 = no limit.
	MaxInputFiles int64 `toml:"max_input_files"`
	// MaxTarBytes is the greatest size of a grid job's output tar; 0 = no limit. Without a limit, a job could fill the
	// disk with one sparse file.
	MaxTarBytes int64 `toml:"max_tar_bytes"`
	// MaxOutputBytes is the greatest size of one file that jjm collects from a local job; 0 = no limit.
	MaxOutputBytes int64 `toml:"max_output_bytes"`
	// Retry are the site's retry limits, which a job file may override.
	Retry jjm.Limits `toml:"retry"`
	// RunningFirst swaps the first two rules by which the status of a grid job follows from its local jobs, as in Ganga
	// (plan.Master).
	RunningFirst bool `toml:"running_first"`
	// ExitNotDone is the exit code that jjm reports for a grid job that has several local jobs and is not done; from 1 to
	// 255 (decision R11).
	ExitNotDone int `toml:"exit_not_done"`
	// PublishEvery is the shortest time between two writes of the same record.
	PublishEvery jjm.Duration `toml:"publish_every"`
	// Fetch are the settings for inputs that are URLs.
	Fetch fetch.Config `toml:"fetch"`
	// Workers is how many grid jobs may be prepared, cut or collected at the same time.
	Workers int `toml:"workers"`
}

// Defaults returns the settings of a site that sets nothing.
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
		MaxAttempts:        3,    // maxAttempt of JEDI
		MaxAutoResubmits:   5,    // MaxNumResubmits of Ganga
		AutoResubmitShare:  0.25, // MaxFracForResubmit of Ganga
		MaxPending:         100_000,
		MaxInputBytes:      16 << 30,
		MaxInputFiles:      20_000,
		MaxTarBytes:        64 << 30,
		MaxOutputBytes:     4 << 30,
		Retry:              jjm.DefaultLimits(),
		PublishEvery:       jjm.Duration(time.Second),
		Fetch:              fetch.Defaults(),
		Workers:            4,
	}
}

// Check returns a problem for each setting that is out of range.
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
	atLeast("max_auto_resubmits", c.MaxAutoResubmits, 0)
	atLeast("auto_kill", c.AutoKill, 0)
	atLeast("max_pending", c.MaxPending, 1)
	if !(c.AutoResubmitShare > 0 && c.AutoResubmitShare <= 1) {
		ps = append(ps, jjm.Problem{Field: "engine.auto_resubmit_share",
			Text: "want a number above 0 and at most 1, such as 0.25"})
	}
	atLeast("workers", c.Workers, 1)
	if c.ExitNotDone < 1 || c.ExitNotDone > 255 {
		ps = append(ps, jjm.Problem{Field: "engine.exit_not_done", Text: "want an exit code other than 0: 1 to 255"})
	}
	if c.PollMax < c.Poll {
		ps = append(ps, jjm.Problem{Field: "engine.poll_max",
			Text: fmt.Sprintf("%s: want at least poll, %s", c.PollMax, c.Poll)})
	}
	for _, p := range c.Retry.Problems() {
		p.Field = "engine.retry." + p.Field
		ps = append(ps, p)
	}
	for _, p := range c.Fetch.Check() {
		p.Field = "engine.fetch." + p.Field
		ps = append(ps, p)
	}
	ps = append(ps, rule.Check("engine.rule", c.Rule)...)
	return append(ps, checkHolds("engine.hold", c.Hold)...)
}

// checkHolds returns the problems of hold rules. The Field of each problem begins with field and the index of the rule.
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
