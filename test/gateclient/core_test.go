package gateclient_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"jjm/handlers/all"
	"jjm/internal/jjm"
)

// exact compares standard output byte by byte. Text that differs from run to run is written as <NAME> in want, and must
// match a pattern.
func exact(t *testing.T, what, got, want string) {
	t.Helper()
	pattern := regexp.QuoteMeta(want)
	for name, form := range map[string]string{
		"<TIME>": `20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ`, "<N>": `\d+`, "<HOST>": `[A-Za-z0-9._-]+`,
	} {
		pattern = strings.ReplaceAll(pattern, regexp.QuoteMeta(name), form)
	}
	if !regexp.MustCompile(`\A` + pattern + `\z`).MatchString(got) {
		t.Errorf("%s: printed\n%s\nwant\n%s", what, got, want)
	}
}

func TestCore_StandardOutputIsProtocolToTheByte(t *testing.T) {
	t.Parallel()
	s := newSite(t, local, "")
	s.deadline = ample // the answers of the daemon itself are wanted
	s.start()
	h := string(jjm.HandleOf(os.Geteuid(), "k"))
	file := filepath.Join(s.dir, "j.toml")
	s.must(os.WriteFile(file, []byte(s.job("k", "echo hello; exit 3").Text), 0o644))

	run := func(what string, code int, want, name string, args ...string) {
		t.Helper()
		out, errs, got := s.script(name, args...)
		exact(t, what, out, want)
		if got != code || (code != 0) != (errs != "") {
			t.Errorf("%s: exit %d, want %d; said %q", what, got, code, errs)
		}
	}
	run("submit", 0, "HANDLE="+h+"\nID=1\nEXISTED=0\nSPOOLED=0\n", "jjm-submit", "--key", "k", "--vo", "dzero", file)
	run("submit again", 0, "HANDLE="+h+"\nID=1\nEXISTED=1\nSPOOLED=0\n", "jjm-submit", "--key", "k", file)
	l := s.final(jjm.Handle(h))
	body := "ID=1\nSTATUS=failed\nGRAM=4\nCODE=17\nFINAL=1\nEXIT=3\n"
	end := "JOBS=1\nCOMPLETED=0\nTAR=" + l.Tar +
		"\nBATCH=1_0\nHOST=<HOST>\nWALL_MS=<N>\nUSER_MS=<N>\nSYS_MS=<N>\nMAX_RSS_KB=<N>\n" +
		"PROCESSORS=1\nSTARTED=<TIME>\nENDED=<TIME>\nMESSAGE=0 of 1 local job done, 1 failed: exit code 3\n"
	run("lookup", 0, "REF="+h+"\nHANDLE="+h+"\n"+body+"STALE=0\n"+end, "jjm-lookup", h)
	run("lookup by id", 0, "REF=1\n"+body+"STALE=0\n"+end, "jjm-lookup", "1")
	for _, line := range []string{"lookup " + h, "status " + h, "status " + h + ".0", "kill " + h, "history " + h,
		"record " + h} {
		s.person(t, line)
	}
	run("kill of what is over", 0, "REF=1\nKILL=no-change\n", "jjm-kill", "1")
	run("unknown", 3, "REF=9\nERROR=gone\nMESSAGE=no grid job 9\nREF=1\nKILL=no-change\n", "jjm-kill", "9", "1")
	run("nonsense", 2, "", "jjm-lookup", "1.3", "; rm -rf /")
	run("no arguments", 2, "", "jjm-submit")
	run("no file", 2, "", "jjm-submit", filepath.Join(s.dir, "none"))
	s.must(os.WriteFile(file, []byte("type = \"none\"\n"), 0o644))
	run("refused", 5, "", "jjm-submit", "--key", "bad", file)
	s.await("the record says it", func() bool {
		d := s.client(ample)
		d.Socket = "/no/daemon"
		return d.Lookup(t.Context(), h)[0].Usage != nil
	})
	s.end(syscall.SIGTERM)
	run("lookup without a daemon", 0, "REF="+h+"\nHANDLE="+h+"\n"+body+"STALE=1\n"+end, "jjm-lookup", h)
	s.person(t, "lookup "+h)
	run("unknown without a daemon", 4,
		"REF=9\nERROR=busy\nMESSAGE=lookup 9: no daemon answers at "+s.state+
			"/jjm.sock: there is no such socket; and there is no record of grid job 9 in "+s.state+"/records\n", "jjm-lookup",
		"9")
	bad := string(jjm.HandleOf(os.Geteuid(), "bad"))
	run("submit without a daemon", 0, "HANDLE="+bad+"\nEXISTED=0\nSPOOLED=1\n", "jjm-submit", "--key", "bad", file)
	run("kill without a daemon", 0, "REF="+bad+"\nKILL=accepted\n", "jjm-kill", bad)
	s.start()
	run("what was refused later", 0,
		"REF="+bad+"\nHANDLE="+bad+"\nSTATUS=broken\nGRAM=4\nCODE=17\nFINAL=1\nEXIT=1\nSTALE=0\nJOBS=0\nCOMPLETED=0\n"+
			"MESSAGE=refused: j.toml:1: type: unknown job type \"none\": this site knows "+
			strings.Join(all.Registry().Types(), ", ")+"\n", "jjm-lookup", bad)
}

// person runs a command for people with a handle, because a handle names a grid job in the same way as an id.
func (s *site) person(t *testing.T, line string) {
	t.Helper()
	cmd := bin.Command(t, strings.Fields(line)...)
	cmd.Env = []string{"HOME=" + s.dir, "JJM_STATE=" + s.state}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("jjm %s: %v: %s", line, err, out)
	}
	if want := "vo dzero"; strings.HasPrefix(line, "status") && !strings.Contains(line, ".") &&
		!strings.Contains(string(out), want) {
		t.Errorf("jjm %s does not tell %q: %s", line, want, out)
	}
}
