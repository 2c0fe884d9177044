package programs

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"jjm/internal/testkit/said"
)

// Command runs jjm with the arguments that a person would type. Its output is checked against the rules for text that
// people read (package said), and the test fails if the output breaks a rule.
type Command struct {
	*exec.Cmd
	t testing.TB
}

// Command returns the command jjm with arguments. Run it like an [exec.Cmd].
func (p *Programs) Command(t testing.TB, args ...string) *Command {
	t.Helper()
	return &Command{exec.Command(p.Path(t, "jjm"), args...), t}
}

// Output is [exec.Cmd.Output], with the check of the output.
func (c *Command) Output() ([]byte, error) {
	c.t.Helper()
	out, err := c.Cmd.Output()
	c.heard(out)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		Heard(c.t, strings.Join(c.Args[1:], " "), exit.Stderr)
	}
	return out, err
}

// CombinedOutput is [exec.Cmd.CombinedOutput], with the check of the output.
func (c *Command) CombinedOutput() ([]byte, error) {
	c.t.Helper()
	out, err := c.Cmd.CombinedOutput()
	c.heard(out)
	return out, err
}

// Run is [exec.Cmd.Run], with the check of the output.
func (c *Command) Run() error {
	c.t.Helper()
	var out, errs bytes.Buffer
	both := func(w io.Writer, kept *bytes.Buffer) io.Writer {
		if w == nil {
			return kept
		}
		return io.MultiWriter(w, kept)
	}
	c.Stdout, c.Stderr = both(c.Stdout, &out), both(c.Stderr, &errs)
	err := c.Cmd.Run()
	c.heard(out.Bytes())
	Heard(c.t, strings.Join(c.Args[1:], " "), errs.Bytes())
	return err
}

// heard checks standard output against the rules. It does not check a command that prints the content of a job's file.
func (c *Command) heard(out []byte) {
	c.t.Helper()
	if args := c.Args[1:]; !slices.Contains(args, "cat") && !slices.Contains(args, "output") {
		Heard(c.t, strings.Join(args, " "), out)
	}
}

// Heard checks the output of a command against the rules.
func Heard(t testing.TB, command string, text []byte) {
	t.Helper()
	for _, wrong := range said.Wrong(string(text)) {
		t.Errorf("jjm %s says what nobody should have to read: %s", command, wrong)
	}
}
