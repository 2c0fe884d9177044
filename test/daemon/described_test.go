package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/said"
)

// described is a site with the batch system of three scripts that docs/SITE-ADAPTERS.md describes, but without arrays
// and walltimes.
type described struct {
	t        *testing.T
	dir, bin string
}

func newDescribed(t *testing.T) *described {
	t.Helper()
	d := &described{t: t, dir: t.TempDir()}
	d.bin = filepath.Join(d.dir, "bin")
	for _, dir := range []string{d.bin, filepath.Join(d.dir, "home")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tsub", "tstat", "tdel", "trun"} {
		text, err := os.ReadFile(filepath.Join(root, "adapters/command/testdata/tiny", name))
		if err != nil {
			t.Fatal(err)
		}
		d.command(name, string(text))
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/SITE-ADAPTERS.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```toml\n")
	text, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/SITE-ADAPTERS.md has no example")
	}
	for _, change := range [][2]string{{"max_bulk = 20\n", ""}, {"index_variable = \"TINY_INDEX\"\n", ""},
		{"\"-c\", \"%__COUNT__\", ", ""}, {".%__ARRAY_INDEX__\"", ".0\""}} {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("the example has no %q any more", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	d.write("tiny.toml", text)
	d.write("jjm.toml", fmt.Sprintf("[[cluster]]\nname = \"tiny\"\nkind = \"command\"\ndescription = %q\nbin = %q\n"+
		"env = { TINY_HOME = %q }\n", d.dir+"/tiny.toml", d.bin, d.dir+"/home"))
	return d
}

func (d *described) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// command replaces one of the batch system's commands.
func (d *described) command(name, script string) {
	d.t.Helper()
	path := filepath.Join(d.bin, name)
	if err := os.WriteFile(path+".new", []byte(script), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		d.t.Fatal(err)
	}
}

// test runs jjm clusters test. It returns the lines about each check by the name of the check, the whole output, and
// the exit code. It checks that the output follows the rules for texts that people read.
func (d *described) test(args ...string) (told map[string]string, whole string, code int) {
	d.t.Helper()
	cmd := exec.Command(bin.Path(d.t, "jjm"), append([]string{"clusters", "test", "tiny", "--config", d.dir + "/jjm.toml"},
		args...)...)
	cmd.Env = append(os.Environ(), "JJM_STATE="+d.dir+"/state", "JJM_CONFIG=")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	whole, told = string(out), map[string]string{}
	name, lines := "", 0
	for line := range strings.Lines(whole) {
		if m := regexp.MustCompile(`^(?:ok|FAILED|not tried|not applicable): (.*) \([0-9].*\)\n$`).FindStringSubmatch(line); m != nil {
			name, lines = m[1], 0
		}
		if lines++; lines > 20 {
			d.t.Errorf("more than 20 lines of one check:\n%s", told[name])
		}
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 120 && name != "" {
			d.t.Errorf("%d columns: %s", n, line)
		}
		told[name] += line
	}
	for _, wrong := range said.Wrong(whole) {
		d.t.Errorf("%s in\n%s", wrong, whole)
	}
	return told, whole, cmd.ProcessState.ExitCode()
}

// A correct batch system without arrays and walltimes passes the test. The output names the features that it lacks.
func TestDescribed_AnHonestSystemPasses(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	said, whole, code := newDescribed(t).test("--patience", "5m")
	if code != 0 || strings.Contains(whole, "FAILED") || !strings.Contains(whole, " 0 failed, 4 not applicable, ") ||
		!strings.Contains(whole, "No job can ask for a walltime here, so these ask for none.") {
		t.Errorf("exit %d\n%s", code, whole)
	}
	if one := said["one job of a bulk can be cancelled"]; !strings.HasPrefix(one, "not applicable") ||
		!strings.Contains(one, "it has no arrays") {
		t.Errorf("the check of arrays: %s", one)
	}
	if !strings.HasPrefix(said["listings are whole while jobs run"], "ok") {
		t.Errorf("listings are not looked at:\n%s", whole)
	}
}

// A listing omits one of twelve running jobs. The test of the cluster must find this.
func TestDescribed_AListingThatLosesAJobIsFound(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	d := newDescribed(t)
	text, err := os.ReadFile(d.bin + "/tstat")
	if err != nil {
		t.Fatal(err)
	}
	d.command("tstat.whole", string(text))
	// Other checks run jobs at the same time. The listing therefore only omits a job whose script waits for the file stay.
	d.command("tstat", `#!/bin/sh
staying=$(cd "$TINY_HOME" && grep -ls 'cat stay' [0-9]*/script | tr '/\n' '  ')
"$0.whole" | awk -v staying=" $staying" '
	{ split($1, id, "."); line[NR] = $0 }
	$2 == "R" && index(staying, " " id[1] " ") && ++running == 12 { lost = NR }
	END { for (i = 1; i <= NR; i++) if (i != lost) print line[i] }'
`)
	said, whole, code := d.test("--patience", "20s")
	lost := said["listings are whole while jobs run"]
	if code != 1 || !strings.HasPrefix(lost, "FAILED") || !strings.Contains(lost, "is missing in listing") ||
		!strings.Contains(lost, "remedy: run the command that lists jobs by hand") ||
		!strings.Contains(strings.Join(strings.Fields(lost), ""), "[list]in"+d.dir+"/tiny.toml") {
		t.Errorf("exit %d\n%s", code, whole)
	}
}

// A command of the batch system fails. The remedy in the output of the test fits the cause and the batch system.
func TestDescribed_TheRemedyFits(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	d := newDescribed(t)
	d.command("tsub", "#!/bin/sh\necho 'tsub: no shares left for you' >&2\nexit 2\n")
	said, whole, code := d.test("--patience", "20s")
	first := strings.Join(strings.Fields(said["a worker sees the work area, both ways"]), " ")
	if code != 1 || !strings.Contains(first, "no shares left for you") ||
		!strings.Contains(first, "remedy: the batch system accepted no job, for the reason above") ||
		!strings.Contains(first, "[submit] in "+d.dir+"/tiny.toml") || strings.Contains(first, "mount") {
		t.Errorf("exit %d\n%s", code, whole)
	}
	if account := said["jobs run as the right account"]; !strings.HasPrefix(account, "not tried") ||
		!strings.Contains(account, "see the first check") {
		t.Errorf("what depends on the first check: %s", account)
	}

	d.command("tsub", "#!/bin/sh\nexit 0\n")
	said, whole, code = d.test("--patience", "20s")
	first = strings.Join(strings.Fields(said["a worker sees the work area, both ways"]), " ")
	if code != 1 || !strings.Contains(first, "exit 0: no outcome of the description explains this, see [[submit.outcome]]: "+
		"it printed nothing") || !strings.Contains(first, "remedy: it is not known whether the batch system took the job") ||
		strings.Count(whole, "remedy: ") != 1 || !strings.Contains(whole, " checks not tried.") {
		t.Errorf("exit %d\n%s", code, whole)
	}
}

// If the commands of a cluster without jobs fail, jjm clusters shows that the cluster is in trouble.
func TestDescribed_AnIdleClusterWhoseCommandsFailIsInTrouble(t *testing.T) {
	t.Parallel()
	d := newDescribed(t)
	d.command("tstat", "#!/bin/sh\necho 'tstat: no such host' >&2\nexit 1\n")
	config, err := os.ReadFile(d.dir + "/jjm.toml")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, string(config)+"retry_for = \"0s\"\n")
	s.eventually("the trouble is shown", func() bool {
		cmd := bin.Command(t, "clusters")
		cmd.Env = s.env
		out, err := cmd.Output()
		return err == nil && strings.Contains(string(out), "in trouble") && strings.Contains(string(out), "no such host")
	})
}
