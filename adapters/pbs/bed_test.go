package pbs

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// realPBS makes the suite run on the PBS whose commands are on the PATH, instead of on the fake
// (internal/testkit/fakepbs).
var realPBS = flag.Bool("real", false, "run the suite on the PBS on the PATH, as the account that runs the test")

// fakeDir is the folder into which the fake PBS is built; TestMain removes the folder.
var fakeDir string

// fakeProgram builds the fake PBS once, and returns the path of its program.
var fakeProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fakepbs")
	if err != nil {
		return "", err
	}
	fakeDir = dir
	// go test takes results from its cache while the files that a test opens stay the same. The command below opens the
	// sources of the fake in another process, so the test opens them too.
	sources, err := filepath.Glob("../../internal/testkit/fakepbs/*.go")
	for _, source := range sources {
		_, _ = os.Stat(source)
	}
	if err != nil || len(sources) == 0 {
		return "", fmt.Errorf("the sources of the fake: %d files, %w", len(sources), err)
	}
	path := filepath.Join(dir, "fakepbs")
	out, err := run.Run(context.Background(), run.Cmd{
		Argv: []string{"go", "build", "-ldflags", "-s -w", "-o", path, "jjm/internal/testkit/fakepbs"}, Env: os.Environ(),
		Deadline: await.Guard(5 * time.Minute),
	})
	if err == nil && out.Exit != 0 {
		err = fmt.Errorf("build the fake: exit %d: %s", out.Exit, out.Stderr)
	}
	return path, err
})

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if fakeDir != "" {
		_ = os.RemoveAll(fakeDir)
	}
	os.Exit(code)
}

// bed is a complex (a server with its nodes) of the fake PBS, used by one test.
type bed struct {
	t     testing.TB
	bin   string
	state string
	env   map[string]string
	owner jjm.Owner
	clk   *clock // the clock of the bed's adapters; nil for the time of day
	pace  *pace  // the pace of the bed's adapters; nil for the ordinary pace
}

func newBed(t testing.TB, settings ...string) *bed {
	t.Helper()
	needs.EndToEnd(t)
	program, err := fakeProgram()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b := &bed{t: t, bin: filepath.Join(dir, "bin"), state: filepath.Join(dir, "state"), owner: self(t)}
	b.env = map[string]string{"FAKEPBS_DIR": b.state, "FAKEPBS_USER": b.owner.User, "FAKEPBS_SLOTS": "16", "HOME": dir}
	for _, kv := range settings {
		name, value, _ := strings.Cut(kv, "=")
		b.env["FAKEPBS_"+name] = value
	}
	b.do(program, "install", b.bin)
	t.Cleanup(func() { b.do(program, "stop") })
	return b
}

// self is the account that runs the test.
func self(t testing.TB) jjm.Owner {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return jjm.Owner{UID: os.Getuid(), GID: os.Getgid(), User: u.Username}
}

// do runs a command as the owner of the jobs, fails the test if the command fails, and returns its output.
func (b *bed) do(argv ...string) string {
	b.t.Helper()
	return b.as(b.owner.User, argv...)
}

// as runs a command as another account of the complex, and returns its output.
func (b *bed) as(user string, argv ...string) string {
	b.t.Helper()
	if !filepath.IsAbs(argv[0]) {
		argv[0] = filepath.Join(b.bin, argv[0])
	}
	env := []string{"PATH=" + os.Getenv("PATH")}
	for k, v := range b.env {
		if k != "FAKEPBS_USER" {
			env = append(env, k+"="+v)
		}
	}
	out, err := run.Run(context.Background(),
		run.Cmd{Argv: argv, Env: append(env, "FAKEPBS_USER="+user), Stdin: []byte("sleep 60\n"),
			Deadline: await.Guard(5 * time.Minute)})
	if err != nil || out.Exit != 0 {
		b.t.Fatalf("%v: exit %d, error %v\n%s%s", argv, out.Exit, err, out.Stdout, out.Stderr)
	}
	return strings.TrimSpace(string(out.Stdout))
}

// fault starts or ends a fault of the complex.
func (b *bed) fault(name string, on bool) {
	b.t.Helper()
	path := filepath.Join(b.state, "faults", name)
	err := os.Remove(path)
	if on {
		if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			err = os.WriteFile(path, nil, 0o666)
		}
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// adapter makes an adapter for the complex.
func (b *bed) adapter(change ...func(*Config)) *Adapter {
	b.t.Helper()
	a := makeAdapter(b.t, func(c *Config) {
		c.Bin, c.Env = b.bin, b.env
		for _, f := range change {
			f(c)
		}
	})
	if b.pace != nil {
		a.pace = *b.pace
	}
	if b.clk != nil {
		a.env.Now, a.pace = b.clk.now, pace{b.clk.now, b.clk.pause}
	}
	return a
}

func makeAdapter(t testing.TB, change func(*Config)) *Adapter {
	t.Helper()
	a, err := New("site", adapters.Env{State: t.TempDir()}, func(config any) error {
		change(config.(*Config))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.(*Adapter)
}
