package all

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// notebook is a runner that records commands and answers in place of a batch system.
type notebook struct {
	answer func(argv []string) run.Output

	mu    sync.Mutex
	argv  [][]string
	ahead time.Duration // how far now is ahead of the clock
}

// now returns the time of a world in which each command takes longer than the pauses that adapters make between
// commands, so that no adapter pauses.
func (n *notebook) now() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Add(n.ahead)
}

// Run implements run.Runner.
func (n *notebook) Run(_ context.Context, c run.Cmd) (run.Output, error) {
	argv := slices.Clone(c.Argv)
	argv[0] = filepath.Base(argv[0])
	n.note(argv)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ahead += 5 * time.Second
	return n.answer(argv), nil
}

// UID implements run.Runner.
func (*notebook) UID() int { return os.Getuid() }

func (n *notebook) note(argv []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.argv = append(n.argv, argv)
}

// commands returns the recorded commands.
func (n *notebook) commands() [][]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.argv)
}

// driver calls the methods of an adapter under a notebook.
type driver struct {
	*testing.T
	ctx   context.Context
	a     adapters.Adapter
	owner jjm.Owner
}

// open makes an adapter of a kind of cluster and returns a driver that calls it. The notebook records the adapter's
// commands.
func (n *notebook) open(t *testing.T, kind string, env adapters.Env, change func(config any)) *driver {
	t.Helper()
	if env.State == "" {
		env.State = t.TempDir()
	}
	a, err := Registry()[kind]("site", env, func(into any) error { change(into); return nil })
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return &driver{T: t, ctx: run.WithRunner(t.Context(), n), a: a,
		owner: jjm.Owner{UID: os.Getuid(), GID: os.Getgid(), User: me.Username}}
}

func (d *driver) must(what string, err error) {
	d.Helper()
	if err != nil {
		d.Fatalf("%s: %v", what, err)
	}
}

func (d *driver) probe() {
	d.Helper()
	d.must("probe", d.a.(adapters.Prober).Probe(d.ctx))
}

// submit submits a bulk with its tag, and returns references to its jobs.
func (d *driver) submit(tag jjm.Tag, n int, r jjm.Request) (jobs []adapters.Ref) {
	d.Helper()
	got, err := d.a.Submit(d.ctx, adapters.Bulk{Tag: tag, Owner: d.owner, N: n, Argv: []string{"true"}, Dir: "/",
		Request: r})
	d.must("submit", err)
	for i := range n {
		jobs = append(jobs, adapters.Ref{Tag: tag, ID: got.ID, Index: int32(i)})
	}
	return jobs
}

// control acts on jobs. An error of the whole call fails the test; the results for single jobs are ignored.
func (d *driver) control(op adapters.Op, jobs ...adapters.Ref) {
	d.Helper()
	_, err := d.a.Control(d.ctx, d.owner, op, jobs)
	d.must(op.String(), err)
}

func (d *driver) list(since time.Time) {
	d.Helper()
	_, err := d.a.List(d.ctx, d.owner, since)
	d.must("list", err)
}

func (d *driver) find(tags ...jjm.Tag) {
	d.Helper()
	_, err := d.a.Find(d.ctx, d.owner, tags)
	d.must("find", err)
}

func (d *driver) account(jobs ...adapters.Ref) {
	d.Helper()
	_, err := d.a.Account(d.ctx, d.owner, jobs)
	d.must("account", err)
}

// tagOf returns a tag for a name of at most four characters.
func tagOf(t *testing.T, name string) jjm.Tag {
	t.Helper()
	tag, err := jjm.NewTag((name + "aaaa")[:4])
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

// everything returns a request for resources of every kind, a queue, an account and a project.
func everything() jjm.Request {
	return jjm.Request{Cores: 2, MemoryMB: 100, GPUs: 1, ScratchMB: 10, Walltime: jjm.Duration(time.Minute), Queue: "q",
		Account: "a", Project: "p"}
}

// printed returns the output of a command that succeeded and printed a text.
func printed(format string, args ...any) run.Output {
	return run.Output{Stdout: fmt.Appendf(nil, format, args...)}
}

// recorded returns the text of a file below the folder adapters.
func recorded(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// after returns the word after an option, "" if there is none.
func after(argv []string, option string) string {
	if i := slices.Index(argv, option); i >= 0 && i+1 < len(argv) {
		return argv[i+1]
	}
	return ""
}

// has reports whether a command has an option.
func has(argv []string, option string) bool {
	return slices.ContainsFunc(argv, func(w string) bool { return w == option || strings.HasPrefix(w, option+"=") })
}
