package adapters_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// program writes a script into a folder and returns its path.
func program(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCLI_RunsFromItsFolderInACleanEnvironment(t *testing.T) {
	t.Setenv("SECRET", "x")
	dir := t.TempDir()
	program(t, dir, "sbatch", `echo "$SECRET|$LC_ALL|$CONF|$1|$(cat)"; echo err >&2; exit 3`)
	c := adapters.CLI{Bin: dir, Env: map[string]string{"CONF": "/etc/x"}}
	calls := 0
	ctx := adapters.WithTurns(t.Context(), func(context.Context) error { calls++; return nil })
	out, err := c.Run(ctx, []byte("in"), "sbatch", "a b")
	if err != nil || out.Exit != 3 || string(out.Stdout) != "|C|/etc/x|a b|in\n" || string(out.Stderr) != "err\n" ||
		calls != 1 {
		t.Errorf("%+v %q, %v, %d calls", out, out.Stdout, err, calls)
	}
}

func TestCLI_ACommandWithoutATurnIsNotStarted(t *testing.T) {
	dir := t.TempDir()
	program(t, dir, "sbatch", `: >"$0.ran"`)
	no := jjm.Errorf(jjm.Busy, "no turn")
	ctx := adapters.WithTurns(t.Context(), func(context.Context) error { return no })
	if _, err := (adapters.CLI{Bin: dir}).Run(ctx, nil, "sbatch"); !errors.Is(err, no) || !adapters.IsNotStarted(err) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "sbatch.ran")); err == nil {
		t.Error("it ran all the same")
	}
}

func TestCLI_OnlyACommandThatRanIsLookedFor(t *testing.T) {
	dir := t.TempDir()
	program(t, dir, "sbatch", "head -c 2000000 /dev/zero")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx        context.Context
		command    string
		notStarted bool
	}{
		"no such command":        {t.Context(), "none", true},
		"a context that is over": {over, "sbatch", true},
		"it printed without end": {t.Context(), "sbatch", false},
	} {
		_, err := adapters.CLI{Bin: dir, MaxOutputMB: 1}.Run(c.ctx, nil, c.command)
		if jjm.KindOf(err) != jjm.Busy || adapters.IsNotStarted(err) != c.notStarted {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestCLI_AFrozenCommandEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	program(t, dir, "squeue", "sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), await.Provoked(250*time.Millisecond))
	defer cancel()
	_, err := adapters.CLI{Bin: dir}.Run(ctx, nil, "squeue")
	if jjm.KindOf(err) != jjm.Ambiguous || jjm.KindOf(adapters.AsBusy(err)) != jjm.Busy {
		t.Errorf("%v", err)
	}
	_, err = adapters.CLI{Bin: dir}.Run(t.Context(), nil, "sacct")
	if jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), "sacct") {
		t.Errorf("a command that is not there: %v", err)
	}
}

func TestCLI_EndsACommandThatPrintsTooMuch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program(t, dir, "qstat", "exec yes 'a line of a listing that goes on for as long as somebody reads it'")
	ctx, cancel := context.WithTimeout(t.Context(), await.Guard(time.Minute))
	defer cancel()
	out, err := adapters.CLI{Bin: dir}.Run(ctx, nil, "qstat", "-f")
	if jjm.KindOf(err) != jjm.Busy || !strings.Contains(err.Error(), "qstat -f printed more than 256 MiB") ||
		!out.Truncated {
		t.Errorf("truncated %v, error %v", out.Truncated, err)
	}
	out, err = adapters.CLI{Bin: dir, MaxOutputMB: 1}.Run(ctx, nil, "qstat", "-f")
	if jjm.KindOf(err) != jjm.Busy || len(out.Stdout) != 1<<20 {
		t.Errorf("%d bytes, error %v", len(out.Stdout), err)
	}
	for name, c := range map[string]adapters.CLI{"command_output_mb": {MaxOutputMB: -1},
		"command_memory_mb": {MaxMemoryMB: 1 << 40}} {
		if ps := c.Check(); len(ps) != 1 || ps[0].Field != name {
			t.Errorf("%s: %v", name, ps)
		}
	}
}

func TestJobScript_KeepsEveryByteOfTheCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a $HOME `x` \"dir\"")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b := adapters.Bulk{Tag: "jabc", N: 3, Dir: dir, Log: filepath.Join(dir, "log"),
		Argv: []string{"/bin/sh", "-c", `printf '%s|' "$JJM_INDEX" "$JJM_BATCH_ID" "$PWD" "$@"`, "x", "a\nb", "", "$(exit 9)",
			"'\\"}}
	script := program(t, t.TempDir(), "job",
		strings.TrimPrefix(adapters.JobScript(b, `"$TASK"`, `"42_$TASK"`), "#!/bin/sh\n"))
	out, err := adapters.CLI{Env: map[string]string{"TASK": "7"}}.Run(t.Context(), nil, script)
	if err != nil || out.Exit != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	got, err := os.ReadFile(b.Log)
	if want := "7|42_7|" + dir + "|a\nb||$(exit 9)|'\\|"; err != nil || string(got) != want {
		t.Errorf("%q, %v\nwant %q", got, err, want)
	}
}

func TestJobScript_WithATransferDoesNotChangeItsFolder(t *testing.T) {
	b := adapters.Bulk{Argv: []string{"./w"}, Transfer: &adapters.Transfer{}}
	if s := adapters.JobScript(b, "0", "1.0"); strings.Contains(s, "cd ") {
		t.Error(s)
	}
}

func TestCheckBulk_NamesWhatIsWrong(t *testing.T) {
	good := adapters.Bulk{Tag: "jabc", N: 1, Argv: []string{"x"}, Dir: "/d"}
	caps := adapters.Capabilities{MaxBulk: 10, MaxCores: 4, SharedFS: true}
	if err := adapters.CheckBulk(good, caps); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*adapters.Bulk){
		"tag":      func(b *adapters.Bulk) { b.Tag = "J!" },
		"0 jobs":   func(b *adapters.Bulk) { b.N = 0 },
		"command":  func(b *adapters.Bulk) { b.Argv = []string{""} },
		"absolute": func(b *adapters.Bulk) { b.Dir = "d" },
		"path":     func(b *adapters.Bulk) { b.Log = "l" },
		"cores":    func(b *adapters.Bulk) { b.Request.Cores = 5 },
		"NUL":      func(b *adapters.Bulk) { b.Argv = []string{"a\x00"} },
		"transfer": func(b *adapters.Bulk) { b.Transfer = &adapters.Transfer{} },
	} {
		b := good
		change(&b)
		if err := adapters.CheckBulk(b, caps); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	// If the bulk is larger than the cluster's limit, the error is TooMany, because smaller bulks are possible: the
	// limit may have become known, or smaller, only after the bulk was made.
	good.N = 11
	if err := adapters.CheckBulk(good, caps); !adapters.IsTooMany(err) || !adapters.IsNotStarted(err) ||
		!strings.Contains(err.Error(), "10 at once") {
		t.Errorf("11 jobs: %v", err)
	}
}

func TestCheckBulk_AProxyNeedsAClusterThatRenewsIt(t *testing.T) {
	b := adapters.Bulk{Tag: "jabc", N: 2, Argv: []string{"x"}, Transfer: &adapters.Transfer{Proxy: "/p"}}
	if err := adapters.CheckBulk(b, adapters.Capabilities{RenewsProxies: true}); err != nil {
		t.Error(err)
	}
	if err := adapters.CheckBulk(b, adapters.Capabilities{}); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("a cluster that renews none: %v", err)
	}
}

func TestHook_AddsOptionsRefusesOrFails(t *testing.T) {
	dir := t.TempDir()
	b := adapters.Bulk{Tag: "jabc", N: 2, Owner: jjm.Owner{User: "alice"}}
	ask := func(text string) ([]string, error) {
		return adapters.Hook(program(t, dir, "hook", text)).Ask(t.Context(), "big", b)
	}
	got, err := ask(
		`read line; case $line in *'"cluster":"big"'*'"n":2'*) echo " --qos=x "; echo; echo --reservation=y;; esac`)
	if err != nil || !slices.Equal(got, []string{"--qos=x", "--reservation=y"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err = ask("echo no more today >&2; exit 1"); jjm.KindOf(err) != jjm.Invalid ||
		!strings.Contains(err.Error(), "no more today") {
		t.Errorf("refusal: %v", err)
	}
	if _, err = adapters.Hook(filepath.Join(dir, "none")).Ask(t.Context(), "big", b); !adapters.IsNotStarted(err) {
		t.Errorf("missing: %v", err)
	}
	if got, err := adapters.Hook("").Ask(t.Context(), "big", b); got != nil || err != nil {
		t.Errorf("none: %v, %v", got, err)
	}
	if adapters.Hook("x").Check() == nil || adapters.Hook("/x").Check() != nil || adapters.Hook("").Check() != nil {
		t.Error("Check")
	}
}

func TestBrief_IsOneShortLine(t *testing.T) {
	for in, want := range map[string]string{"": "it said nothing", " a\n\tb \x00": "a b \x00", "\xff": "?"} {
		if got := adapters.Brief([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := adapters.Brief([]byte(strings.Repeat("é", 1000))); len(got) > 310 {
		t.Errorf("%d bytes", len(got))
	}
}
