package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"jjm/gate/client"
)

func main() { os.Exit(start()) }

func start() int {
	// Most commands live for milliseconds: collecting garbage is not worth its
	// start. The limit brings it back for those that hold much.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(128 << 20)
	c := &cli{
		in: os.Stdin, out: bufio.NewWriter(os.Stdout), err: os.Stderr,
		outFile: os.Stdout, errFile: os.Stderr, getenv: os.Getenv,
	}
	return c.main(os.Args[1:])
}

// cli is what a command needs of its process.
type cli struct {
	in  io.Reader
	out *bufio.Writer // flushed by main
	err io.Writer
	// outFile and errFile are the files behind out and err, for the question
	// whether they are terminals.
	outFile, errFile *os.File
	getenv           func(string) string
}

// main runs a command line and gives the exit code.
func (c *cli) main(args []string) int {
	name, err := c.run(args)
	if ferr := c.out.Flush(); ferr != nil && err == nil {
		err = fmt.Errorf("write standard output: %w", ferr)
	}
	code := codeOf(err)
	var silent *exit
	if err != nil && !(errors.As(err, &silent) && silent.err == nil) {
		c.say("jjm%s: %v", name, err)
		if client.IsUnreachable(err) {
			c.say("Is it running? An installed one starts with: systemctl start jjm; your own with: jjm serve")
		}
	}
	return code
}

// run finds the command and runs it; name is " NAME" once it is known.
func (c *cli) run(args []string) (name string, err error) {
	if len(args) == 0 {
		c.help()
		return "", &exit{code: exitUsage}
	}
	switch args[0] {
	case "help", "--help", "-h":
		if len(args) == 1 {
			c.help()
			return "", nil
		}
		args = []string{args[1], "--help"}
	case "--version":
		args[0] = "version"
	}
	if strings.HasPrefix(args[0], "-") {
		return "", usage("flag %.40q: flags come after the command: jjm COMMAND [FLAGS]; see jjm --help", args[0])
	}
	if testsCluster(args) {
		return " clusters test", becomeDaemon("clusters", args[1:])
	}
	cmd, err := find(args[0])
	if err != nil {
		return "", err
	}
	v := cmd.make()
	if p, ok := v.(passer); ok {
		return " " + cmd.name, p.pass(c, args[1:])
	}
	help, err := parse(cmd, v, args[1:])
	if err != nil {
		return " " + cmd.name, err
	}
	if help {
		c.helpOn(cmd)
		return " " + cmd.name, nil
	}
	return " " + cmd.name, v.run(c)
}

// say tells people something. What came from jobs and files cannot control
// their terminal.
func (c *cli) say(format string, args ...any) {
	_, _ = io.WriteString(c.err, printableLines(fmt.Sprintf(format, args...))+"\n")
}
