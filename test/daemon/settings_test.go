package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSettings_OfTheDaemonAreObserved sets the top-level settings of the configuration to values other than the
// defaults. It checks that files are at the configured paths and that the configured programs run.
func TestSettings_OfTheDaemonAreObserved(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	for _, name := range []string{"types", "area"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	own := fmt.Sprintf("#!/bin/sh\necho own >> %s/ran\nexec %s \"$@\"\n", dir, bin.Path(t, "jjm-wrapper"))
	if err := os.WriteFile(filepath.Join(dir, "wrapper"), []byte(own), 0o755); err != nil {
		t.Fatal(err)
	}
	made := exec.Command(bin.Path(t, "jjm"), "job-types", "new", "zmumu")
	made.Dir = filepath.Join(dir, "types")
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	config := fmt.Sprintf("state = \"%[1]s/there\"\nwork = \"%[1]s/area\"\nwrapper = \"%[1]s/wrapper\"\n"+
		"job_types = \"%[1]s/types\"\nlog = \"debug\"\nreserve_bytes = 4096\n", dir)
	// Clients find the socket in the state folder that the configuration names.
	d := startWith(t, config, []string{"JJM_STATE="}, []string{"JJM_STATE=" + dir + "/there"})
	d.write("j.toml", "type = \"script\"\n[params]\ncommand = [\"/bin/true\"]\n")
	if out, code := d.says("submit", "j.toml", "--wait"); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, d.log)
	}
	if _, err := os.Stat(filepath.Join(dir, "there", "store.db")); err != nil {
		t.Errorf("state: %v", err)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "area", "*", "jobs", "1")); len(found) != 1 {
		t.Errorf("work: %v", found)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "ran")); !strings.HasPrefix(string(text), "own\n") {
		t.Errorf("wrapper: %q", text)
	}
	if out, code := d.says("job-types", "zmumu"); code != 0 || !strings.Contains(out, "peak") {
		t.Errorf("job_types: exit %d\n%s", code, out)
	}
	kept, _ := filepath.Glob(filepath.Join(dir, "there", "*", "reserve"))
	if len(kept) != 1 {
		t.Fatalf("reserve_bytes: %v", kept)
	}
	if info, err := os.Stat(kept[0]); err != nil || info.Size() != 4096 {
		t.Errorf("reserve_bytes: %v, %v", info, err)
	}
	if !strings.Contains(d.log.String(), "level=DEBUG") {
		t.Error("log: no line of the level debug")
	}
}

// TestSettings_OfTheAdAreObserved checks the settings of the site's ad: the daemon calls commands that write down their
// arguments.
func TestSettings_OfTheAdAreObserved(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	for _, name := range []string{"condor_advertise", "condor_status"} {
		text := fmt.Sprintf("#!/bin/sh\n{ echo \"%s $*\"; env; ulimit -d; cat; } >> %s/log\nhead -c 2000000 /dev/zero\n",
			name, dir)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d := start(t, fmt.Sprintf("[advertise]\nsite = \"Bohr\"\ncollectors = [\"broker.example.org:9618\"]\nbin = %q\n"+
		"env = { X = \"y\" }\ncommand_output_mb = 1\ncommand_memory_mb = 512\nquality = \"testing\"\n"+
		"[[advertise.gatekeeper]]\nkind = \"gram5\"\ncontact = \"ce.example.org:2119/jobmanager-jjm\"\n", dir))
	for setting, want := range map[string]string{"site and bin": "Bohr", "collectors": "-pool broker.example.org:9618",
		"env": "\nX=y\n", "command_memory_mb": "\n524288\n", "gatekeeper.kind": "gram5",
		"gatekeeper.contact": "ce.example.org:2119/jobmanager-jjm"} {
		d.eventually(setting, func() bool {
			text, _ := os.ReadFile(filepath.Join(dir, "log")) // the file may not exist yet
			return strings.Contains(string(text), want)
		})
	}
	if out, code := d.tells("advertise", "--glue2"); code != 0 || !strings.Contains(out, `"testing"`) {
		t.Errorf("quality: exit %d\n%s", code, out)
	}
	d.eventually("command_output_mb", func() bool {
		out, _ := d.tells("advertise")
		return strings.Contains(out, "printed more than 1 MiB")
	})
}
