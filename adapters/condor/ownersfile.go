package condor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// A command that runs in the account of an owner would read ~/.condor/user_config. HTCondor finds that file by the
// number of the account, not by HOME, and reads it before it considers the environment. Therefore such commands use the
// daemon's own configuration file, which includes the site's configuration and disables the owner's file.

// configEnv is the environment variable that names the first file that HTCondor's programs read. The value onlyEnv
// means no file.
const (
	configEnv = "CONDOR_CONFIG"
	onlyEnv   = "ONLY_ENV"
)

// ownersFile is the name of the daemon's own configuration file in the adapter's folder.
const ownersFile = "condor_config"

// userFile and proofName are settings in the daemon's own configuration file. A command that asks for both prints only
// the value of proofName if it reads that file and no file of its account.
const (
	userFile   = "USER_CONFIG_FILE"
	proofName  = "JJM_USER_CONFIG_FILES"
	proofValue = "ignored"
)

// ownersConfig returns the text of the daemon's own configuration file, which includes the site's configuration: site
// is a file, a command that ends with "|", or "" for none. The file sets USER_CONFIG_FILE under the name of each kind
// of program, because programs look up a setting under that name first; a USER_CONFIG_FILE in the site's later files
// then has no effect. If site is a file, CONFIG_ROOT is set to its folder, because sites name further files relative to
// it.
func ownersConfig(site string) string {
	var s strings.Builder
	s.WriteString("# Written by jjm at its start, for the commands that it runs as the owners of jobs:\n" +
		"# the site's configuration, without what accounts have in ~/.condor.\n")
	literal := strings.ReplaceAll(site, "$", "$(DOLLAR)")
	switch {
	case site == "" || strings.EqualFold(site, onlyEnv):
	case strings.HasSuffix(site, "|"):
		fmt.Fprintf(&s, "include : %s\n", literal)
	default:
		fmt.Fprintf(&s, "CONFIG_ROOT = %s\ninclude : %s\n", filepath.Dir(literal), literal)
	}
	for _, program := range []string{"", "TOOL.", "SUBMIT."} {
		fmt.Fprintf(&s, "%s%s =\n", program, userFile)
	}
	fmt.Fprintf(&s, "%s = %s\n", proofName, proofValue)
	return s.String()
}

// configFileProblem returns the reason why the value of CONDOR_CONFIG cannot be on a line of a configuration, or "" if
// it can.
func configFileProblem(path string) string {
	switch {
	case strings.ContainsAny(path, "\n\r\x00") || strings.HasSuffix(path, `\`):
		return "want one line that does not end with a backslash"
	case path == "", strings.EqualFold(path, onlyEnv), strings.HasSuffix(path, "|"), filepath.IsAbs(path):
		return ""
	}
	return "want an absolute path"
}

// siteFileOf returns the first file that HTCondor reads, from the output of "condor_config_val -config".
func siteFileOf(text string) (string, error) {
	heading, rest, _ := strings.Cut(text, "\n")
	file, _, _ := strings.Cut(rest, "\n")
	file = strings.TrimSpace(file)
	if !strings.HasPrefix(heading, "Configuration source") {
		return "", fmt.Errorf("it printed %.200q, which has no configuration source", text)
	}
	if problem := configFileProblem(file); problem != "" {
		return "", fmt.Errorf("it names %.200q: %s", file, problem)
	}
	return file, nil
}

// checkProof returns an error unless the output of condor_config_val for userFile and proofName proves that commands
// read the daemon's configuration and no file of their account.
func checkProof(stdout string) error {
	lines := strings.Fields(stdout)
	switch {
	case len(lines) == 1 && lines[0] == proofValue:
		return nil
	case len(lines) > 0 && lines[len(lines)-1] == proofValue:
		return fmt.Errorf("%s is still %.80q", userFile, strings.Join(lines[:len(lines)-1], " "))
	}
	return errors.New("the file is not read")
}

// run runs one of HTCondor's commands. If the error is of kind Busy and marked by adapters.NotStarted, the command was
// not started.
func (a *Adapter) run(ctx context.Context, stdin []byte, argv ...string) (run.Output, error) {
	if !a.env.Owners {
		return a.config.Run(ctx, stdin, argv...)
	}
	if err := a.prove(ctx, false); err != nil {
		return run.Output{}, adapters.NotStarted(err)
	}
	return a.ownersCLI().Run(ctx, stdin, argv...)
}

// prove ensures that commands in the accounts of owners ignore the owners' configuration, and verifies it. After a
// success, later calls do nothing unless again is set, which is needed because the site's configuration may have moved.
// An error is of kind Busy and means that no command may run.
func (a *Adapter) prove(ctx context.Context, again bool) error {
	if !again && a.proven.Load() {
		return nil
	}
	select {
	case a.proving <- struct{}{}:
		defer func() { <-a.proving }()
	case <-ctx.Done():
		return jjm.Errorf(jjm.Busy, "wait for HTCondor's configuration: %w", jjm.Plainly(ctx.Err()))
	}
	if !again && a.proven.Load() {
		return nil
	}
	err := a.setOwnersConfig(ctx)
	a.proven.Store(err == nil)
	return err
}

// ownersCLI returns the CLI in the configuration, with CONDOR_CONFIG set to the daemon's own file.
func (a *Adapter) ownersCLI() adapters.CLI {
	cli := a.config.CLI
	cli.Env = maps.Clone(cli.Env)
	if cli.Env == nil {
		cli.Env = map[string]string{}
	}
	cli.Env[configEnv] = filepath.Join(a.env.State, ownersFile)
	return cli
}

// setOwnersConfig writes the daemon's own configuration file and verifies that commands use it. The verifying commands
// run in the daemon's account, whatever account ctx names, because the answers apply to all accounts. Errors are of
// kind Busy.
func (a *Adapter) setOwnersConfig(ctx context.Context) error {
	ctx = run.WithRunner(ctx, nil)
	site, err := a.siteFile(ctx)
	if err != nil {
		return jjm.Errorf(jjm.Busy, "find HTCondor's configuration: condor_config_val -config: %w: "+
			"set CONDOR_CONFIG in the cluster's env", err)
	}
	file := filepath.Join(a.env.State, ownersFile)
	if err := writeFile(file, ownersConfig(site)); err != nil {
		return jjm.Errorf(jjm.Busy, "write HTCondor's configuration for owners: %w", err)
	}
	out, err := a.ownersCLI().Run(ctx, nil, "condor_config_val", userFile, proofName)
	if err != nil {
		return adapters.AsBusy(err)
	}
	if err := checkProof(string(out.Stdout)); err != nil {
		return jjm.Errorf(jjm.Busy, "commands as owners would read ~/.condor/user_config of the account, so none is run: "+
			"condor_config_val with CONDOR_CONFIG=%s, which includes %q: %w (%s): commands in bin must keep a "+
			"CONDOR_CONFIG that is set, and the site's configuration must be readable", file, site, err, complaints(out.Stderr))
	}
	return nil
}

// siteFile returns the site's configuration: CONDOR_CONFIG of the cluster's environment or, if that is not set, the
// file that HTCondor finds by itself. It returns "" if there is none.
func (a *Adapter) siteFile(ctx context.Context) (string, error) {
	if site := a.config.Env[configEnv]; site != "" {
		return site, nil
	}
	out, err := a.config.Run(ctx, nil, "condor_config_val", "-config")
	if err != nil {
		return "", err
	}
	if out.Exit != 0 {
		return "", fmt.Errorf("exit %d: %s", out.Exit, complaints(out.Stderr))
	}
	return siteFileOf(string(out.Stdout))
}

// writeFile replaces a file atomically, because commands may be reading it.
func writeFile(file, text string) error {
	if have, err := os.ReadFile(file); err == nil && string(have) == text {
		return os.Chmod(file, 0o644)
	}
	next := file + ".new"
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(next, 0o644); err != nil { // independent of the umask
		return err
	}
	return os.Rename(next, file)
}
