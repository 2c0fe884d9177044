package daemon_test

import (
	"os/user"
	"regexp"
	"strings"
	"testing"
)

// TestRecords_AreAskedTogether reads the records of all grid jobs with one query. The query selects by type, status,
// cluster and time, and includes grid jobs that are in the archive after a restart.
func TestRecords_AreAskedTogether(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, "")
	d.write("plot.sh", "#!/bin/sh\necho '<plot name=\"m\" v=\"7\"/>' | \"$JJM_RECORD\"\n")
	d.write("a.toml", "type = \"script\"\n[[inputs]]\npath = \"plot.sh\"\nexecutable = true\n"+
		"[params]\ncommand = [\"./plot.sh\"]\ncount = 2\n")
	d.write("mc.toml", "type = \"montecarlo\"\nresult = \"exit\"\n[params]\ncommand = [\"true\"]\nevents = 10\n")
	d.says("submit", "a.toml", "--wait")
	d.says("submit", "mc.toml", "--wait")
	d.restart()
	d.says("submit", "a.toml", "--wait")
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"--path /gridjob/@type", "3\tscript 2\tmontecarlo 1\tscript", 0},
		{"--path //localjob[@state='completed']/@id", "3\t3.0 3\t3.1 2\t2.0 1\t1.0 1\t1.1", 0},
		{"--path //plot/@v --type script --since 7d", "3\t7 3\t7 1\t7 1\t7", 0},
		{"--path /gridjob/@id --status done", "3\t3 2\t2 1\t1", 0},
		{"--path /gridjob/@id --cluster local --owner " + me.Username, "3\t3 2\t2 1\t1", 0},
		{"--path /gridjob/@id --cluster elsewhere", "", 1},
		{"--path /gridjob/@id --until 24h", "", 1},
		{"--path /gridjob/@id --owner nobody-here", "", 1},
		{"--path /gridjob/@id --status nonsense", "", 2},
		{"--path /gridjob/@id --since yesterday", "", 2},
		{"--path //[", "", 2},
		{"", "", 2},
		{"7 --path //x", "", 2},
		{"--path //plot/@v --json --type script --since 0d", "", 1},
	} {
		out, code := d.says(append([]string{"record", "--all"}, strings.Fields(c.args)...)...)
		got := strings.Join(regexp.MustCompile(`(?m)^\d+\t.*$`).FindAllString(out, -1), " ")
		if code != c.code || got != c.want {
			t.Errorf("%s: exit %d, %q, want exit %d, %q\n%s", c.args, code, got, c.code, c.want, out)
		}
	}
	out, code := d.says("record", "--all", "--path", "//plot/@v", "--json", "--type", "script")
	if code != 0 || !strings.Contains(out, `{"id":3,"type":"script","owner":"`+me.Username+`","record":["7","7"]}`) {
		t.Errorf("exit %d\n%s", code, out)
	}
}
