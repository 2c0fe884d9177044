package gateclient_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

// A group can read the spool of a daemon that is not root and serves several accounts. While that daemon is away, a
// submission whose job needs a credential is refused with the reason, and leaves nothing in the spool. If the daemon
// comes back within the patience of the submission, the submission succeeds with its credential. A submission without a
// credential is accepted.
func TestAway_ACredentialIsNotLeftWhereOthersReadIt(t *testing.T) {
	needs.Root(t, "to be another account than the daemon")
	t.Parallel()
	s := newSite(t, local+"[gate]\nmode = \"0666\"\n", "")
	s.give(nobody(t))
	s.start()
	s.end(syscall.SIGTERM)
	at := func(name string) string { return filepath.Join(s.dir, name) }
	s.must(os.WriteFile(at("token"), []byte("geheim\n"), 0o600))
	const file = "type = \"script\"\nresult = \"exit\"\n%s\n[params]\ncommand = [\"/bin/sh\", \"-c\", \"cat $BEARER_TOKEN_FILE\"]\n"
	s.must(os.WriteFile(at("asks.toml"), fmt.Appendf(nil, file, `credentials = ["token"]`), 0o644))
	s.must(os.WriteFile(at("other.toml"), fmt.Appendf(nil, file, ""), 0o644))

	out, said, code := s.script("jjm-submit", "--key", "k", "--token", at("token"), at("asks.toml"))
	if out != "" || code != 4 || !strings.Contains(said,
		"others can read it, so the token must not be written there: submit again when the daemon answers") {
		t.Errorf("with a token: printed %q, exit %d, said %q", out, code, said)
	}
	if left, err := os.ReadDir(filepath.Join(s.state, "spool", "in")); err != nil || len(left) > 0 {
		t.Errorf("the spool has %v, %v", left, err)
	}
	if out, said, code := s.script("jjm-submit", "--key", "other", "--token", at("token"), at("other.toml")); code != 0 ||
		!strings.Contains(out, "SPOOLED=1\n") {
		t.Errorf("with a token that nobody asks for: printed %q, exit %d, said %q", out, code, said)
	}
	s.wantNoSecret("geheim")

	patient := make(chan string)
	go func() {
		out, said, code := s.script("jjm-submit", "--key", "k", "--patience", "10m", "--token", at("token"), at("asks.toml"))
		patient <- fmt.Sprintf("%s%d %s", out, code, said)
	}()
	s.start()
	h := jjm.HandleOf(os.Geteuid(), "k")
	if got := <-patient; !strings.HasPrefix(got, "HANDLE="+string(h)+"\n") || !strings.Contains(got, "SPOOLED=0\n") {
		t.Fatalf("once the daemon is back: %q", got)
	}
	if l := s.final(h); l.Status != "done" {
		t.Errorf("%+v", l)
	}
}

// wantNoSecret fails the test if a file of the state folder holds a text.
func (s *site) wantNoSecret(text string) {
	s.t.Helper()
	s.must(filepath.WalkDir(s.state, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		if strings.Contains(string(content), text) {
			s.t.Errorf("%s holds it", name)
		}
		return err
	}))
}
