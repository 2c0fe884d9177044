package run

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

func TestMain(m *testing.M) {
	if IsStarter(os.Args) {
		os.Exit(Start(os.Args))
	}
	os.Exit(m.Run())
}

// nobody is an account with a supplementary group.
var nobody = &Account{UID: 65534, GID: 65534, Groups: []uint32{4}}

// asNobody returns a command that runs as nobody, and the path of its output file in a world-writable folder.
func asNobody(t *testing.T, script string) (Detached, string) {
	t.Helper()
	needs.Root(t, "to become somebody else")
	dir := needs.PublicDir(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "log")
	return Detached{Argv: []string{"/bin/sh", "-c", script}, Dir: dir, As: nobody, Log: log,
		Env: []string{"PATH=/usr/bin:/bin", "ODD=+x=y", "GODEBUG=inittrace=1"}}, log
}

func TestDetachAs_IsTheAccountAndInheritsNothing(t *testing.T) {
	d, log := asNobody(t, `grep -E '^(Uid|Gid|Groups|CapEff|CapPrm)' /proc/$$/status; pwd
		ls -l /proc/$$/fd; env; echo $0-$1`)
	d.Argv = append(d.Argv, "zero", "one")
	p, err := Detach(d)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if trouble, err := p.AwaitStart(); trouble != nil || err != nil {
		t.Fatal(trouble, err)
	}
	ws, _, err := p.Wait()
	text := strings.ReplaceAll(read(t, log), "\t", " ")
	if err != nil || ws.ExitStatus() != 0 {
		t.Fatalf("status %v, error %v:\n%s", ws, err, text)
	}
	for _, want := range []string{"Uid: 65534 65534 65534 65534\n", "Gid: 65534 65534 65534 65534\n", "Groups: 4 \n",
		"CapPrm: 0000000000000000\n", "CapEff: 0000000000000000\n", d.Dir + "\n", "ODD=+x=y\n", "GODEBUG=inittrace=1\n",
		"zero-one\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, envMark+"PATH") || strings.Contains(text, " 3 -> ") ||
		strings.Contains(text, "init internal/") {
		t.Errorf("it has more than it was given:\n%s", text)
	}
}

func TestDetachAs_ReportsWhyItDidNotStart(t *testing.T) {
	closed := t.TempDir()
	for name, c := range map[string]struct {
		change func(d *Detached)
		want   error
		kind   jjm.Kind
	}{
		"no such program":  {func(d *Detached) { d.Argv = []string{"/no/such"} }, syscall.ENOENT, jjm.Invalid},
		"not executable":   {func(d *Detached) { d.Argv = []string{"/etc/passwd"} }, syscall.EACCES, jjm.Invalid},
		"no such folder":   {func(d *Detached) { d.Dir = "/no/such" }, syscall.ENOENT, jjm.Invalid},
		"a closed folder":  {func(d *Detached) { d.Dir = closed }, syscall.EACCES, jjm.Invalid},
		"a closed program": {func(d *Detached) { d.Argv = []string{closed + "/x"} }, syscall.EACCES, jjm.Invalid},
		"root":             {func(d *Detached) { d.As = &Account{} }, syscall.EIO, jjm.Busy},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := asNobody(t, "exit 0")
			c.change(&d)
			p, err := Detach(d)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			_, err = p.AwaitStart()
			if !errors.Is(err, c.want) || jjm.KindOf(err) != c.kind || !strings.Contains(err.Error(), d.Argv[0]) {
				t.Errorf("%v, of kind %q: want %v, of kind %q", err, jjm.KindOf(err), c.want, c.kind)
			}
			if ws, _, err := p.Wait(); err != nil || ws.ExitStatus() < 126 {
				t.Errorf("status %v, error %v", ws, err)
			}
		})
	}
}

func TestDetachAs_ReportsALogThatItCannotOpen(t *testing.T) {
	for name, prepare := range map[string]func(path string) error{
		"a FIFO":   func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"closed":   func(path string) error { return os.WriteFile(path, []byte("root's\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			d, log := asNobody(t, "echo x; exit 7")
			if err := prepare(log); err != nil {
				t.Fatal(err)
			}
			p, err := Detach(d)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			trouble, err := p.AwaitStart()
			if trouble == nil || !strings.Contains(trouble.Error(), log) || err != nil {
				t.Errorf("trouble %v, error %v", trouble, err)
			}
			if ws, _, err := p.Wait(); err != nil || ws.ExitStatus() != 7 {
				t.Errorf("status %v, error %v: it ran without its log", ws, err)
			}
		})
	}
}

// An account at its limit of processes gets an error of kind Busy, unlike a bad command.
func TestStart_AtTheAccountsLimitOfProcessesIsBusy(t *testing.T) {
	p := &Process{begin: pipeWith(t, "program 11\n"), done: make(chan struct{})}
	if _, err := p.AwaitStart(); jjm.KindOf(err) != jjm.Busy || !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("%v", err)
	}
}

// Close ends an AwaitStart even if the account stops the process before its command.
func TestAwaitStart_EndsWithClose(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p := &Process{begin: &beginning{pipe: r}, done: make(chan struct{})}
	got := make(chan error, 1)
	go func() { _, err := p.AwaitStart(); got <- err }()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func pipeWith(t *testing.T, text string) *beginning {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return &beginning{pipe: r, name: "x"}
}

func FuzzParseTrouble(f *testing.F) {
	for _, text := range []string{"log 13\n", "program 2\n", "become 1", "folder 0\n", "x 1\n", "log", "program 99999\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		step, errno, ok := parseTrouble(text)
		if ok && (errno == 0 || errno > 4095 || step != "log" && steps[step] == "") {
			t.Errorf("%q: step %q, errno %d", text, step, errno)
		}
	})
}

func FuzzParseAccount(f *testing.F) {
	for _, text := range []string{nobody.String(), "1:1:", "0:0:", "1000:100:1,2,3", "1:1", "-1:1:", "1:1:,",
		"4294967294:1:4294967294"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAccount(text)
		if err != nil {
			if jjm.KindOf(err) != jjm.Invalid {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if again, err := ParseAccount(a.String()); a.UID <= 0 || err != nil || !reflect.DeepEqual(a, again) {
			t.Errorf("%q: %v became %v, %v", text, a, again, err)
		}
	})
}
