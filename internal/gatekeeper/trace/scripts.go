package trace

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// The longest times that a script may take. HTCondor ends its scripts after 30 s (blah_child_poll_timeout), and jjm.pm
// waits 25 s for an answer. submit-jjm-job tries to store a job for 3 minutes, and then reports the error.
const (
	patience    = 30 * time.Second
	arcPatience = 4 * time.Minute
)

// scripts runs the scripts of a gatekeeper.
type scripts struct {
	t        *tracer
	dir      string
	patience time.Duration
}

// present checks that scripts exist in dir and are executable.
func (s scripts) present(language string, names ...string) (string, error) {
	for _, name := range names {
		path := filepath.Join(s.dir, name)
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case !info.Mode().IsRegular():
			err = jjm.Errorf(jjm.Invalid, "%s is no file", path)
		case info.Mode()&0o111 == 0:
			err = jjm.Errorf(jjm.Invalid, "%s is not executable", path)
		}
		if err != nil {
			return "", &Fault{Tried: "find the scripts that the gatekeeper runs", On: s.dir, Text: err.Error(),
				Remedy: "make install-" + language + ", or say where they are: --scripts DIR"}
		}
	}
	return s.dir + " has " + strings.Join(names, ", "), nil
}

// run runs a script of dir in the same way as the gatekeeper. The error is a *Fault if the script does not end in time,
// or if its exit code is not 0.
func (s scripts) run(ctx context.Context, stdin, name string, args ...string) (stdout string, err error) {
	path := filepath.Join(s.dir, name)
	out, err := run.Run(ctx, run.Cmd{Argv: append([]string{path}, args...), Dir: s.t.folder, Env: s.env(),
		Stdin: []byte(stdin), Deadline: s.patience, MaxOutput: 1 << 20})
	text := ""
	switch {
	case err != nil:
		text = strings.TrimSuffix(err.Error()+": "+oneLine(string(out.Stderr)), ": ")
	case out.Exit != 0:
		text = fmt.Sprintf("exit code %d: %s", out.Exit, oneLine(cmp.Or(string(out.Stderr), string(out.Stdout))))
	default:
		return string(out.Stdout), nil
	}
	return "", &Fault{Tried: "run " + name + " " + strings.Join(args, " "), On: path, Text: text,
		Remedy: "jjm-gatekeeper must lie where the script looks for it, and the daemon must take the account's jobs: " +
			"docs/GATEKEEPERS.md; jjm health tells the rest"}
}

// env returns the environment of the scripts. From the environment of this process it takes only the account's name and
// home folder and the places of the gatekeeper's configuration, because a gatekeeper does not have the other variables
// of a person's shell.
func (s scripts) env() []string {
	getenv := s.t.Place.Getenv
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + cmp.Or(getenv("HOME"), "/"),
		"LOGNAME=" + getenv("LOGNAME")}
	for _, name := range []string{"BLAHPD_CONFIG_LOCATION", "GLITE_LOCATION", "JJM_GRAM_CONF", "GLOBUS_LOCATION"} {
		if v := getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	if s.t.Place.State != "" {
		env = append(env, "JJM_STATE="+s.t.Place.State)
	}
	if s.t.Place.Socket != "" {
		env = append(env, "JJM_SOCKET="+s.t.Place.Socket)
	}
	return env
}

// file returns the path of a file in the job's folder.
func (s scripts) file(name string) string { return filepath.Join(s.t.folder, name) }

// write writes a text to a file in the job's folder.
func (s scripts) write(name, text string) error {
	path := s.file(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// openTarAt opens the tar in the job's folder.
func (s scripts) openTarAt(name string) (io.ReadCloser, string, error) {
	f, err := os.Open(s.file(name))
	return f, s.file(name), err
}

// strange returns the fault for a script whose output the gatekeeper cannot parse.
func (s scripts) strange(name, out string) *Fault {
	return &Fault{Tried: "read the answer of " + name, On: filepath.Join(s.dir, name),
		Text:   fmt.Sprintf("the gatekeeper does not understand %.200q", out),
		Remedy: "the script must be jjm's own, of the version of the daemon: run its install.sh install"}
}

// oneLine returns a text as one line of at most 400 bytes.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.ToValidUTF8(text[:min(len(text), 400)], "?")
}
