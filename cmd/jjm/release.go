package main

import (
	"fmt"

	"jjm/internal/api/plain"
	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/formats/shellwords"
	"jjm/internal/jjm"
)

// release releases held jobs.
type release struct {
	Words   *string `name:"args" placeholder:"WORDS" help:"Words for the next attempt, in place of those that its application asked for: 'step 2'."`
	Restart bool    `help:"The next attempt begins from scratch: its only word is RESTART."`
	Force   bool    `help:"Release failed local jobs, and no held ones."`
	many
}

// Help returns the text of --help below the usage.
func (*release) Help() string {
	return "A local job that its application put on hold gets its next attempt with the arguments that the application " +
		"asked for. A local job that the batch system holds is released there. The id of a grid job means all its " +
		"held local jobs. It prints one line for each: ID released N, ID no-change (none of them is held, which is " +
		"a success), or ID error KIND TEXT. Below the line it names the held local jobs that cannot take the words of " +
		"--args or --restart. For the owner and administrators.\n\n" +
		"The words of --args are split as in a shell, and the next attempt finds them in GBS_RETRY_ARG_1, " +
		"GBS_RETRY_ARG_2 and so on. A word may begin with a dash: --args='--seed 7'. A first attempt takes no words, and " +
		"neither does an attempt in the batch system. --force runs failed local jobs again, for instance those that " +
		"reached a limit of retries: with their last words or those of --args or --restart, and with all counters of " +
		"retries at 0. It reopens a grid job that is over, and prints the lines of jjm resubmit.\n\n" +
		"Filters select held local jobs among the ids or, without any, among all your jobs (an administrator's: all " +
		"jobs); with --force they select failed ones. Above 100 jobs it asks, or wants --yes. jjm release --reason " +
		"'*disk*' --dry-run shows what would be released."
}

// Run carries out jjm release.
func (r *release) Run(c *cli) error {
	words, err := r.words()
	if err != nil {
		return err
	}
	if r.Force {
		return (&resubmit{many: r.many, keepGoing: keepGoing{KeepGoing: true}, words: words}).Run(c)
	}
	refs, err := r.choose(c, selection.ToRelease, "")
	if err != nil {
		return err
	}
	how, jobs := wire.ReleaseHow{Args: words, DryRun: r.Dry}, 0
	all := results[wire.Released]{c: c, command: "release",
		ask: func(refs []string) ([]wire.Released, error) {
			a, err := ask(c, r.place, wire.VerbRelease(), wire.ReleaseRequest{Many: wire.Refs(refs...), ReleaseHow: how})
			return a.Release, err
		},
		outcome: func(one wire.Released) *wire.Error { return one.Error },
		show: func(one wire.Released) error {
			jobs += one.Jobs
			if r.JSON {
				return c.printJSON(one)
			}
			_, err := c.out.WriteString(releaseLine(one, r.Dry) + "\n" + noteLines(one.Notes) + leftLines(one.Left, one.LeftOut))
			return err
		}}
	err = all.of(inChunks(refs))
	if r.Dry && len(refs) > 1 {
		c.say("in all %s would be released", jjm.Count(jobs, "local job"))
	}
	return err
}

// words returns the retry arguments for the next attempt, nil if no flag sets them.
func (r *release) words() ([]string, error) {
	switch {
	case r.Restart && r.Words != nil:
		return nil, usage("--args and --restart exclude each other: --restart is --args RESTART")
	case r.Restart:
		return []string{"RESTART"}, nil
	case r.Words == nil:
		return nil, nil
	}
	words, err := shellwords.Split(*r.Words)
	if err != nil {
		return nil, usage("--args: %w", err)
	}
	if len(words) == 0 {
		return nil, usage("--args: want one or more words, such as --args 'step 2'")
	}
	return words, nil
}

func releaseLine(r wire.Released, dry bool) string {
	switch {
	case r.Error != nil:
		return fmt.Sprintf("%s error %s %s", field(r.Ref), r.Error.Kind, plain.Printable(r.Error.Text))
	case r.NoChange:
		return field(r.Ref) + " no-change"
	case dry:
		return fmt.Sprintf("%s would be released: %s", field(r.Ref), jjm.Count(r.Jobs, "local job"))
	}
	return fmt.Sprintf("%s released %d", field(r.Ref), r.Jobs)
}
