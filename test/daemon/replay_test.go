package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTypes_AGridJobIsReplayed repeats, with jjm, the questions that the daemon asked the type of an accepted grid job,
// and compares the answers with the stored answers. It does so for a type that is unchanged, changed, and broken.
func TestTypes_AGridJobIsReplayed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	program := func(per, command string) string {
		return "#!/bin/sh\nread -r r\ncase $r in *'\"describe\"'*) echo '" +
			`{"protocol": 1, "summary": "a toy", "example": "type = \"toy\""}` + "';; *) echo '" + `{"plan": {"events": {"count": 30, "per_job": ` + per + `}, "command": ["` + command + `"]}}` + "';; esac\n"
	}
	put("toy.toml", "name = \"toy\"\nprogram = \"ask.sh\"\n", 0o644)
	put("ask.sh", program("10", "true"), 0o755)
	plain := "name = \"plain\"\nsummary = \"x\"\ncommand = [\"true\"]\n[work]\ncount = "
	put("plain.toml", plain+"4\n", 0o644)
	d := start(t, "job_types = \""+folder+"\"\n")
	submit := func(text string) {
		t.Helper()
		d.write("job.toml", text)
		if out, code := d.tells("submit", "job.toml", "--wait"); code != 0 {
			t.Fatalf("exit %d\n%s", code, out)
		}
	}
	d.write("rows.txt", "a\nb\n")
	submit("type = \"toy\"\n")
	submit("type = \"plain\"\n")
	submit("type = \"script\"\n[params]\ncommand = [\"true\"]\nargs_file = \"rows.txt\"\n")
	submit("type = \"concat\"\n[[datasets]]\nname = \"d\"\nfiles = [{lfn = \"" + d.dir + "/rows.txt\"}]\n" +
		"[params]\noutput = \"all\"\n")

	want := func(code int, id string, texts ...string) {
		t.Helper()
		out, got := d.tells("job-types", "replay", id)
		for _, text := range texts {
			if got != code || !strings.Contains(out, text) {
				t.Errorf("replay %s: exit %d, want %d and %q\n%s", id, got, code, text, out)
			}
		}
	}
	d.write("rows.txt", "c\n") // the grid job's package still has the old file
	for id, parts := range map[string]string{"1": "parts: 3", "2": "parts: 4", "3": "parts: 2",
		"4": "parts: parts of datasets depend on when files came"} {
		want(0, id, "ok: describe", "ok: check", "ok: prepare", "ok: split", "ok: "+parts)
	}
	want(0, "1", "ok: plan\n", "ok: command")
	put("ask.sh", program("15", "false"), 0o755)
	want(1, "1", "FAILED: plan", `jjm_plan.command is ["false"], was ["true"]`, "SHA-256",
		`FAILED: command`, `local job 1.0: the command is ["false","1","10"], was ["true","1","10"]`,
		"FAILED: parts: 2 parts cut again, of the 3 that are stored",
		`local job 1.0: the part is {"unit":"event","first":1,"count":15,"serial":1}`,
		`was {"unit":"event","first":1,"count":10,"serial":1}`,
		"local job 1.2 has the part", "no such part is cut now")
	put("ask.sh", "#!/bin/sh\necho no way >&2\nexit 3\n", 0o755)
	want(1, "1", "FAILED: plan: the next questions use the stored plan", "exit code 3: no way", "ok: parts: 3")
	want(0, "3", "ok: command: each is asked for, and not compared")
	put("plain.toml", strings.Replace(plain, "true", "false", 1)+"4\n", 0o644)
	d.restart()
	want(1, "2", "FAILED: plan", `jjm_type differs from line 3 on: it is "command = [\"false\"]", was "command = [\"true\"]"`,
		"FAILED: command", `local job 2.3: the command is ["false"], was ["true"]`)
	put("plain.toml", plain+"6\n", 0o644)
	d.restart()
	want(1, "1", "FAILED: describe", "exit code 3: no way", "ok: parts: 3")
	want(1, "2", "FAILED: parts: 4", "more parts are cut than the 4 that are stored")
	if err := os.Remove(filepath.Join(folder, "plain.toml")); err != nil {
		t.Fatal(err)
	}
	d.restart()
	want(1, "2", "FAILED: describe", "unknown job type")
	want(3, "9", "9")
	out, code := d.tells("job-types", "replay", "3", "--json")
	if code != 0 || !strings.Contains(out, `{"name":"parts","note":"2 parts cut again"}`) {
		t.Errorf("exit %d\n%s", code, out)
	}
}
