package weburl

import (
	"net/url"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

func TestParse_AcceptsURLsOfFiles(t *testing.T) {
	for _, text := range []string{"http://example.org/a", "https://example.org:8443/a/b.root?version=3&x=%20",
		"HTTPS://Example.org/", "http://[2001:db8::1]:80/x", "https://example.org/%E4%BD%A0", "https://example.org/a;b@c"} {
		if u, err := Parse(text); err != nil || u.Host == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParse_ErrorsNameTheMistakeAndNoSecret(t *testing.T) {
	for text, want := range map[string]string{
		"ftp://example.org/a":                              "only URLs of http and https",
		"gsiftp://example.org/a":                           "only URLs of http and https",
		"file:///etc/passwd":                               "leave file:// out",
		"https://me:geheim@example.org/a":                  "credential_file",
		"https://geheim@example.org/a":                     "credential_file",
		"https://example.org/a?access_token=geheim":        "credential_file",
		"https://example.org/a?x=1;Token=geheim":           "credential_file",
		"https://example.org/a?X-Amz-Signature=geheim&b=1": "x-amz-signature",
		"https://example.org/a?%74oken=geheim":             "credential_file",
		"https:///a":                                       "names no host",
		"https://:443/a":                                   "names no host",
		"http://[fe80::1%25eth0]/a":                        "names no host",
		"http://example.org:0/a":                           "want 1 to 65535",
		"http://example.org:99999/a":                       "want 1 to 65535",
		"http://example.org:/a":                            "want 1 to 65535",
		"http://example.org/a#geheim":                      "a part after #",
		"http://example.org/a b":                           "%20",
		"http://example.org/a\nb":                          "%20",
		"http://example.org/%zz":                           "is not a URL",
		"http://[::1/a":                                    "is not a URL",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: the error shows the secret: %v", text, err)
		}
	}
}

func TestName_IsThatOfTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"https://h/a/b.root?x=c/d": "b.root", "https://h/a%20b": "a b", "https://h/a%2Fb": "b",
		"https://h": "", "https://h/": "", "https://h/a/": "", "https://h/..": "", "://": "",
	} {
		if got := Name(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestShown_HasNoUserAndNoQuery(t *testing.T) {
	for text, want := range map[string]string{
		"https://u:p@h/a?b=c#d": "https://h/a?...", "https://h:1/a": "https://h:1/a", "http://a@b@h": "http://h",
		"cards.txt": "cards.txt", "https://h/a@b": "https://h/a@b", "https://u:p?@h/a": "https://u:p?...",
	} {
		if got := Shown(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestCheck_CredentialsNeedTLS(t *testing.T) {
	for name, c := range map[string]struct {
		in   jjm.Input
		want string
	}{
		"a file":          {jjm.Input{Path: "a"}, ""},
		"a URL":           {jjm.Input{Path: "http://h/a"}, ""},
		"with credential": {jjm.Input{Path: "https://h/a", CredentialFile: "token"}, ""},
		"in the clear": {jjm.Input{Path: "http://h/a", CredentialFile: "token"},
			"credential_file: would be sent in the clear"},
		"of a file": {jjm.Input{Path: "a", CredentialFile: "token"},
			"credential_file: is for inputs that are URLs"},
		"a credential that is one": {jjm.Input{Path: "https://h/a", CredentialFile: "https://h/t"},
			"credential_file: is a URL"},
		"a bad URL": {jjm.Input{Path: "https://u:p@h/a?b"}, "path: https://h/a?...: has a user or"},
	} {
		ps := Check(&c.in)
		if c.want == "" && len(ps) > 0 || c.want != "" && (len(ps) != 1 || !strings.HasPrefix(ps[0].String(), c.want)) {
			t.Errorf("%s: %v, want %q", name, ps, c.want)
		}
	}
}

// FuzzParse checks that net/url also accepts an accepted URL, with a host and without a user. Shown returns neither a
// user nor a query, whatever the text is.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"https://u:p@h:1/a?b#c", "http://h/%2e%2e?token=x", "://", "https://[::1]:80/", "a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Parse(text)
		if err == nil {
			again, err := url.Parse(text)
			if err != nil || again.Host != u.Host || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
				u.Scheme != "http" && u.Scheme != "https" {
				t.Errorf("%q is taken: %v", text, err)
			}
			if name := Name(text); strings.Contains(name, "/") {
				t.Errorf("%q has the name %q", text, name)
			}
		} else if err.Error() == "" || len(err.Error()) > 400 {
			t.Errorf("%q: %q", text, err)
		}
		if scheme, shown, ok := strings.Cut(Shown(text), "://"); ok && len(shown) > shownBytes+20 {
			t.Errorf("%q is shown as %q of %s", text, shown, scheme)
		} else if host, _, _ := strings.Cut(shown, "/"); ok && strings.Contains(host, "@") {
			t.Errorf("%q is shown as %q", text, shown)
		}
	})
}
