package daemon_test

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/storage/highwater"
)

const quickJob = `type = "script"
[params]
command = ["true"]
count = 1
`

// siteWith returns a site whose daemon has run one grid job and still runs, so that its store consists of store.db and
// the write-ahead log.
func siteWith(t *testing.T) *daemon {
	t.Helper()
	d := start(t, "")
	d.write("job.toml", quickJob)
	if out, code := d.says("submit", "job.toml", "--wait"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	return d
}

// copied copies files and folders of a site's state to a new state folder, and returns its path.
func (d *daemon) copied(names ...string) string {
	d.t.Helper()
	to := filepath.Join(shortDir(d.t), "state")
	if err := os.Mkdir(to, 0o755); err != nil {
		d.t.Fatal(err)
	}
	return d.into(to, strings.Join(names, " "))
}

// into copies further files and folders to a state folder.
func (d *daemon) into(to, names string) string {
	d.t.Helper()
	for _, name := range strings.Fields(names) {
		if out, err := exec.Command("cp", "-a", filepath.Join(d.dir, "state", name), to).CombinedOutput(); err != nil {
			d.t.Fatalf("%v: %s", err, out)
		}
	}
	return to
}

// unstamped removes the stamp that names the store to which the work area of a state folder belongs.
func unstamped(t *testing.T, state string) string {
	t.Helper()
	if err := os.Remove(filepath.Join(state, "work", highwater.StampFile)); err != nil {
		t.Fatal(err)
	}
	return state
}

// withRecords makes an empty folder of records, because a daemon refuses a restored store without this folder.
func (d *daemon) withRecords(state string) string {
	d.t.Helper()
	if err := os.Mkdir(filepath.Join(state, "records"), 0o755); err != nil {
		d.t.Fatal(err)
	}
	return state
}

// serve starts a daemon in a state folder and waits until it serves or ends. It returns the daemon's output and whether
// it served. A daemon that refuses exits with 5.
func (d *daemon) serve(state string, args ...string) (said string, serves bool) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, bin.Path(d.t, "jjm"), append([]string{"serve"}, args...)...)
	cmd.Env = append(d.env, "JJM_STATE="+state)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out := &untilServes{cancel: cancel}
	cmd.Stderr = out
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 5 && ctx.Err() == nil {
		d.t.Fatalf("the daemon ended with %v, want exit 5 of one that refuses:\n%s", cmd.ProcessState, out)
	}
	return out.String(), ctx.Err() != nil
}

// untilServes stops a daemon as soon as it serves.
type untilServes struct {
	logBuffer
	cancel func()
}

func (u *untilServes) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "jjm serves") {
		u.cancel()
	}
	return u.logBuffer.Write(p)
}

// listing returns the non-empty files of a state folder with their sizes. It leaves out the lock and the folder daemon,
// which every daemon makes.
func listing(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("find", dir, "-type", "f", "-size", "+0", "!", "-path", "*/lock", "!", "-path", "*/daemon/*",
		"-printf", "%P %s\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const storeFiles = "store.db store.db-wal store.db-shm"

// TestStore_OneThatDoesNotFitItsFolderIsRefused copies the store in several wrong ways. One of them is store.db without
// its write-ahead log: this file of 4096 bytes is an empty store, with which the daemon would assign id 1 again.
func TestStore_OneThatDoesNotFitItsFolderIsRefused(t *testing.T) {
	t.Parallel()
	d, other := siteWith(t), siteWith(t)
	for name, c := range map[string]struct {
		state string
		want  []string // nil: the daemon serves
	}{
		"store.db alone": {d.copied("store.db"),
			[]string{"/store.db: it has no tables: ", "store.db-wal", "to begin with a new store, move "}},
		"store.db alone and the records": {d.copied("store.db", "records"), []string{"it has no tables", "store.db-wal"}},
		"the log alone": {d.copied("store.db-wal"),
			[]string{"/store.db: it is missing, but its write-ahead log ", "to begin with a new store, move "}},
		"no store, and the records": {d.copied("records"),
			[]string{"knows grid jobs up to 0, but records/ holds 1:", "store.db-wal", "is given up"}},
		"no store, and the mark": {d.copied("store.ids"),
			[]string{"up to 0, but store.ids says that ids up to 1 were given out:"}},
		"no store, and work areas": {d.copied("work"),
			[]string{"/state/work belongs to another store: ", "this one is new", "serve --adopt"}},
		"no store, and work areas of before there were stamps": {unstamped(t, d.copied("work")),
			[]string{"up to 0, but ", "work/" + userName(t) + "/jobs holds 1:"}},
		"another site's store": {other.into(d.copied("store.ids", "records"), storeFiles),
			[]string{"up to 1, but store.ids is of another store ("}},
		"all of the store and the records, as before there were marks": {
			d.copied(append(strings.Fields(storeFiles), "records")...), nil},
		"all of the store alone": {d.copied(strings.Fields(storeFiles)...),
			[]string{"knows grid jobs up to 1, but nothing else of a site is here: no store.ids", "make the folder "}},
		"all of the store alone, on purpose": {d.withRecords(d.copied(strings.Fields(storeFiles)...)), nil},
		"an emptied folder":                  {d.copied(), nil},
		"another site moved to here":         {other.into(d.copied(), storeFiles+" store.ids records"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			d.t = t
			before := listing(t, c.state)
			checked := d.configCheck(c.state)
			said, serves := d.serve(c.state)
			if serves != (c.want == nil) || (checked == "") != serves {
				t.Fatalf("it serves: %v; config check says %q; the daemon:\n%s", serves, checked, said)
			}
			for _, want := range c.want {
				if !strings.Contains(said, want) || !strings.Contains(checked, want) {
					t.Errorf("want %q of daemon and check; they say\n%s\n%s", want, said, checked)
				}
			}
			if after := listing(t, c.state); !serves && before != after {
				t.Errorf("what was refused has changed, from\n%s\nto\n%s", before, after)
			}
			if w, err := highwater.Read(filepath.Join(c.state, highwater.File)); serves && (w == nil || err != nil) {
				t.Errorf("it serves and has no mark: %v", err)
			}
		})
	}
}

// TestStore_OlderCopyIsRefused restores a store that was copied before the last grid job. The daemon refuses it.
func TestStore_OlderCopyIsRefused(t *testing.T) {
	t.Parallel()
	d := siteWith(t)
	old := d.copied(strings.Fields(storeFiles)...)
	if out, code := d.says("submit", "job.toml", "--wait"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	said, serves := d.serve(d.into(old, "store.ids"))
	if serves || !strings.Contains(said, "knows grid jobs up to 1, but store.ids says that ids up to 2 were given out") {
		t.Errorf("it serves: %v\n%s", serves, said)
	}
	if out, code := d.says("config", "check"); code != 0 {
		t.Errorf("of the site itself, whose daemon runs: exit %d\n%s", code, out)
	}
}

// configCheck returns the output of "jjm config check" about a state folder.
func (d *daemon) configCheck(state string) string {
	d.t.Helper()
	cmd := exec.Command(bin.Path(d.t, "jjm"), "config", "check")
	cmd.Env = append(d.env, "JJM_STATE="+state)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 5 {
		d.t.Fatalf("%v\n%s", err, out)
	}
	if err == nil {
		return ""
	}
	return string(out)
}

func userName(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}
