package command_test

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/command"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// The test reads the example of the document and runs the suite with it, on the batch
// system that the document describes.
func TestConformance_ExampleOfTheDocument(t *testing.T) {
	needs.EndToEnd(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tiny.toml")
	if err := os.WriteFile(path, []byte(example(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	bin, err := filepath.Abs(filepath.Join("testdata", "tiny"))
	if err != nil {
		t.Fatal(err)
	}
	homes := t.TempDir()
	with := func(t testing.TB, bin, home string) adapters.Adapter {
		return open(t, path, func(c *command.Config) { c.Bin, c.Env = bin, map[string]string{"TINY_HOME": home} })
	}
	adaptertest.RunOnFake(t, func(t *testing.T) adaptertest.System {
		// Each check has a separate home and lists only its own jobs, because tstat opens a file for each job that ever
		// existed. Jobs that still write when a check ends may do so until the end of all checks.
		home, err := os.MkdirTemp(homes, "")
		if err != nil {
			t.Fatal(err)
		}
		return adaptertest.System{
			Adapter: with(t, bin, home), Owner: self(t), Dir: t.TempDir(), Parallel: true,
			Patience: await.Guard(6 * time.Minute), Jobs: 50, ReservedExits: asSignals(), NotHere: notTiny(),
			Bin: bin, Commands: []string{"tsub", "tstat", "tdel"}, Submits: "tsub",
			WithBin: func(_ adaptertest.TB, bin string) adapters.Adapter { return with(t, bin, home) },
		}
	})
}

// asSignals returns the exit codes with which the shell reports that a signal ended a job.
func asSignals() (codes []int) {
	for signal := range 64 {
		codes = append(codes, 129+signal)
	}
	return codes
}

// notTiny returns the checks that do not apply to the document's batch system of three scripts, with the reasons.
func notTiny() map[string]string {
	const small = "the document's batch system is three scripts and has no such thing"
	all := map[string]string{"the jobs of two owners are kept apart": "it runs all as the account of the test"}
	for _, check := range []string{
		"the walltime limit is enforced", "the memory limit is enforced", "a waiting job can be cancelled",
		"a held job waits for its release",
		"a held bulk never runs before its release", "a hold by the batch system is reported", "a rerun is counted",
		"a lost node is reported",
		"a job that history forgot is left out",
	} {
		all[check] = small
	}
	return all
}

// example returns the first TOML block of docs/SITE-ADAPTERS.md.
func example(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "SITE-ADAPTERS.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```toml\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the document has no example")
	}
	return block
}

func self(t *testing.T) jjm.Owner {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err1 != nil || err2 != nil {
		t.Fatalf("account %+v", u)
	}
	return jjm.Owner{UID: uid, GID: gid, User: u.Username}
}
