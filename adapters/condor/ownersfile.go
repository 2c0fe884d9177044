package condor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// Commands that run as the owners of jobs would read ~/.condor/user_config, found
// by the account's number and not by HOME, and read before variables of the
// environment count. So they get a configuration of the daemon's own, which takes
// in the site's and switches that off.

// configEnv names the file that HTCondor's programs read first; onlyEnv in its place
// means none.
const (
	configEnv = "CONDOR_CONFIG"
	onlyEnv   = "ONLY_ENV"
)

// ownersFile is the name of the daemon's own configuration in the adapter's folder.
const ownersFile = "condor_config"

// The proof that a command reads the daemon's own configuration, and nothing
// of its account's: these two, asked for at once, give the second one's value alone.
const (
	userFile   = "USER_CONFIG_FILE"
	proofName  = "JJM_USER_CONFIG_FILES"
	proofValue = "ignored"
)

// ownersConfig is a configuration that takes in the site's: a file, a command that
// ends with "|", or "" for none. Programs look for NAME under that of their kind
// first, so that whatever the site's files, which may be read later, say of
// USER_CONFIG_FILE does not count. CONFIG_ROOT, the folder of the first file, is
// what sites name their further files by.
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

// oddConfigFile says what keeps the value of CONDOR_CONFIG from being named on a
// line of a configuration.
func oddConfigFile(path string) string {
	switch {
	case strings.ContainsAny(path, "\n\r\x00") || strings.HasSuffix(path, `\`):
		return "want one line that does not end with a backslash"
	case path == "", strings.EqualFold(path, onlyEnv), strings.HasSuffix(path, "|"), filepath.IsAbs(path):
		return ""
	}
	return "want an absolute path"
}

// siteFileOf reads, from what "condor_config_val -config" prints, the file that is
// read first.
func siteFileOf(text string) (string, error) {
	heading, rest, _ := strings.Cut(text, "\n")
	file, _, _ := strings.Cut(rest, "\n")
	file = strings.TrimSpace(file)
	if !strings.HasPrefix(heading, "Configuration source") {
		return "", fmt.Errorf("it printed %.200q: want a configuration source", text)
	}
	if problem := oddConfigFile(file); problem != "" {
		return "", fmt.Errorf("it names %.200q: %s", file, problem)
	}
	return file, nil
}

// proven says whether what condor_config_val printed of userFile and proofName
// proves that commands read the daemon's configuration and no account's.
func proven(stdout string) error {
	lines := strings.Fields(stdout)
	switch {
	case len(lines) == 1 && lines[0] == proofValue:
		return nil
	case len(lines) > 0 && lines[len(lines)-1] == proofValue:
		return fmt.Errorf("%s is still %.80q", userFile, strings.Join(lines[:len(lines)-1], " "))
	}
	return errors.New("it is not read")
}

// run runs one of HTCondor's commands.
func (a *Adapter) run(ctx context.Context, stdin []byte, argv ...string) (run.Output, error) {
	if !a.env.Owners {
		return a.config.Run(ctx, stdin, argv...)
	}
	if err := a.prove(ctx, false); err != nil {
		return run.Output{}, err
	}
	return a.ownersCLI().Run(ctx, stdin, argv...)
}

// prove has commands that run as owners read nothing of theirs, and proves it: once,
// and anew if that is wanted, since the site's configuration may be elsewhere now.
// An error, of kind Busy, means that no command must be run.
func (a *Adapter) prove(ctx context.Context, anew bool) error {
	if !anew && a.proven.Load() {
		return nil
	}
	select {
	case a.proving <- struct{}{}:
		defer func() { <-a.proving }()
	case <-ctx.Done():
		return jjm.Errorf(jjm.Busy, "wait for HTCondor's configuration: %w", ctx.Err())
	}
	if !anew && a.proven.Load() {
		return nil
	}
	err := a.setOwnersConfig(ctx)
	a.proven.Store(err == nil)
	return err
}

// ownersCLI is the configuration's, with the daemon's own file.
func (a *Adapter) ownersCLI() adapters.CLI {
	cli := a.config.CLI
	cli.Env = maps.Clone(cli.Env)
	if cli.Env == nil {
		cli.Env = map[string]string{}
	}
	cli.Env[configEnv] = filepath.Join(a.env.State, ownersFile)
	return cli
}

// setOwnersConfig writes the daemon's own configuration, and proves that it counts.
// It asks as the daemon's account, whatever account ctx is for: the answers hold for
// all of them. Errors are of kind Busy.
func (a *Adapter) setOwnersConfig(ctx context.Context) error {
	ctx = run.Through(ctx, nil)
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
	if err := proven(string(out.Stdout)); err != nil {
		return jjm.Errorf(jjm.Busy, "commands as owners would read ~/.condor/user_config of the account, so none is run: "+
			"condor_config_val with CONDOR_CONFIG=%s, which includes %q: %w (%s): commands in bin must keep a "+
			"CONDOR_CONFIG that is set, and the site's configuration must be readable", file, site, err, complaints(out.Stderr))
	}
	return nil
}

// siteFile is what the site's own CONDOR_CONFIG says, or what HTCondor finds
// without it; "" is that there is none.
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

// writeFile puts a text in the place of a file at once: commands may be reading it.
func writeFile(file, text string) error {
	if have, err := os.ReadFile(file); err == nil && string(have) == text {
		return os.Chmod(file, 0o644)
	}
	next := file + ".new"
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(next, 0o644); err != nil { // whatever the umask is
		return err
	}
	return os.Rename(next, file)
}
