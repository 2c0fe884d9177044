package web

import (
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tokenFile writes a file with the tokens of all accounts of the fake, and returns its path.
func tokenFile(t *testing.T) string {
	t.Helper()
	text := "# tokens\n\n"
	for user := range uids {
		text += user + " " + secret(user) + "\n"
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shortDir returns a folder whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "web")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// A reader is recognised as an account only by a token, or by the header of the configured proxy.
func TestAccess_WhoSeesWhat(t *testing.T) {
	config := Config{Tokens: tokenFile(t), UserHeader: "X-Remote-User", Proxy: "www-data"}
	proxy := listen(t, newFake().page(config, os.Geteuid()), "unix", shortDir(t)+"/s") // this process is the proxy
	other := listen(t, newFake().page(config, os.Geteuid()+1), "unix", shortDir(t)+"/s")
	tcp := listen(t, newFake().page(config, os.Geteuid()), "tcp", "127.0.0.1:0")
	off := listen(t, newFake().page(Config{}, os.Geteuid()), "unix", shortDir(t)+"/s")
	header := func(users ...string) http.Header { return http.Header{"X-Remote-User": users} }
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	for name, c := range map[string]struct {
		at     net.Addr
		header http.Header
		code   int
		sees   string // the owners of the listed jobs
	}{
		"nobody":                         {tcp, nil, 200, ""},
		"a token":                        {tcp, bearer(secret("ann")), 200, "ann"},
		"the token of an administrator":  {tcp, bearer(secret("root")), 200, "ann bob"},
		"a token by a socket":            {other, bearer(secret("bob")), 200, "bob"},
		"a wrong token":                  {tcp, bearer("x"), 401, ""},
		"an empty token":                 {tcp, bearer(""), 401, ""},
		"another scheme":                 {tcp, http.Header{"Authorization": {"Basic YW5uOng="}}, 200, ""},
		"a token where there are none":   {off, bearer(secret("ann")), 401, ""},
		"the header by TCP":              {tcp, header("ann"), 200, ""},
		"the header of another account":  {other, header("ann"), 200, ""},
		"the header where there is none": {off, header("ann"), 200, ""},
		"the header of the proxy":        {proxy, header("ann"), 200, "ann"},
		"an administrator by the proxy":  {proxy, header("root"), 200, "ann bob"},
		"an unknown name":                {proxy, header("eve"), 200, ""},
		"no name":                        {proxy, header(""), 200, ""},
		"a number":                       {proxy, header("0"), 200, ""},
		"two names":                      {proxy, header("ann", "root"), 400, ""},
		"a token by the proxy":           {proxy, bearer(secret("bob")), 200, "bob"},
	} {
		code, text := fetch(t, c.at, "/", c.header)
		var sees []string
		for _, user := range []string{"ann", "bob"} {
			if strings.Contains(text, `<td data-label="Owner"><bdi>`+user+"</bdi></td>") {
				sees = append(sees, user)
			}
		}
		if code != c.code || strings.Join(sees, " ") != c.sees {
			t.Errorf("%s: %d, jobs of %v; want %d, jobs of %q", name, code, sees, c.code, c.sees)
		}
		if code == 200 && !strings.Contains(text, "2 running") {
			t.Errorf("%s: no counts in\n%s", name, text)
		}
	}
}

// Readers without an account see no names, no jobs and no causes; a user sees no jobs of others.
func TestAccess_JobsAreTheOwnersOnly(t *testing.T) {
	p := newFake().page(Config{Tokens: tokenFile(t)}, -1)
	for _, path := range []string{"/jobs/17", "/jobs/17.0", "/live/jobs/17"} {
		for user, want := range map[string]int{"": 401, "bob": 404} {
			r, text := answer(t, p, user, path)
			if r.StatusCode != want || strings.Contains(text, "ann") {
				t.Errorf("%s of %q: %d, want %d\n%s", path, user, r.StatusCode, want, text)
			}
		}
	}
	for _, user := range []string{"ann", "root"} {
		if r, _ := answer(t, p, user, "/jobs/17"); r.StatusCode != 200 {
			t.Errorf("%s: %d", user, r.StatusCode)
		}
	}
	for _, path := range []string{"/", "/clusters/ill"} {
		_, text := answer(t, p, "", path)
		for _, secret := range []string{"script&gt;", "qstat", "ann", "bob", "/jobs/"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %q to everybody:\n%s", path, secret, text)
			}
		}
	}
}

// While the account database does not answer, a page is refused, not shown as if the reader had no account.
func TestAccess_AnAccountDatabaseThatDoesNotAnswer(t *testing.T) {
	f := newFake()
	f.busy = true
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	if r, _ := answer(t, p, "ann", "/"); r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v, want 503 with Retry-After", r.StatusCode, r.Header)
	}
	f.set(func() { f.busy = false })
	if r, _ := answer(t, p, "ann", "/"); r.StatusCode != 200 {
		t.Errorf("afterwards: %d", r.StatusCode)
	}
}

func TestReadTokens_NamesTheLineAndTheRemedy(t *testing.T) {
	good := secret("ann")
	for name, c := range map[string]struct{ text, want string }{
		"good":          {"# comment\n\nann " + good + "\n  bob\t" + secret("bob"), ""},
		"one word":      {"ann\n", ":1: 1 words: want an account and its token"},
		"three words":   {"\nann " + good + " x\n", ":2: 3 words"},
		"a short token": {"ann 0123456789\n", ":1: the token of \"ann\" has 10 characters: want 32"},
		"a number":      {"0 " + good + "\n", "not a number"},
		"twice":         {"ann " + good + "\nann " + secret("x") + "\n", ":2: \"ann\" has a token above"},
		"the same":      {"ann " + good + "\nbob " + good + "\n", ":2: the token of \"bob\" is that of an account above"},
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := ReadTokens(path)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), good) {
			t.Errorf("%s: the error shows a token", name)
		}
	}
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte("ann "+good), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(open, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{open: "chmod 600", dir: "no regular file", dir + "/link": "make the file",
		dir + "/none": "make the file"} {
		if err := ReadTokens(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// A token that was removed from the file is no longer accepted. If other accounts can read the file, no token is
// accepted.
func TestTokens_AChangedFileCountsAtOnce(t *testing.T) {
	path := tokenFile(t)
	p := newFake().page(Config{Tokens: path}, -1)
	code := func() int { r, _ := answer(t, p, "ann", "/"); return r.StatusCode }
	if got := code(); got != 200 {
		t.Fatalf("at first: %d", got)
	}
	if err := os.WriteFile(path, []byte("bob "+secret("bob")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := code(); got != 401 {
		t.Errorf("after its token was removed: %d", got)
	}
	if err := os.WriteFile(path, []byte("ann "+secret("ann")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := code(); got != 200 {
		t.Errorf("with a token again: %d", got)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := code(); got != 503 {
		t.Errorf("when everybody can read the file: %d", got)
	}
}

// tokens.trouble looks at the file of tokens itself, so it reports a bad file even if no reader has come since.
func TestTrouble_OfTheFileOfTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("ann "+secret("ann")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := tokens{path: path, log: slog.New(slog.DiscardHandler)}
	if got := k.trouble(); got != "" {
		t.Errorf("of a good file: %q", got)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := k.trouble(); !strings.Contains(got, path) {
		t.Errorf("of a file that others can read: %q", got)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := k.trouble(); got != "" {
		t.Errorf("of a file that is mended: %q", got)
	}
	if got := (&tokens{}).trouble(); got != "" {
		t.Errorf("without a file: %q", got)
	}
}
