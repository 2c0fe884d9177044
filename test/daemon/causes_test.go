package daemon_test

import (
	"strings"
	"testing"
)

// jjm shows why local jobs failed: the number of local jobs by cause, the last lines and the resource usage of one of
// them, and the files in its work folder as long as the folder exists.
func TestCauses_TellWhyWithTheLastWordsOfOne(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	d.write("job.toml", `type = "script"
name = "calibrate"
[params]
count = 3
command = ["/bin/sh", "-c", '''
echo "row {serial} begins" >&2
[ {serial} = 2 ] || exit 0
echo "no calibration of run 17{serial}" >&2
exit 3
''']
`)
	if out, code := d.tells("submit", "--wait", "job.toml"); code != 1 ||
		!strings.Contains(out, "job 1 finished: 2 of 3 local jobs done, 1 failed: exit code 3\n") ||
		!strings.Contains(out, "  1.1 ends its standard error with (jjm cat 1.1 --stderr shows all):\n  | row 2 begins\n  | no calibration of run 172\n") {
		t.Errorf("wait: exit %d:\n%s", code, out)
	}
	for _, c := range []struct {
		command, want string
		code          int
	}{
		{"status 1", "failed        1 local job: exit code 3; such as 1.1", 0},
		{"list -a", "CAUSE", 0},
		{"status 1.1", "used         attempt 0: ran ", 0},
		{"status 1.1", "1.1 ends its standard error with (jjm cat 1.1 --stderr shows all): | row 2 begins", 0},
		{"record 1 --path //cause/@first", "1.1\n", 0},
	} {
		out, code := d.tells(strings.Fields(c.command)...)
		if code != c.code || !strings.Contains(strings.Join(strings.Fields(out), " "),
			strings.Join(strings.Fields(c.want), " ")) {
			t.Errorf("jjm %s: exit %d, want %q:\n%s", c.command, code, c.want, out)
		}
	}
}

func TestCat_ShowsFilesOfAJobThatRuns(t *testing.T) {
	t.Parallel()
	d := start(t, "")
	d.write("job.toml", `type = "script"
[params]
count = 1
command = ["/bin/sh", "-c", '''
mkdir plots && mkfifo pipe && ln -s /etc/passwd out && echo 91.2 >plots/new && mv plots/new plots/mass.txt
until [ -e '`+d.dir+`/go' ]; do sleep 0.1; done
''']
`)
	if out, code := d.tells("submit", "job.toml"); code != 0 {
		t.Fatalf("submit: %s", out)
	}
	d.eventually("the job has its files", func() bool {
		out, code := d.says("cat", "1.0", "plots/mass.txt")
		return code == 0 && out == "91.2\n"
	})
	list, code := d.says("cat", "1.0", "--list")
	for _, want := range []string{"fifo", "link", "plots/mass.txt"} {
		if code != 0 || !strings.Contains(list, want) {
			t.Errorf("the list, exit %d, lacks %q:\n%s", code, want, list)
		}
	}
	for file, want := range map[string]string{"pipe": "pipe is a fifo", "out": "out is a link",
		"plots":     "plots is a folder",
		"../stderr": "without . or .."} {
		if out, code := d.tells("cat", "1.0", file); code != 2 || !strings.Contains(out, want) {
			t.Errorf("cat %s: exit %d, want %q:\n%s", file, code, want, out)
		}
	}
	d.write("go", "")
	if out, code := d.tells("wait", "1"); code != 0 {
		t.Errorf("wait: exit %d:\n%s", code, out)
	}
}
