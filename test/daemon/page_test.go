package daemon_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"strings"
	"testing"
)

// pageOf returns the status and the text of one of the daemon's pages.
func pageOf(t testing.TB, network, address, path string, header http.Header) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}}
	r, err := http.NewRequest(http.MethodGet, "http://jjm"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// ownName returns the name of the account that runs the test.
func ownName(t testing.TB) string {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return me.Username
}

// The daemon serves the web page at the address in web.listen, and shows jobs only to clients with a token and to the
// proxy.
func TestPage_IsServedWhereTheSettingsSay(t *testing.T) {
	t.Parallel()
	dir, me := shortDir(t), ownName(t)
	token := strings.Repeat("0123456789abcdef", 4)
	if err := os.WriteFile(dir+"/tokens", []byte(me+" "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	local := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	bearer := http.Header{"Authorization": {"Bearer " + token}}
	proxied := http.Header{"X-Remote-User": {me}}
	for _, c := range []struct {
		network, address, settings string
		known                      http.Header
	}{
		{"tcp", local, fmt.Sprintf("listen = %q\ntokens = %q\n", local, dir+"/tokens"), bearer},
		{"unix", dir + "/page", fmt.Sprintf("listen = %q\nuser_header = \"X-Remote-User\"\nproxy = %q\n", dir+"/page", me),
			proxied},
	} {
		d := start(t, "[web]\n"+c.settings)
		d.write("j.toml", "type = \"script\"\nname = \"verysecret\"\n[params]\ncommand = [\"/bin/true\"]\n")
		if out, code := d.says("submit", "j.toml", "--wait"); code != 0 {
			t.Fatalf("exit %d\n%s", code, out)
		}
		for path, want := range map[string]string{"/": "verysecret", "/jobs/1": "1 of 1 completed",
			"/jobs/1.0": "exit code 0", "/clusters/local": "<dd>local</dd>"} {
			if code, text := pageOf(t, c.network, c.address, path, c.known); code != 200 || !strings.Contains(text, want) {
				t.Errorf("%s of %s: %d, want %q in\n%s", path, c.settings, code, want, text)
			}
		}
		if code, text := pageOf(t, c.network, c.address, "/", nil); code != 200 || strings.Contains(text, "verysecret") ||
			!strings.Contains(text, "/clusters/local") {
			t.Errorf("/ without an account: %d\n%s", code, text)
		}
		if code, _ := pageOf(t, c.network, c.address, "/jobs/1", nil); code != 401 {
			t.Errorf("/jobs/1 without an account: %d", code)
		}
		d.kill()
	}
}

// config check finds the same mistakes in [web] as the daemon.
func TestPage_ConfigCheckFindsMistakes(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	if err := os.WriteFile(dir+"/tokens", []byte("ann short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for settings, want := range map[string]string{
		`listen = "0.0.0.0:9138"`: "web.listen",
		fmt.Sprintf("listen = \"127.0.0.1:9138\"\ntokens = %q", dir+"/tokens"):                        "tokens:1:",
		"listen = \"127.0.0.1:9138\"\nuser_header = \"X-Remote-User\"\nproxy = " + quoted(ownName(t)): "web.user_header",
	} {
		path := writeConfig(t, "[web]\n"+settings+"\n")
		if said, code := checkOf(t, nil, path); code != 5 || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d, want %q in\n%s", settings, code, want, said)
		}
	}
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }
