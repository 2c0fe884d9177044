package identity_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// The web page trusts the header only from the proxy's account. It shows an account its own jobs, and an administrator
// all jobs.
func TestPage_ShowsAnAccountItsOwnJobsOnly(t *testing.T) {
	t.Parallel()
	needs.Root(t, "to connect as other accounts")
	alice, bob, proxy, admin := site.Account(t), site.Account(t), site.Account(t), site.Account(t)
	dir := needs.PublicDir(t)
	token := strings.Repeat("0123456789abcdef", 4)
	if err := os.WriteFile(dir+"/tokens", []byte(alice.Name+" "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	web := fmt.Sprintf("[web]\nlisten = %q\ntokens = %q\nuser_header = \"X-Remote-User\"\nproxy = %q\n", dir+"/page",
		dir+"/tokens", proxy.Name)
	s := newHouse(t, asOwner, web+site.Local, admin)
	id := s.Submit(alice, site.Script("true"))
	s.Final(id, "done")
	for name, c := range map[string]struct {
		from   site.Person
		header http.Header
		code   int
	}{
		"the owner":                   {proxy, remoteUser(alice), 200},
		"another account":             {proxy, remoteUser(bob), 404},
		"an administrator":            {proxy, remoteUser(admin), 200},
		"nobody":                      {proxy, nil, 401},
		"an unknown account":          {proxy, http.Header{"X-Remote-User": {"no-such-account"}}, 401},
		"the uid of root":             {proxy, http.Header{"X-Remote-User": {"0"}}, 401},
		"the owner without the proxy": {alice, remoteUser(alice), 401},
		"a liar":                      {bob, remoteUser(admin), 401},
		"root, which is no proxy":     {site.Root(), remoteUser(alice), 401},
		"a token":                     {bob, http.Header{"Authorization": {"Bearer " + token}}, 200},
		"a wrong token":               {alice, http.Header{"Authorization": {"Bearer " + token + "0"}}, 401},
	} {
		for _, path := range []string{"/jobs/" + id, "/jobs/" + id + ".0"} {
			if code := codeOf(t, c.from, dir+"/page", path, c.header); code != c.code {
				t.Errorf("%s, %s: %d, want %d", name, path, code, c.code)
			}
		}
		if code := codeOf(t, c.from, dir+"/page", "/", c.header); code != 200 && name != "a wrong token" {
			t.Errorf("%s: the counts are refused: %d", name, code)
		}
	}
}

// remoteUser returns the header with which a proxy names an account.
func remoteUser(p site.Person) http.Header { return http.Header{"X-Remote-User": {p.Name}} }

// codeOf returns the status code of a page that an account requests.
func codeOf(t *testing.T, p site.Person, socket, path string, header http.Header) int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return p.Dial(socket) }}}
	r, err := http.NewRequest(http.MethodGet, "http://jjm"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	a, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	if err := a.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return a.StatusCode
}
