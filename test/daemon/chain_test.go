package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChain_TheExampleDoesWhatItSays submits the three steps of etc/examples/chain one after another, without waiting
// for their ends. Each step reads the outputs of the previous step, under names that its command can open.
func TestChain_TheExampleDoesWhatItSays(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	chain, err := filepath.Abs(root + "/etc/examples/chain")
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []string{"generate", "process", "summary"} {
		if out, code := d.says("submit", filepath.Join(chain, step+".toml")); code != 0 || out != fmt.Sprintln(i+1) {
			t.Fatalf("%s: exit %d\n%s", step, code, out)
		}
	}
	if out, code := d.says("wait", "1", "2", "3"); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, d.log)
	}
	n, sum := 0, 0
	for i := 1; i <= 40; i++ {
		if e := i * 37 % 101; e > 50 {
			n, sum = n+1, sum+e
		}
	}
	want := fmt.Sprintf("%d events, %d in all\n", n, sum)
	if got := d.output("3")["summary.3.0.summary.txt"]; got != want {
		t.Errorf("the summary says %q, want %q", got, want)
	}
	for _, id := range []string{"1", "2", "3"} {
		if out, code := d.says("verify", id); code != 0 {
			t.Errorf("exit %d\n%s", code, out)
		}
	}
	script, code := d.says("cat", "3.0", "--script")
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, script)
	}
	words := strings.Fields(script[strings.LastIndex(script, "chain.sh summary"):])
	if len(words) != 2+4 {
		t.Fatalf("the command of 3.0 is %q", words)
	}
	for _, file := range words[2:] { // the files have the same names after the end of the third step
		if _, err := os.ReadFile(file); err != nil || !strings.Contains(filepath.Base(file), "process.2.") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestChain_WhatCountsIsRead: a step starts while the previous step still runs. It reads the outputs of the last
// attempt of each local job, or the merged files if the previous step merges.
func TestChain_WhatCountsIsRead(t *testing.T) {
	t.Parallel()
	d := start(t, "[engine]\nbackoff = \"0s\"\n")
	d.write("make.toml", `type = "script"
outputs = ["made"]
output_dataset = "made"
retry = { max_retry_late_unhandled = 1 }
[params]
command = ["sh", "-c", 'echo "$1 attempt $JJM_ATTEMPT" >made; until [ $1 = 1 ] || [ -e DIR/go ]; do sleep 0.1; done; [ $JJM_ATTEMPT = 1 ]', "sh", "{serial}"]
count = 2
`)
	d.write("merged.toml", `type = "script"
outputs = ["made"]
output_dataset = "merged"
merge = { concat = true, output = "all", files = 2 }
[params]
command = ["sh", "-c", "echo both >made"]
count = 2
`)
	for _, name := range []string{"make", "merged"} {
		d.edit(name+".toml", "DIR", d.dir)
		d.submits(name + ".toml")
	}
	for _, name := range []string{"made", "merged"} {
		d.write("read.toml", fmt.Sprintf(`type = "reprocess"
result = "exit"
outputs = ["read"]
datasets = [{ name = %q }]
[params]
command = ["sh", "-c", 'cat "$1" "$JJM_INPUT_FILES" >read; cat $(cat "$JJM_INPUT_FILES") >>read', "sh", "{file}"]
`, name))
		d.submits("read.toml")
	}
	d.eventually("the first part is read while the second is made", func() bool {
		out, _ := d.says("status", "3.0")
		return strings.Contains(out, "completed")
	})
	if out, _ := d.says("status", "1.1"); !strings.Contains(out, "running") {
		t.Errorf("the second part:\n%s", out)
	}
	if text, code := d.says("output", "1", "--file", "script.1.0.made", "-o", "-"); code != 0 || text != "1 attempt 1\n" {
		t.Errorf("of what the first part left: exit %d, %q", code, text)
	}
	if text, code := d.says("output", "1.1", "--file", "made", "-o", "-"); code != 7 || text != "" {
		t.Errorf("of the second, which runs: exit %d, %q", code, text)
	}
	d.write("go", "")
	if out, code := d.says("wait", "1", "2", "3", "4"); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, d.log)
	}
	for id, want := range map[string]map[string]string{
		"3": {"reprocess.3.0.read": "1 attempt 1\n", "reprocess.3.1.read": "2 attempt 1\n"},
		"4": {"reprocess.4.0.read": "both\nboth\n"},
	} {
		files := d.output(id)
		for name, text := range want {
			// The command prints the path of a file three times: from its command line, from the list of files, and from the
			// listed file itself.
			path, again, _ := strings.Cut(strings.TrimPrefix(files[name], text), "\n")
			if again != text || !strings.HasPrefix(path, d.dir+"/state/work/") {
				t.Errorf("%s holds %q, want %q, a path, and that again", name, files[name], text)
			}
		}
	}
}

// edit replaces a text in a file.
func (d *daemon) edit(name, old, new string) {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	d.write(name, strings.ReplaceAll(string(text), old, new))
}

func (d *daemon) submits(file string) {
	d.t.Helper()
	if out, code := d.says("submit", file); code != 0 {
		d.t.Fatalf("%s: exit %d\n%s", file, code, out)
	}
}

// TestChain_WhatIsGoneIsLost: a file that was removed or changed before its reader started is marked as lost. The
// reader processes the rest of its part, and the grid job does not become done.
func TestChain_WhatIsGoneIsLost(t *testing.T) {
	t.Parallel()
	d := start(t, "[engine]\nbackoff = \"0s\"\n")
	d.write("make.toml", `type = "script"
outputs = ["made"]
output_dataset = "made"
[params]
command = ["sh", "-c", 'echo "$1" >made', "sh", "{serial}"]
count = 4
`)
	d.submits("make.toml")
	if _, code := d.says("wait", "1"); code != 0 {
		t.Fatal(d.log)
	}
	made := func(n int) string {
		return fmt.Sprintf("%s/state/work/%s/jobs/1/0xxx/%d/attempt.0/work/made", d.dir, userName(t), n)
	}
	if err := os.Remove(made(1)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(made(2), []byte("another text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.write("read.toml", `type = "reprocess"
result = "exit"
outputs = ["read"]
datasets = [{ name = "made" }]
split = { by = "FileBased", params = { files_per_job = 4 } }
[params]
command = ["sh", "-c", 'cat "$@" >read', "sh", "{files}"]
`)
	d.submits("read.toml")
	if out, code := d.says("wait", "2"); code != 1 || !strings.Contains(out, "finished") {
		t.Fatalf("exit %d\n%s\n%s", code, out, d.log)
	}
	if got := d.output("2")["reprocess.2.1.read"]; got != "1\n4\n" {
		t.Errorf("the rest was read as %q", got)
	}
	history, _ := d.says("history", "2", "--json")
	for _, want := range []string{"script.1.1.made: it is not there any more, as local job 2.0 found",
		"script.1.2.made: it has 13 bytes, and 2 were made, as local job 2.0 found", `"to":"lost"`, `"to":"broken"`,
		"it was not started: script.1.1.made cannot be read: it is not there any more; nor can 1 more"} {
		if !strings.Contains(history, want) {
			t.Errorf("the history does not say %q:\n%s", want, history)
		}
	}
	if out, code := d.says("verify", "2"); code != 1 || !strings.Contains(out, "2 files missing") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
