package gatekeepers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// documented returns the example of docs/GATEKEEPERS.md that contains a text.
func documented(t testing.TB, what string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/GATEKEEPERS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?sm)^```[a-z]*\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(m[1], what) {
			return m[1]
		}
	}
	t.Fatalf("docs/GATEKEEPERS.md has no example with %q", what)
	return ""
}

// exampleJob is the job file that the examples name.
const exampleJob = "type = \"script\"\n[params]\ncommand = [\"/bin/echo\", \"{serial}\"]\ncount = 2\n"

var exampleTar = map[string]string{".0.stdout": "1\n", ".1.stdout": "2\n"}

// A grid job with the RSL of docs/GATEKEEPERS.md succeeds, and its tar comes back.
func gramExample(t *testing.T, g *gramSite) {
	dir := g.one.folder(t)
	write(t, filepath.Join(dir, "job.toml"), exampleJob, 0o644)
	rsl := strings.ReplaceAll(documented(t, "(jjm_job_file=job.toml)"), "/home/me", dir)
	s := g.one.run(t, "globusrun", "-s", "-r", g.at(g.one), rsl)
	if s.exit != 0 || !strings.Contains(s.out, "done: 2 of 2 local jobs done") {
		t.Errorf("exit %d\n%s%s", s.exit, s.out, s.err)
	}
	wantTar(t, filepath.Join(dir, "results.tar"), exampleTar)
}

// arc.conf of the test bed contains the documented section. A grid job with the documented xRSL returns its tar.
func arcExample(t *testing.T, a *arcSite) {
	conf, err := os.ReadFile(filepath.Join(filepath.Dir(a.bed.Vars["CONTROL"]), "arc.conf"))
	if err != nil || !strings.Contains(string(conf), documented(t, "[lrms]")) {
		t.Errorf("A-REX's configuration is not the documented one: %v\n%s", err, conf)
	}
	dir := a.one.folder(t)
	write(t, filepath.Join(dir, "job.toml"), exampleJob, 0o644)
	url := a.submit(t, a.one, dir, documented(t, `"JJM_JOB_FILE"`))
	a.end(t, a.one, dir, url, "Finished", "Failed")
	wantTar(t, filepath.Join(a.get(t, a.one, dir, url), "jjm-output.tar"), exampleTar)
}

// TestDocs_InstallCommands runs the commands of the manual for administrators with another folder as the root folder.
func TestDocs_InstallCommands(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	testbed.Start(t, "gram") // installs GRAM's own commands
	testbed.Start(t, "arc")
	for what, installed := range map[string][]string{
		"scripts/gram/install.sh":  {"etc/grid-services/jobmanager-jjm", "etc/globus/globus-jjm.conf"},
		"scripts/arc/install.sh":   {"usr/share/arc/submit-jjm-job", "usr/share/arc/JJMmod.pm", "etc/arc-jjm.conf"},
		"scripts/blahp/install.sh": {"usr/libexec/blahp/jjm_submit.sh"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			services := filepath.Join(dir, "etc/grid-services")
			if err := os.MkdirAll(services, 0o755); err != nil {
				t.Fatal(err)
			}
			// GRAM's command has no DESTDIR. For these commands a folder is mounted over the machine's /etc/grid-services.
			script := "set -e\nmount --bind " + services + " /etc/grid-services\n" + documented(t, what+" install")
			cmd := exec.Command("unshare", "--mount", "sh", "-c", script)
			cmd.Dir, cmd.Env = "../..", append(os.Environ(), "DESTDIR="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, name := range installed {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
