package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
)

func main() { os.Exit(start()) }

func start() int {
	// Most commands run for milliseconds, which does not make garbage collection
	// worthwhile. The memory limit turns it on again for commands that need much memory.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(128 << 20)
	return standard().main(os.Args[1:])
}

// standard returns the cli of this process.
func standard() *cli {
	return &cli{
		in: os.Stdin, out: bufio.NewWriter(os.Stdout), err: os.Stderr,
		outFile: os.Stdout, errFile: os.Stderr, getenv: os.Getenv,
	}
}

// cli holds the standard streams and the environment of a command, which tests replace.
type cli struct {
	in  io.Reader
	out *bufio.Writer // main flushes it
	err io.Writer
	// outFile and errFile are the files behind out and err, to find out whether they are
	// terminals.
	outFile, errFile *os.File
	getenv           func(string) string
}

// main carries out a command line and returns the exit code. It prints the error of the command.
func (c *cli) main(args []string) int {
	name, err := c.run(args)
	if ferr := c.out.Flush(); ferr != nil && err == nil {
		err = fmt.Errorf("write standard output: %w", ferr)
	}
	code := codeOf(err)
	var silent *exit
	if err != nil && !(errors.As(err, &silent) && silent.err == nil) {
		if name == " health" {
			code = health.ExitCode(health.Unknown) // a monitoring system would read exitUsage, 2, as CRITICAL
		}
		c.say("jjm%s: %v", name, err)
		if client.IsUnreachable(err) {
			c.say("Is it running? An installed one starts with: systemctl start jjm; your own with: jjm serve")
		}
	}
	return code
}

// run parses a command line and carries out its command. name is a blank and the name of the command, or "" if the
// command is not known.
func (c *cli) run(args []string) (name string, err error) {
	args, err = normalized(args)
	if err != nil {
		return "", err
	}
	var all commands
	helped := false
	parser, err := kong.New(&all, kong.Name("jjm"), kong.Description("The job manager of a site."),
		kong.Writers(c.out, c.err), kong.Exit(func(int) { helped = true }), kong.Help(c.help),
		kong.ExplicitGroups(groups()), kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, FlagsLast: true}),
		kong.Bind(c))
	if err != nil {
		return "", jjm.Errorf(jjm.Internal, "the grammar of the command line: %w", err)
	}
	if c.getenv("COMP_LINE") != "" { // a shell asks for completions
		kongcompletion.Register(parser)
		return "", nil
	}
	if len(args) == 0 {
		return "", errors.Join(c.overview(parser.Model), &exit{code: exitUsage})
	}
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") { // kong takes the word for an argument
		if err := unknownCommand(parser.Model, args); err != nil {
			return "", err
		}
	}
	ctx, err := parser.Parse(gathered(parser.Model, args))
	if helped {
		return "", nil
	}
	if err != nil {
		return usageError(err)
	}
	return " " + ctx.Selected().Path(), ctx.Run(c)
}

// normalized replaces "jjm help COMMAND" and "jjm --version" by "jjm COMMAND --help" and "jjm version". It returns an
// error for flags before the command.
func normalized(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	switch args[0] {
	case "help":
		return append(slices.Clone(args[1:]), "--help"), nil
	case "--version":
		return append([]string{"version"}, args[1:]...), nil
	case "--help", "-h":
		return args, nil
	}
	if strings.HasPrefix(args[0], "-") {
		return nil, usage("flag %.40q: flags come after the command: jjm COMMAND [FLAGS]; see jjm --help", args[0])
	}
	return args, nil
}

// usageError converts an error of the parser to the error that the command line is wrong, and returns the name of the
// command as run does.
func usageError(err error) (name string, _ error) {
	var bad *kong.ParseError
	if errors.As(err, &bad) && bad.Context != nil {
		if n := bad.Context.Selected(); n != nil {
			name = " " + n.Path()
		}
	}
	return name, usage("%w; see jjm%s --help", err, name)
}

// say prints a message for people to standard error. It escapes characters that could control a terminal, because a
// message may contain text from jobs and files.
func (c *cli) say(format string, args ...any) {
	_, _ = io.WriteString(c.err, plain.PrintableLines(fmt.Sprintf(format, args...))+"\n")
}
