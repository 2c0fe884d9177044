package gateclient_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// authority creates a certificate with openssl in a new folder. It returns a function that creates a proxy of the
// certificate that is valid for some days.
func (s *site) authority() (proxy func(file string, days int)) {
	s.t.Helper()
	dir := s.t.TempDir()
	sh := func(script string, args ...string) {
		s.t.Helper()
		cmd := exec.Command("sh", append([]string{"-euc", "umask 077; " + script, "sh"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("openssl: %v\n%s", err, out)
		}
	}
	sh(`openssl req -x509 -newkey rsa:2048 -nodes -sha256 -days 30 -subj /O=Grid/CN=Ann -keyout key -out cert
printf '%s\n' keyUsage=critical,digitalSignature proxyCertInfo=critical,language:id-ppl-inheritAll > ext`)
	return func(file string, days int) {
		s.t.Helper()
		sh(`openssl req -new -newkey rsa:2048 -nodes -sha256 -subj /O=Grid/CN=Ann/CN=12 -keyout pkey -out req
openssl x509 -req -in req -CA cert -CAkey key -set_serial 12 -days "$2" -sha256 -extfile ext -out pcert
cat pcert pkey cert > new; cp new "$1"; chmod 600 "$1"`, file, strconv.Itoa(days))
	}
}

// The job gets the file of -x, and while it runs, every change that HTCondor makes to the file. The same is true of the
// file of a token. Holds and resumes by HTCondor are refused in a form that HTCondor understands, and a signal is
// reported as a signal.
func TestBlahpd_CredentialsHoldsAndSignals(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	t.Parallel()
	bed := testbed.Start(t, "condor")
	s := newSite(t, local, "")
	s.start()
	b := s.blahpd(bed)
	t.Run("proxy", func(t *testing.T) { s.follows(t, b) })
	t.Run("refused", func(t *testing.T) { s.refuses(t, b) })
	t.Run("hold", func(t *testing.T) { s.noHold(t, b) })
	t.Run("signal", func(t *testing.T) {
		for shell, want := range map[string]string{"kill -9 $$": "ExitSignal = 9", "exit 137": "ExitBySignal = false"} {
			key := strings.ReplaceAll(shell[:6], " ", "-")
			got := b.over(b.id(b.result(b.ask("BLAH_JOB_SUBMIT", ad(s.attrs(key, shell))))))
			if !strings.Contains(got, want) || !strings.Contains(got, "ExitCode = 137") ||
				strings.Contains(got, "ExitBySignal = true") != strings.Contains(want, "9") {
				t.Errorf("%s: %s", shell, got)
			}
		}
	})
}

func (s *site) follows(t *testing.T, b *blahpd) {
	make := s.authority()
	a := s.attrs("proxy", `look() { openssl x509 -in "$X509_USER_PROXY" -noout -checkend 400000 >/dev/null && echo long || echo short
stat -c %a "$X509_USER_PROXY" "$BEARER_TOKEN_FILE"; cat "$BEARER_TOKEN_FILE"; }
look; : > started; mv started "$GO"
while [ "$(cat "$BEARER_TOKEN_FILE")" = one ] || look | grep -q short; do sleep 0.5; done; look`)
	file, token := filepath.Join(a["Iwd"], "px"), filepath.Join(a["Iwd"], "token")
	make(file, 1)
	s.must(os.WriteFile(token, []byte("one\n"), 0o600))
	a["x509UserProxy"], a["x509UserProxySubject"] = "px", "/O=Grid/CN=Ann"
	started := filepath.Join(a["Iwd"], "started")
	a["Environment"] = "GO=" + started + " BEARER_TOKEN_FILE=" + token
	id := b.id(b.result(b.ask("BLAH_JOB_SUBMIT", ad(a))))
	status := func() { b.result(b.ask("BLAH_JOB_STATUS", id)) }
	s.await("the job has looked", func() bool { status(); _, err := os.Stat(started); return err == nil })
	answer, err := ask(s, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(id[strings.LastIndex(id, "/")+1:])})
	if err != nil || answer.Status[0].Origin == nil || answer.Status[0].Origin.Subject != "/O=Grid/CN=Ann" {
		t.Errorf("origin: %+v, %v", answer.Status, err)
	}
	make(file, 9)
	s.must(os.WriteFile(token, []byte("two\n"), 0o600))
	if got := b.result(b.ask("BLAH_JOB_REFRESH_PROXY", id+" "+file)); !strings.HasPrefix(got, "0") {
		t.Errorf("refresh: %s", got)
	}
	b.over(id)
	if got, want := s.read("proxy", "out"), "short\n600\n600\none\nlong\n600\n600\ntwo\n"; got != want {
		t.Errorf("the job saw %q, want %q", got, want)
	}
	for _, left := range []string{s.dir + "/.jjm-credentials/*", s.state + "/work/*/credentials/*"} {
		s.await("nothing is left: "+left, func() bool { found, _ := filepath.Glob(left); return len(found) == 0 })
	}
	secrets, err := json.Marshal(answer)
	s.must(err)
	log, err := os.ReadFile(s.log.Name())
	s.must(err)
	if text := string(secrets) + string(log); strings.Contains(text, "PRIVATE KEY") ||
		strings.Contains(text, "BEGIN CERT") {
		t.Error("the proxy is shown")
	}
}

// refuses checks that a file that is not the private file of the owner is refused with the reason, and that the program
// does not run.
func (s *site) refuses(t *testing.T, b *blahpd) {
	a := s.attrs("bad", "")
	good := filepath.Join(a["Iwd"], "good")
	s.authority()(good, 1)
	s.must(os.Symlink(good, filepath.Join(a["Iwd"], "link")))
	s.must(os.WriteFile(filepath.Join(a["Iwd"], "open"), []byte("x"), 0o644))
	for name, want := range map[string]string{"link": "not a link", "open": "mode 0644", "none": "no such file"} {
		a["x509UserProxy"] = name
		if got := b.result(b.ask("BLAH_JOB_SUBMIT", ad(a))); strings.HasPrefix(got, "0") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if s.ran()["bad"] != 0 {
		t.Error("it ran")
	}
}

func (s *site) noHold(t *testing.T, b *blahpd) {
	id := b.id(b.result(b.ask("BLAH_JOB_SUBMIT", ad(s.attrs("held", "sleep 1000")))))
	if got := b.result(b.ask("BLAH_JOB_HOLD", id)); strings.HasPrefix(got, "0") ||
		!strings.Contains(got, `jjm\ pause`) {
		t.Errorf("hold: %s", got)
	}
	// blahpd calls the script only for a job with status 5, which jjm never reports.
	if got := b.result(b.ask("BLAH_JOB_RESUME", id)); strings.HasPrefix(got, "0") {
		t.Errorf("resume: %s", got)
	}
	if out, _, code := s.script("jjm_resume.sh", "20261122/x"); code != 1 ||
		!strings.HasPrefix(out, ` 1 HTCondor\ cannot\ resume`) {
		t.Errorf("resume: %q, exit code %d", out, code)
	}
	if got := b.result(b.ask("BLAH_JOB_CANCEL", id)); got != "0 No error" {
		t.Errorf("cancel: %s", got)
	}
}
