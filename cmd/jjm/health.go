package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/health"
	"jjm/internal/storage/spool"
)

// siteHealth shows whether the site is well.
type siteHealth struct {
	JSON bool `name:"json" help:"Answer as one line of JSON."`

	place
}

// Help returns the text of --help below the usage.
func (*siteHealth) Help() string {
	return "The first line is for Nagios: the worst state, its first cause, and figures after a bar. Then each check " +
		"has a line, the worst first, with what to do. While no daemon answers the state is CRITICAL, and the lines " +
		"show what the state folder and the records say. docs/SERVICE.md has all checks and their thresholds.\n\n" +
		"Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN (also if the command line is wrong)."
}

// Run carries out jjm health.
func (s *siteHealth) Run(c *cli) error {
	a, err := ask(c, s.place, wire.VerbHealth(), wire.HealthRequest{})
	down := client.IsUnreachable(err) || jjm.KindOf(err) == jjm.Busy
	now := a.Health
	switch {
	case down:
		now = s.down(c, err)
	case err != nil:
		now = &wire.Health{At: jjm.At(time.Now()), Checks: []wire.HealthCheck{{State: health.Unknown, Name: "daemon",
			Text: "the daemon does not say whether the site is well", Detail: err.Error(),
			Remedy: "an older daemon must be started again after an upgrade; else ask as another account"}}}
	}
	if err := s.print(c, now, down); err != nil {
		return err
	}
	if code := health.ExitCode(health.Worst(now.Checks)); code != 0 {
		return &exit{code: code}
	}
	return nil
}

// print prints the outcome of the checks: a line for Nagios, and then a line for each check. down is set if no daemon
// answers.
func (s *siteHealth) print(c *cli, now *wire.Health, down bool) error {
	worst, line := health.Worst(now.Checks), health.Line(now.Checks)
	if s.JSON {
		return c.printJSON(struct {
			State string `json:"state"`
			Exit  int    `json:"exit"`
			Line  string `json:"line"`
			Down  bool   `json:"down,omitempty"` // no daemon answers
			*wire.Health
		}{worst, health.ExitCode(worst), line, down, now})
	}
	if _, err := fmt.Fprintln(c.out, plain.Printable(line)); err != nil {
		return err
	}
	return c.printChecks(now.Checks)
}

// printChecks prints a line for each check, and its remedy below it.
func (c *cli) printChecks(checks []wire.HealthCheck) error {
	var rows [][2]string
	for _, one := range checks {
		text := one.Text
		if one.Since != 0 {
			text += ", since " + one.Since.Local()
		}
		if one.Detail != "" {
			text += ": " + one.Detail
		}
		rows = append(rows, [2]string{fmt.Sprintf("%-8s %s", one.State, one.Name), health.NoBar(text)})
		if one.Remedy != "" {
			rows = append(rows, [2]string{"", "do: " + health.NoBar(one.Remedy)})
		}
	}
	return c.facts(rows)
}

// mostRecords is the greatest number of records that down reads.
const mostRecords = 1000

// down returns the checks of jjm health while no daemon answers. It looks at the state folder, the records and the
// spool as far as this account may read them. why is the error because no daemon answers.
func (s *siteHealth) down(c *cli, why error) *wire.Health {
	at := s.at(c)
	f := health.DownFacts{Now: jjm.At(time.Now()), Error: why.Error(), State: at.StateDir()}
	for _, name := range []string{"store.db", "store.db-wal"} {
		if info, err := os.Stat(filepath.Join(f.State, name)); err == nil {
			f.Written = max(f.Written, jjm.At(info.ModTime()))
		}
	}
	o := s.offline(c, "health", why)
	ids, err := o.ids(0)
	if err != nil {
		f.RecordsError = err.Error()
	}
	for _, id := range ids[:min(len(ids), mostRecords)] {
		h, ok, err := o.readable(id)
		if err != nil || !ok {
			continue
		}
		f.Looked, f.AsOf = f.Looked+1, max(f.AsOf, h.Written)
		if !h.Grid.Status.Final() {
			f.Unfinished++
		}
	}
	w, err := spool.Count(s.spoolDir(c, f.State), os.Getuid(), spool.MaxEntries)
	if !errors.Is(err, fs.ErrPermission) {
		f.Spool = &health.Spool{Entries: w.Entries, More: w.More, Oldest: jjm.At(w.Oldest)}
	}
	if f.Spool != nil && err != nil {
		f.Spool.Error = err.Error()
	}
	var disk syscall.Statfs_t
	if syscall.Statfs(f.State, &disk) == nil {
		f.Disk = health.Disk{Of: "state", Path: f.State, Bytes: int64(disk.Blocks) * disk.Bsize,
			Free: int64(disk.Bavail) * disk.Bsize}
	}
	return &wire.Health{At: f.Now, Checks: health.DownChecks(f)}
}

// spoolDir returns the folder of the spool: $JJM_SPOOL, unless --state is set, or the folder spool in the state folder.
// Gatekeepers use the same folder.
func (p place) spoolDir(c *cli, state string) string {
	if dir := c.getenv("JJM_SPOOL"); dir != "" && p.State == "" {
		return dir
	}
	return filepath.Join(state, "spool")
}
