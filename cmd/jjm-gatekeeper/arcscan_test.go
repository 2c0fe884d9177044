package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

// A scan runs as root and reads files of jobs. From each file it uses only the facts that the account which may write
// the file is allowed to decide. docs/GATEKEEPERS.md has the table.
func TestArcEntry_BelievesOfEachFileWhatItsWriterMaySay(t *testing.T) {
	needs.Root(t, "to give files to another account")
	const user = 4711
	own := string(jjm.HandleOf(user, "arc-7"))
	grami := func(id string) string {
		return fmt.Sprintf(
			"joboption_directory='/s'\njoboption_gridid='%s'\njoboption_arg_0='/bin/true'\njoboption_jobid='%s'\n", "7", id)
	}
	for name, c := range map[string]struct {
		status, grami string
		local         int    // owner of the file job.ID.local
		done          bool   // the end was reported to A-REX
		want          string // part of the refusal; "none" if A-REX does not wait for the job
	}{
		"the user's own job":    {"INLRMS", grami(own), user, false, ""},
		"A-REX cancels it":      {"CANCELING", grami(own), user, false, ""},
		"A-REX does not wait":   {"FINISHED", grami(own), user, false, "none"},
		"A-REX was told":        {"INLRMS", grami(own), user, true, "none"},
		"it is being submitted": {"INLRMS", grami(""), user, false, "none"},
		"local is root's":       {"INLRMS", grami(own), 0, false, "belongs to root: want the user's"},
		"local is another's":    {"INLRMS", grami(own), user + 1, false, "the job of its owner"},
		"the grami names another's job": {"INLRMS", grami(string(jjm.HandleOf(user+1, "arc-7"))), user, false,
			"the job of its owner"},
		"the grami names an own old job": {"INLRMS", grami(string(jjm.HandleOf(user, "arc-6"))), user, false,
			"the job of its owner"},
		"the grami says another gridid": {"INLRMS", strings.Replace(grami(own), "'7'", "'8'", 1), user, false, ""},
	} {
		control := t.TempDir()
		file := func(ending string) string { return filepath.Join(control, "job.7"+ending) }
		files := map[string]string{file(".local"): "subject=/CN=Root\nowner=root\n", file(".grami"): c.grami,
			file(".status"): c.status + "\n"}
		if c.done {
			files[file(".lrms_done")] = ""
		}
		for path, text := range files {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(file(".local"), c.local, c.local); err != nil {
			t.Fatal(err)
		}
		e, err := (&process{}).arcEntry(control, file(".status"))
		switch {
		case c.want == "none" && e == nil && err == nil:
		case c.want == "" && err == nil && e != nil && e.owner.UID == user && e.ID == own && e.GridID == "7" &&
			e.Proxy == file(".proxy"):
		case c.want != "" && c.want != "none" && e == nil && err != nil && strings.Contains(err.Error(), c.want):
		default:
			t.Errorf("%s: %+v, %v; want %q", name, e, err, c.want)
		}
	}
}
